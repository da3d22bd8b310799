"""docs/format.md: it names every field, and its examples run."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import corruptset
from corruptset.manifests.records import models

PAGE = Path(__file__).parents[2] / "docs/format.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)


@pytest.mark.parametrize(
    "name",
    [
        *"Manifest SetRecord StageRecord SampleRecord RegionRecord ImageRecord RegionRow StoredRecord FileRecord "
        "Metrics".split()
    ],
)
def test_every_field_is_documented(name: str) -> None:
    text = PAGE.read_text("utf-8")
    fields = [f.alias or key for key, f in getattr(models, name).model_fields.items()]
    assert [f for f in fields if not re.search(rf"`(files\[\]\.)?{f}`", text)] == []


@pytest.mark.parametrize("containers", [("folder",), ("hdf5",)])
def test_the_plain_example_reads_what_open_reads(
    dataset: Callable[..., Path], containers: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = dataset(containers=containers, repeat=2)
    root.rename(root.with_name("imagenet-c-1.1.0"))
    monkeypatch.chdir(root.parent)
    (example,) = (e for e in EXAMPLES if "import h5py" in e)
    assert "corruptset" not in example
    names: dict[str, Any] = {}
    exec(example, names)
    images = corruptset.open("imagenet-c-1.1.0")["fog/3"]
    image, label = images[5]
    np.testing.assert_array_equal(names["image"], image)
    assert names["label"] == label


def test_the_corruptset_example_runs(dataset: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    root = dataset(repeat=2)
    root.rename(root.with_name("imagenet-c-1.1.0"))
    monkeypatch.chdir(root.parent)
    (example,) = (e for e in EXAMPLES if "corruptset.open" in e)
    names: dict[str, Any] = {}
    exec(example.partition("report =")[0], names)
    assert names["image"].shape == (16, 20, 3)
