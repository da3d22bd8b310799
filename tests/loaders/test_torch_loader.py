"""PyTorch's own DataLoader takes a set as it is: images and labels, in two workers of either kind; and as
docs/format.md types it.
"""

from __future__ import annotations

import re
from typing import Any

import layouts
import numpy as np
import pytest
from doc_pages import ROOT

import corruptset

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore")]
PAGE = (ROOT / "docs/format.md").read_text("utf-8")


FOG = {"name": "imagenet-c", "version": "1.1.0", "more": '[[sets]]\ncorruptions = ["fog"]\n'}


@pytest.mark.parametrize(("method", "encoding"), [("fork", "png"), ("spawn", "jpeg")])
def test_every_image_comes_with_its_label(shared: layouts.Shared, method: str, encoding: str) -> None:
    from torch.utils.data import DataLoader

    images = corruptset.open(shared.build(recipe=FOG | {"encoding": encoding}, format="both"))["fog/3"]
    loader: Any = DataLoader(images, batch_size=2, num_workers=2, multiprocessing_context=method)
    batches = list(loader)
    assert {len(batch) for batch in batches} == {2}
    pixels = np.concatenate([batch.numpy() for batch, _ in batches])
    labels = np.concatenate([batch.numpy() for _, batch in batches])
    assert labels.tolist() == images.labels.tolist()
    np.testing.assert_array_equal(pixels, images.array())


def test_the_lines_of_the_page(shared: layouts.Shared, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shared.build(recipe=FOG, format="both").parent)
    snippets = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, Any] = {}
    for word in ("corruptset.open", "DataLoader(", "with_transform"):
        (text,) = (s for s in snippets if word in s)
        exec(text, names)
        if word == "DataLoader(":
            assert names["labels"].tolist() == names["fog"].labels[-len(names["labels"]) :].tolist()
            np.testing.assert_array_equal(names["images"].numpy()[-1], names["fog"].image(-1))
    mean, label = names["bright"][1]
    assert (mean, label) == (names["fog"].image(1).mean(), names["fog"].labels[1])
