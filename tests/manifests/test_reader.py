"""Read a dataset from image files and shards, in one or several processes."""

import errno
import multiprocessing
import os
import pickle
import shutil
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

import h5py
import numpy as np
import pytest
import record_datasets
from damage import edit_lines

import corruptset
from corruptset.errors import MachineError, ParameterError, PluginError, VerificationError
from corruptset.pixels import pixel_digest


def test_schedules_error_names_package(tmp_path):
    with pytest.raises(PluginError, match=r"pip install \./plugins/corruptset-streams"):
        record_datasets.records_dataset(tmp_path, "imagenet-c", 2).stream("schedule.jsonl")
    with pytest.raises(AttributeError, match=r"pip install \./plugins/corruptset-streams"):
        corruptset.schedule  # noqa: B018


@pytest.mark.parametrize("form", ["png", "jpeg"])
def test_every_storage_format_gives_same_images_and_labels(templates, form):
    sizes = {True: {(16, 20, 3)}, False: {(16, 20, 3), (9, 31, 3), (12, 8, 1)}}
    for container, uniform in product(("folder", "hdf5"), (True, False)):
        data = corruptset.open(templates(encoding_format=form, uniform=uniform), prefer=container)
        plain = corruptset.open(templates(encoding_format=form, containers=(container,), uniform=uniform))
        assert data.set_ids == list(data) == ["clean", "fog-3+gaussian_noise-5", "fog/3"]
        for set_id, images in data.items():
            pairs, digests = list(images), [pixel_digest(image) for image in images.images()]
            assert [label for _, label in pairs] == images.labels.tolist() == [0, 0, 1, 1, 1]
            assert digests == [pixel_digest(image) for image, _ in pairs]
            assert digests == [pixel_digest(image) for image in plain[set_id].images()]
            assert form == "jpeg" or digests == [row.pixels for row in images.rows]
        assert {image.shape for image, _ in pairs} == sizes[uniform]
        for i, (image, label) in enumerate(pairs):  # of fog/3
            assert (image.dtype, type(label)) == (np.uint8, int)
            for index in (i, i - 5, np.int64(i)):
                alone, number = images[index]
                assert (number, type(number)) == (label, int)
                for same in (alone, images.image(index), images.single(i)):
                    np.testing.assert_array_equal(image, same)
        # objects that are sent to workers contain no handles, rows or samples
        for copy in (pickle.loads(pickle.dumps(images)), pickle.loads(pickle.dumps(data))["fog/3"]):
            assert [pixel_digest(copy.image(i)) for i in range(5)] == digests
            assert copy.labels.tolist() == images.labels.tolist()
        assert len(pickle.dumps(images)) < 20_000


def test_shard_rows_are_read_in_blocks_and_any_order(dataset):
    root = dataset(containers=("hdf5",), shard_rows=5, repeat=2)
    images = corruptset.open(root)["fog/3"]
    before = [row.pixels for row in images.rows]
    for block_bytes in (1, 2000, 3000, 1 << 20):
        assert [pixel_digest(image) for image in images.images(block_bytes=block_bytes)] == before

    def exchange(rows):
        rows[2]["files"], rows[3]["files"] = rows[3]["files"], rows[2]["files"]

    edit_lines(root / "sets/fog/3.jsonl", exchange)
    after = [pixel_digest(image) for image in corruptset.open(root)["fog/3"].images()]
    assert after == [*before[:2], before[3], before[2], *before[4:]]


def test_names_aliases_and_classes_are_resolved_by_preference(dataset):
    root = dataset()
    data = corruptset.open(str(root))
    assert data["original"].id == "clean"
    assert data.aliases == {"original": "clean", "Fog, severity 3": "fog/3"}
    assert [c.name for c in data.classes] == ["käfer", "a dog"]
    assert data["clean"].ids == [s.id for s in data.samples]
    assert (data["clean"].ids[0], data.digest) == ("0_käfer/bild eins", data.manifest.digest)
    assert "tiny-c 1.0.0" in repr(data)
    shutil.rmtree(root / "images")
    assert corruptset.open(root, prefer="hdf5")["clean"].image(0).shape == (16, 20, 3)
    with pytest.raises(VerificationError, match=r"bild eins\.png is missing"):
        corruptset.open(root, prefer="folder")["clean"].image(0)
    with pytest.raises(ValueError, match="prefer='zip'"):
        corruptset.open(root, prefer="zip")
    for check in ("each", "nonsense"):
        with pytest.raises(ParameterError, match="only used with a source: check"):
            corruptset.open(root, check=check)


def linked_rows(path):
    with h5py.File(path, "r+") as f:
        del f["images"]
        f["images"] = h5py.ExternalLink("../clean-00000.h5", "images")


def first_row_alone(path):
    with h5py.File(path, "r+") as f:
        first_row = f["images"][:1]
        del f["images"]
        f.create_dataset("images", data=first_row)


