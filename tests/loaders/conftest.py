"""Builds and exports of all commands in docs/use-it-with.md, from small archives in the published formats."""

from __future__ import annotations

import os
import tempfile

import numpy as np
import pytest
import source_archives
from doc_pages import LINES, run_line

# one cache for all loaders, but not that of the user who runs the tests. Libraries read
# this when imported.
CACHES = tempfile.TemporaryDirectory(prefix="loaders-")
os.environ.update(HF_HOME=f"{CACHES.name}/huggingface", CROISSANT_CACHE=f"{CACHES.name}/croissant")


def write_archives(root):
    """Write the sources of the commands: the archive of CIFAR-10, validation images of ImageNet in wnid folders, and
    MNIST.
    """
    images, labels = source_archives.random_crops(20)
    source_archives.write_tar(root / "cifar-10-python.tar.gz", source_archives.cifar10_python((images, labels)), "w:gz")
    source_archives.write_photographs(
        root / "val",
        [
            f"{source_archives.WNIDS[k - 1]}/ILSVRC2012_val_{i:08d}.JPEG"
            for i, k in enumerate(source_archives.ground_truth(4), 1)
        ],
    )
    grey = images.mean(axis=3).astype(np.uint8)[:, 2:30, 2:30]
    for split, rows in (("t10k", slice(0, 12)), ("train", slice(12, 20))):
        files = {"images-idx3": grey[rows], "labels-idx1": labels[rows]}
        source_archives.write_files(
            root / "MNIST/raw",
            {
                f"{split}-{name}-ubyte.gz": source_archives.gzip_bytes(source_archives.idx_bytes(array))
                for name, array in files.items()
            },
        )


@pytest.fixture(scope="session")
def page_dir(tmp_path_factory):
    """A folder in which every ``sh`` line of the page was run in order."""
    root = tmp_path_factory.mktemp("use-it-with")
    write_archives(root)
    wnids = sorted(source_archives.WNIDS)
    # in the format of RobustBench's list, which omits the last class
    lines = [f"{wnid}/{path.name}\n" for wnid in wnids[:2] for path in sorted((root / "val" / wnid).iterdir())]
    (root / "imagenet_test_image_ids.txt").write_text("".join(lines))
    for line in LINES:
        run_line(line, root)
    return root


@pytest.fixture
def in_page_dir(page_dir, monkeypatch):
    """The same folder, as the current directory."""
    monkeypatch.chdir(page_dir)
    return page_dir
