"""The DataLoader of PyTorch accepts a set, in two forked or spawned workers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import small_builds

import corruptset

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore")]
FOG = {"name": "imagenet-c", "version": "1.1.0", "more": '[[sets]]\ncorruptions = ["fog"]\n'}


@pytest.mark.parametrize(("method", "encoding"), [("fork", "png"), ("spawn", "jpeg")])
def test_every_image_has_its_label(shared_data: small_builds.SharedData, method: str, encoding: str) -> None:
    from torch.utils.data import DataLoader

    images = corruptset.open(shared_data.build(recipe=FOG | {"encoding": encoding}, storage="both"))["fog/3"]
    loader: Any = DataLoader(images, batch_size=2, num_workers=2, multiprocessing_context=method)
    batches = list(loader)
    assert {len(batch) for batch in batches} == {2}
    pixels = np.concatenate([batch.numpy() for batch, _ in batches])
    labels = np.concatenate([batch.numpy() for _, batch in batches])
    assert labels.tolist() == images.labels.tolist()
    np.testing.assert_array_equal(pixels, images.array())