def test_damaged_files_are_named_when_read(dataset):
    image, shard = "images/fog/3/1 a dog/Ünal 7.png", "hdf5/fog/3-00001.h5"
    damages = [
        Path.unlink,
        lambda path: os.truncate(path, path.stat().st_size // 2),
        lambda path: path.write_bytes(b"text"),
        lambda path: (path.unlink(), path.mkdir()),
    ]
    cases = [
        *product(("folder",), (image,), damages),
        *product(("hdf5",), (shard,), damages),
        # reading a pipe in an untrusted dataset must not block
        ("folder", image, lambda path: (path.unlink(), os.mkfifo(path))),
        ("folder", image, lambda path: path.write_bytes(path.read_bytes() + b"more")),
        ("hdf5", shard, linked_rows),
        ("hdf5", shard, first_row_alone),
    ]
    for container, name, damage in cases:
        root = dataset()
        damage(root / name)
        images = corruptset.open(root, prefer=container)["fog/3"]
        np.testing.assert_array_equal(images.image(0), corruptset.open(root)["fog/3"].image(0))
        for read in (lambda images=images: images.image(3), lambda images=images: list(images)):
            with pytest.raises(VerificationError, match="corruptset verify") as exc_info:
                read()
            assert Path(name).name in str(exc_info.value)


def test_inconsistent_label_records_are_rejected(dataset):
    """Damaged records never lead to images with the labels of other images."""
    changes = [
        lambda rows: rows[::-1],
        lambda rows: rows[:-1],
        lambda rows: [*rows, rows[-1] | {"index": 5}],
        lambda rows: [{**row, "index": 0} for row in rows],
    ]
    for path, change in product(("samples.jsonl", "sets/fog/3.jsonl"), changes):
        root = dataset(containers=("folder",))
        edit_lines(root / path, change)
        images = corruptset.open(root)["fog/3"]
        last = (lambda images=images: images.labels) if path == "samples.jsonl" else images.array
        for ask in (lambda images=images: images[0], lambda images=images: list(images), last):
            with pytest.raises(VerificationError, match="does not contain the rows 0 to 4 in this order"):
                ask()


# since Python 3.12, any fork in a process with threads, such as those of BLAS, is warned of
FORKS = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


def digests_and_labels(images, numbers):
    return [(pixel_digest(image), label) for image, label in (images[i] for i in numbers)]


def in_child(images, queue, numbers):
    queue.put((numbers.start, digests_and_labels(images, numbers)))


@FORKS
@pytest.mark.parametrize("method", ["fork", pytest.param("spawn", marks=pytest.mark.ci)])
def test_workers_and_threads_share_set_of_many_shards(templates, method):
    """As with data loaders, the parent has read before workers start. A shared handle would share its position."""
    images = corruptset.open(templates(repeat=6, containers=("hdf5",)))["fog/3"]
    complete_count = range(30)
    expected = digests_and_labels(images, complete_count)
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    shares = [complete_count[:15], complete_count[15:]]
    workers = [context.Process(target=in_child, args=(images, queue, share)) for share in shares]
    for worker in workers:
        worker.start()
    result = dict(queue.get(timeout=60) for _ in workers)
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    assert result[0] + result[15] == expected
    with ThreadPoolExecutor(4) as pool:
        actual = [*pool.map(lambda step: digests_and_labels(images, complete_count[::step])[::step], (1, -1, 1, -1))]
    assert actual == [expected] * 4


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="open files are counted in /proc")
def test_alternating_reads_of_many_sets_keep_few_files_open(dataset):
    import resource

    data = [corruptset.open(dataset(repeat=6, containers=("hdf5",))) for _ in range(12)]
    sets = [images for opened in data for images in opened.values()]
    rows = range(0, 30, 5)
    expected = [pixel_digest(sets[0][i][0]) for i in rows]
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    open_files = len(os.listdir("/proc/self/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (open_files + 40, limits[1]))
    try:
        for i in rows:
            for images in sets:
                image, _ = images[i]
        assert [pixel_digest(sets[0][i][0]) for i in rows] == expected
        del image, images, sets, data
        assert len(os.listdir("/proc/self/fd")) <= open_files
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


@pytest.mark.parametrize("encoding", ["png", "jpeg"])
def test_truncated_image_is_rejected_even_if_pillow_accepts_it(dataset, encoding, monkeypatch):
    root = dataset(encoding_format=encoding, containers=("folder",))
    file = next(path for path in sorted(root.glob("images/fog/3/**/*")) if path.is_file())
    file.write_bytes(file.read_bytes()[:-40])
    monkeypatch.setattr("PIL.ImageFile.LOAD_TRUNCATED_IMAGES", True)
    images = corruptset.open(root)["fog/3"]
    with pytest.raises(VerificationError, match=f"{file.name}.*its end is missing"):
        list(images)


@pytest.mark.parametrize(
    ("number", "message"), [(errno.EMFILE, "ulimit -n"), (errno.EACCES, "permissions"), (errno.EIO, "disk")]
)
@pytest.mark.parametrize("container", ["folder", "hdf5"])
def test_machine_error_is_not_reported_as_damage(dataset, monkeypatch, container, number, message):
    root = dataset(containers=(container,))
    images = corruptset.open(root)["fog/3"]
    assert len(images.labels) == len(images)  # the records were read before

    def refuse(*args, **kwargs):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("os.open" if container == "folder" else "h5py.File", refuse)
    with pytest.raises(MachineError, match=f"{os.strerror(number)}.*{message}"):
        images[0]


def test_reading_in_threads_leaves_no_warning_filter(templates):
    images = corruptset.open(templates(encoding_format="jpeg"))["fog/3"]
    before = list(warnings.filters)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: images[i % len(images)], range(400)))
    assert warnings.filters == before


LIGHT = """
import sys
import corruptset
from corruptset.manifests.verify.directory import verify_directory
for directory in sys.argv[1:]:
    data = corruptset.open(directory)
    assert sum(len(list(data[s])) for s in data) == 15
    assert verify_directory(directory).ok
heavy = {"cv2", "numba", "scipy", "skimage", "joblib", "typer", "rich"} & set(sys.modules)
assert not heavy, heavy
"""


def test_reading_imports_no_heavy_modules(templates):
    directories = [str(templates(encoding_format=form)) for form in ("png", "jpeg")]
    subprocess.run([sys.executable, "-W", "error", "-c", LIGHT, *directories], check=True)
