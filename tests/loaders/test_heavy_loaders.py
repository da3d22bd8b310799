"""Installed releases of torchvision, timm and RobustBench read exports without downloads.

RobustBench slices CIFAR-10-C by 10,000 rows and reads ImageNet-C by a list of 5,000 images, so the tests have as many.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import source_archives
from doc_pages import lines, run_snippet, shell, snippets
from torchvision_cpu import let_torchvision_be_imported

import corruptset

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(autouse=True, scope="module")
def torchvision_with_cpu_torch() -> object:
    return let_torchvision_be_imported()


@pytest.mark.parametrize("name", ["torchvision", "timm"])
def test_class_folder_loaders_read_every_image(in_page_dir: Path, name: str) -> None:
    data = corruptset.open("imagenet-c-1.1.0")
    (text,) = (text for text in snippets(f"from {name}") if "data-in" in text)
    dataset = run_snippet(text)["dataset"]
    assert len(dataset) == len(data.samples)
    # both read class by class, and by name within a class
    order = sorted(data.samples, key=lambda s: (s.label, s.id))
    images = data["contrast/3"].array()
    for index, sample in enumerate(order):
        image, label = dataset[index]
        np.testing.assert_array_equal(np.array(image), images[sample.index])
        assert label == sample.label


def test_timm_streams_shards_of_set(in_page_dir: Path) -> None:
    data = corruptset.open("imagenet-c-1.1.0")
    (text,) = (text for text in snippets("from timm") if "wds/" in text)
    dataset = run_snippet(text)["dataset"]
    assert len(dataset) == len(data.samples)
    result = list(dataset)
    assert [label for _, label in result] == data["contrast/3"].labels.tolist()
    np.testing.assert_array_equal(np.stack([np.array(image) for image, _ in result]), data["contrast/3"].array())


def test_timm_reads_set_as_parquet(in_page_dir: Path) -> None:
    images = corruptset.open("imagenet-c-1.1.0")["contrast/3"]
    (text,) = snippets("hfds/")
    dataset = run_snippet(text)["dataset"]
    assert [label for _, label in dataset] == images.labels.tolist()
    np.testing.assert_array_equal(np.stack([np.array(image) for image, _ in dataset]), images.array())


@pytest.fixture
def robustbench(torchvision_with_cpu_torch: object) -> Path:
    """RobustBench's folder, where its list and its class numbers lie, once it can be imported.

    As installed it cannot: it imports ``autoattack``, which its own requirement installs as ``pyautoattack``. The
    page's lines name the one by the other; RobustBench attacks models with it, and its loaders do without.
    """
    run_snippet(snippets("import pyautoattack")[0])
    import robustbench

    return Path(robustbench.__file__).parent


def to_stored(x: Any) -> np.ndarray:
    """Convert a loader's tensor (N, 3, H, W) of floats in [0, 1] to uint8 (N, H, W, 3)."""
    return np.round(x.numpy() * 255).astype(np.uint8).transpose(0, 2, 3, 1)


SEVERAL = ["contrast", "brightness", "impulse_noise"]


