"""Access to sets as data loaders use them: indices, slices and lists, batches, transforms and workers."""

import json
import pickle
import tracemalloc
from itertools import product

import numpy as np
import pytest
from PIL import Image
from torchvision_cpu import let_torchvision_be_imported

import corruptset

SETS = ["clean", "fog-3+gaussian_noise-5", "fog/3"]
MANY = [
    slice(1, 4), slice(None), slice(None, None, -2), slice(3, 3), slice(-2, 99), [0, 4, 4, -1], [], range(1, 5, 2),
    np.array([-5, 4], np.int8), np.array([2], np.uint64), [True, False, True, False, False], np.arange(5) > 2,
]  # fmt: skip


def test_slices_lists_and_booleans_equal_single_indices(templates):
    for form, container in product(("png", "jpeg"), ("folder", "hdf5")):
        images = corruptset.open(templates(encoding_format=form, containers=(container,)))["fog/3"]
        for index in MANY:
            pixels, labels = images[index]
            numbers = np.arange(5)[np.array([], int) if isinstance(index, list) and not index else index].tolist()
            assert (pixels.dtype, pixels.shape, labels.dtype) == (np.uint8, (len(numbers), 16, 20, 3), np.int64)
            for place, i in enumerate(numbers):
                np.testing.assert_array_equal(pixels[place], images[i][0])
                assert labels[place] == images[i][1] == images.label(i) == images.labels[i]
                assert images.id(i) == images.ids[i]
    assert (images.id(-1), images.label(np.int64(-1))) == ("plain_stem", 1)
    assert f"{images.id}" == json.loads(json.dumps(images.id)) == images.id == "fog/3"
    assert type(pickle.loads(pickle.dumps(images.id))) is str
    # the result may be changed
    pixels, labels = images[:]
    before, all_labels = pixels.copy(), images.labels
    pixels[:], labels[:], all_labels[:] = 0, 9, 9
    np.testing.assert_array_equal(images[:][0], before)
    assert images[:][1].tolist() == images.labels.tolist() == [0, 0, 1, 1, 1]


def test_other_indices_are_rejected(templates):
    images = corruptset.open(templates())["fog/3"]
    invalid = [1.0, "0", None, (1, 2), [0.5], [[1]], [True], np.ones(6, bool), ["0"], {}]
    for index in invalid:
        with pytest.raises(TypeError, match=r"'fog/3' is indexed by .* or 5 booleans, not by "):
            images[index]
    beyond = [5, -6, [0, 5], [-6], np.array([99])]
    for index in beyond:
        with pytest.raises(IndexError, match="5 images; there is no image"):
            images[index]
    for read in (images.image, images.label, images.id):
        with pytest.raises(IndexError, match="5 images"):
            read(5)
        with pytest.raises(TypeError, match="not by"):
            read(1.0)


def test_different_sizes_are_rejected_with_suggestion(templates):
    images = corruptset.open(templates(uniform=False))["fog/3"]
    assert (images[:2][0].shape, images[3:][0].shape) == ((2, 16, 20, 3), (2, 12, 8, 1))
    for stack in (lambda: images[:], lambda: images[[0, 2]], images.array):
        with pytest.raises(ValueError, match=r"image 0 is 16x20x3, image 2 is 9x31x3 .*single images.*collate"):
            stack()
    assert [image.shape for image, _ in images.__getitems__([0, 2])] == [(16, 20, 3), (9, 31, 3)]


@pytest.mark.parametrize("uniform", [True, False])
def test_transforms_receive_images_and_labels(templates, uniform):
    data = corruptset.open(templates(uniform=uniform))
    images, events = data["fog/3"], []

    def transform(image):
        events.append(np.asarray(image))
        return image.mode

    result = data.torch("Fog, severity 3", transform, target_transform=lambda label: (type(label), -label))
    modes = ["RGB"] * 5 if uniform else ["RGB"] * 3 + ["L"] * 2
    expected = [(mode, (int, -label)) for mode, label in zip(modes, images.labels.tolist(), strict=True)]
    assert [result[i] for i in range(5)] == list(result) == result.__getitems__(range(5)) == expected
    assert result[1:4] == (modes[1:4], [pair[1] for pair in expected[1:4]])
    for actual, image in zip(events, images.images(), strict=False):
        np.testing.assert_array_equal(actual if actual.ndim == 3 else actual[..., None], image)
    assert (len(result), result.labels.tolist()) == (5, [0, 0, 1, 1, 1])
    np.testing.assert_array_equal(result.image(2), images.image(2))
    image, label = data.torch("fog/3", target_transform=str)[2]
    np.testing.assert_array_equal(image, images.image(2))
    assert label == "1"


