"""Where the files of a data set are."""

from __future__ import annotations

import pytest

from corruptset.manifests.layout import image_folder, set_of_rows, set_of_shard, set_path, shard_path


@pytest.mark.parametrize("set_id", ["fog/3", "contrast-3+fog-1", "ro-30", "a-12345", "x/00007-1"])
def test_paths_of_sets_and_back(set_id: str) -> None:
    assert set_path(set_id) == f"sets/{set_id}.jsonl"
    assert image_folder(set_id) == f"images/{set_id}"
    assert shard_path(set_id, 7) == f"hdf5/{set_id}-00007.h5"
    assert set_of_rows(set_path(set_id)) == set_id
    assert set_of_shard(shard_path(set_id, 7)) == set_of_shard(shard_path(set_id, 1_234_567)) == set_id


@pytest.mark.parametrize(
    "path",
    ["hdf5/fog/3-0007.h5", "hdf5/-00007.h5", "hdf5/fog/3-00007.h5.part", "fog/3-00007.h5", "hdf5/fog/3-٠٠٠٠٧.h5"],
)
def test_what_is_no_shard(path: str) -> None:
    assert set_of_shard(path) is None
    assert set_of_rows(path) is None
