"""`Corrupt` in the pipelines of users: DataLoader of PyTorch, torchvision's v2, and Hugging Face datasets."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image
from torchvision_cpu import let_torchvision_be_imported

import corruptset
from example_images import synthetic_image

pytestmark = [pytest.mark.ci, pytest.mark.filterwarnings("ignore")]
MANY = [synthetic_image(32, 40, which=i) for i in range(12)]
CHAIN = corruptset.Corrupt("fog-3+impulse_noise-2")
MIXED = [
    *"defocus_blur glass_blur motion_blur zoom_blur snow fog brightness elastic_transform pixelate spatter".split(),
    *"jpeg_compression saturate".split(),
]
"""A corruption for each of `MANY`, so that workers load different kernels."""


class Photographs:
    """A map-style dataset."""

    def __init__(self, transforms, indexed):
        self.transforms, self.indexed = transforms, indexed

    def __len__(self):
        return len(MANY)

    def __getitem__(self, index):
        import torch

        image = torch.from_numpy(MANY[index]).permute(2, 0, 1)
        transform = self.transforms[index]
        return transform(image, key=index) if self.indexed else transform(image), index


@pytest.mark.parametrize(("method", "indexed"), [("fork", False), ("spawn", True)])
def test_workers_give_same_images(method, indexed):
    import torch
    from torch.utils.data import DataLoader

    transforms = [corruptset.Corrupt(f"{name}-3+gaussian_noise-1") for name in MIXED]
    # this process used them before
    expected = [
        transform(image, key=i) if indexed else transform(image)
        for i, (transform, image) in enumerate(zip(transforms, MANY, strict=True))
    ]
    loader = DataLoader(
        Photographs(transforms, indexed), batch_size=3, num_workers=2, multiprocessing_context=method, shuffle=True,
        generator=torch.Generator().manual_seed(1), timeout=300,
    )  # fmt: skip
    image_count = 0
    for images, indices in loader:
        for image, index in zip(images, indices.tolist(), strict=True):
            np.testing.assert_array_equal(image.permute(1, 2, 0).numpy(), expected[index])
            image_count += 1
    assert image_count == len(MANY)


def test_torchvision_pipeline_applies_transform():
    libraries = let_torchvision_be_imported()
    import torch
    from torchvision import tv_tensors
    from torchvision.transforms import v2

    fog = corruptset.Corrupt("fog", severity=3)
    pipeline = v2.Compose([v2.CenterCrop(32), fog, v2.ToImage(), v2.ToDtype(torch.float32, scale=True)])
    crop = np.ascontiguousarray(MANY[0][:, 4:36])
    expected = torch.from_numpy(fog(crop)).permute(2, 0, 1) / 255
    torch.testing.assert_close(torch.Tensor(pipeline(Image.fromarray(MANY[0]))), expected)
    image, label = pipeline(Image.fromarray(MANY[0]), 7)
    torch.testing.assert_close(torch.Tensor(image), expected)
    assert label == 7
    boxes = tv_tensors.BoundingBoxes([[1, 2, 3, 4]], format="XYXY", canvas_size=(32, 32))
    out, same = v2.Compose([v2.ToImage(), fog, v2.RandomHorizontalFlip(p=0.0)])(crop, boxes)
    assert type(out) is tv_tensors.Image
    np.testing.assert_array_equal(out.numpy(), fog(crop).transpose(2, 0, 1))
    assert same.tolist() == [[1, 2, 3, 4]]
    assert "Corrupt('fog', severity=3)" in repr(pipeline)
    for step in (v2.RandomApply([fog], p=1.0), v2.RandomChoice([fog]), v2.RandomOrder([fog])):
        np.testing.assert_array_equal(np.asarray(step(Image.fromarray(crop))), fog(crop))
    del libraries


def test_datasets_function_applies_transform(tmp_path, monkeypatch):
    import datasets
    from datasets.fingerprint import Hasher

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path)
    table = datasets.Dataset.from_dict(
        {"image": [Image.fromarray(i) for i in MANY], "label": list(range(len(MANY)))},
        features=datasets.Features({"image": datasets.Image(), "label": datasets.Value("int64")}),
    )
    transform = CHAIN
    before = Hasher.hash(transform)
    mapped = table.map(lambda row: {"image": transform(row["image"])}, num_proc=2)
    keyed = table.map(lambda row, i: {"image": transform(row["image"], key=i)}, with_indices=True)
    lazy = table.with_transform(lambda rows: {**rows, "image": [transform(i) for i in rows["image"]]})
    for i, image in enumerate(MANY):
        np.testing.assert_array_equal(np.asarray(mapped[i]["image"]), transform(image))
        np.testing.assert_array_equal(np.asarray(keyed[i]["image"]), transform(image, key=i))
        np.testing.assert_array_equal(np.asarray(lazy[i]["image"]), transform(image))
    assert mapped["label"][:] == table["label"][:]
    # using the transform does not change it, so that datasets finds its cache; another seed does
    assert before == Hasher.hash(transform) != Hasher.hash(corruptset.Corrupt("fog-3+impulse_noise-2", seed=1))