def size_and_sum(image):
    return np.array([*image.size, np.asarray(image, np.int64).sum()])


# since Python 3.12, any fork in a process with threads is warned of
FORKS = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


@FORKS
@pytest.mark.ci
def test_torch_loader_splits_and_joins_batches_in_two_workers(templates):
    """Sets can be used in forked and spawned workers. See also tests/loaders."""
    from torch.utils.data import ConcatDataset, DataLoader, Subset

    data = corruptset.open(templates(repeat=2, containers=("hdf5",)))
    images = data["fog/3"]
    result = data.torch("fog/3", transform=size_and_sum, target_transform=abs)
    joined = Subset(ConcatDataset([result, result]), [19, 3, 4])
    ((sums, targets),) = list(DataLoader(joined, num_workers=2, multiprocessing_context="fork", batch_size=3))
    assert sums.tolist() == [[20, 16, int(images.image(i).sum())] for i in (9, 3, 4)]
    assert targets.tolist() == images.labels[[9, 3, 4]].tolist()


@FORKS
@pytest.mark.ci
@pytest.mark.filterwarnings("ignore")  # a warning of torchvision when it is imported
def test_torchvision_transforms_unify_sizes(templates):
    libraries = let_torchvision_be_imported()  # noqa: F841 - its operators live as long as it
    import torch
    from torch.utils.data import DataLoader
    from torchvision.transforms import v2

    data = corruptset.open(templates(uniform=False))
    sized = [v2.Grayscale(3), v2.ToImage(), v2.Resize((8, 8)), v2.ToDtype(torch.float32, scale=True)]
    transform = v2.Compose(sized)
    ((batch, labels),) = list(DataLoader(data.torch("fog/3", transform=transform), batch_size=5, num_workers=2))
    assert (batch.shape, batch.dtype, labels.tolist()) == ((5, 3, 8, 8), torch.float32, [0, 0, 1, 1, 1])
    torch.testing.assert_close(batch[2], torch.as_tensor(transform(Image.fromarray(data["fog/3"].image(2)))))


ROWS = 800


def large(root):
    """Give every set many rows that refer to the same few files, under names like those of ImageNet."""
    for path in ("samples.jsonl", *(f"sets/{set_id}.jsonl" for set_id in SETS)):
        rows = [json.loads(line) for line in (root / path).read_text("utf-8").splitlines()]
        lines = []
        for i in range(ROWS):
            row = json.loads(json.dumps(rows[i % len(rows)])) | {"index": i}
            if "id" in row:
                row["id"] = f"n{i // 50:08d}/ILSVRC2012_val_{i:08d}"
            for file in row.get("files", ()) if i >= len(rows) else ():
                if file["row"] is None:
                    file["path"] = f"images/fog/3/n{i // 50:08d}/ILSVRC2012_val_{i:08d}.png"
            lines.append(json.dumps(row, ensure_ascii=False) + "\n")
        (root / path).write_text("".join(lines), "utf-8")
    manifest = json.loads((root / "manifest.json").read_text("utf-8"))
    for record in manifest["sets"]:
        record["count"] = ROWS
    (root / "manifest.json").write_text(json.dumps(manifest), "utf-8")


@pytest.mark.parametrize("containers", [("folder",), ("hdf5",), ("folder", "hdf5")])
def test_open_set_uses_few_bytes_per_image(dataset, containers):
    root = dataset(containers=containers)
    large(root)
    data = corruptset.open(root)
    opened = [data[set_id] for set_id in SETS]
    tracemalloc.start()
    try:
        opened[0].image(0), opened[0].label(0), opened[0].id(0)
        first, _ = tracemalloc.get_traced_memory()
        for images in opened[1:]:
            np.testing.assert_array_equal(images[3][0], images.single(3))
            assert (images.id(7), images.label(ROWS - 1)) == ("n00000000/ILSVRC2012_val_00000007", 1)
        total, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert first / ROWS < 600  # together with the labels and ids of the samples, which all sets share
    assert (total - first) / ROWS / (len(SETS) - 1) < 230
    rows = opened[0].rows
    assert (len(rows), rows[-1].index, [row.index for row in rows[2:4]]) == (ROWS, ROWS - 1, [2, 3])
    assert list(rows) == rows == data[SETS[0]].rows
    recorded = [json.loads(line) for line in (root / "sets/clean.jsonl").read_text("utf-8").splitlines()]
    assert [row.as_json() for row in rows] == recorded