@pytest.mark.parametrize("classes", [10, 100])
def test_robustbench_loads_cifar(
    robustbench: Path, classes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commands of the page with an archive like CIFAR-10, whose rows are not sorted by label."""
    images, labels = source_archives.random_crops(10_000)
    rng = np.random.default_rng(1)
    # each image has different rows, because rows in the wrong order would be unnoticed otherwise
    images[:, 0, :, 0] = rng.integers(0, 256, (len(images), 32))
    if classes == 100:
        labels = rng.integers(0, 100, len(images))
        files = source_archives.cifar100_python({"test": (images, labels, labels // 5)})
    else:
        files = source_archives.cifar10_python((images, labels))
    source_archives.write_tar(tmp_path / f"cifar-{classes}-python.tar.gz", files, "w:gz")
    build, export_line = lines("build cifar10-c")[0], lines("export cifar-c")[0]
    if classes == 100:
        build, export_line = (
            line.replace("cifar10", "cifar100").replace("cifar-10-", "cifar-100-") for line in (build, export_line)
        )
    shell(f"{build} --sets '{','.join(f'{n}/*' for n in SEVERAL)}' --metrics 0 --storage hdf5", tmp_path)
    output = shell(export_line, tmp_path)
    assert "Note" not in output
    directory = tmp_path / f"cifar{classes}-c-1.1.0"
    data = corruptset.open(directory)
    from robustbench.data import load_cifar10c, load_cifar100c

    load = load_cifar10c if classes == 10 else load_cifar100c
    for name in SEVERAL:
        for severity in (1, 5):
            x, y = load(10_000, severity, str(tmp_path / "data"), False, [name])
            np.testing.assert_array_equal(to_stored(x), data[f"{name}/{severity}"].array())
            np.testing.assert_array_equal(y, labels)
    # of several corruptions, it uses the first rows of each
    x, y = load(3000, 2, str(tmp_path / "data"), False, SEVERAL)
    np.testing.assert_array_equal(to_stored(x), np.concatenate([data[f"{name}/2"].array()[:1000] for name in SEVERAL]))
    np.testing.assert_array_equal(y, np.tile(labels[:1000], 3))
    if classes == 10:
        monkeypatch.chdir(tmp_path)
        names = run_snippet(snippets("load_cifar10c")[0])
        assert names["x"].shape == (10_000, 3, 32, 32)
        np.testing.assert_array_equal(to_stored(names["x"]), data["contrast/3"].array())
        np.testing.assert_array_equal(names["y"], labels)


def test_robustbench_loads_imagenet(robustbench: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands of the page, with the images of RobustBench's list and one of each class that it omits."""
    helpers = robustbench / "helper_files"
    image_ids = (helpers / "imagenet_test_image_ids.txt").read_text("utf-8").split()
    numbers = json.loads((helpers / "imagenet_class_to_id_map.json").read_text("utf-8"))
    assert (len(image_ids), len(numbers)) == (5000, 1000)
    empty = sorted(set(numbers) - {name.partition("/")[0] for name in image_ids})
    assert empty == ["n02066245", "n03482405", "n07875152"]
    taken = {name.partition("/")[2] for name in image_ids}
    free = (name for i in range(1, 50_001) if (name := f"ILSVRC2012_val_{i:08d}.JPEG") not in taken)
    source_archives.write_photographs(tmp_path / "val", [*image_ids, *(f"{wnid}/{next(free)}" for wnid in empty)])
    shell(f"{lines('build imagenet-c')[0]} --sets 'contrast/*' --metrics 0 --storage folder", tmp_path)
    directory = tmp_path / "imagenet-c-1.1.0"
    shutil.copy(helpers / "imagenet_test_image_ids.txt", tmp_path)
    output = shell(lines("export imagenet-c-5k")[0], tmp_path)
    assert ", ".join(empty) in output

    monkeypatch.chdir(tmp_path)
    names = run_snippet(snippets("load_imagenetc")[0])
    truth = [numbers[name.partition("/")[0]] for name in image_ids]
    np.testing.assert_array_equal(names["y"], truth)
    data = corruptset.open(directory)
    rows = {s.id: s.index for s in data.samples}
    pixels = data["contrast/3"].array()[[rows[Path(name).stem] for name in image_ids]]
    # in pieces, because another copy as floats would need 3 GB
    for start in range(0, len(image_ids), 500):
        np.testing.assert_array_equal(to_stored(names["x"][start : start + 500]), pixels[start : start + 500])

    from robustbench.loaders import CustomImageFolder
    from torchvision import datasets as folders

    root = tmp_path / "data5k/ImageNet-C/contrast/3"
    assert len(folders.ImageFolder(root)) == 5003
    # the purpose of the three additional images
    shutil.rmtree(root / empty[0])
    invalid = CustomImageFolder(root).targets
    assert invalid == [n - (n > numbers[empty[0]]) for n in truth]
