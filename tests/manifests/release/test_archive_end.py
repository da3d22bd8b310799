"""Bytes behind the end of an archive, or before its beginning: nothing of a stranger's travels with it."""

from __future__ import annotations

from pathlib import Path

import pytest
from damage import Make

from corruptset.manifests.release.archives import BadArchive
from corruptset.manifests.release.pack import pack
from corruptset.manifests.release.unpack import unpack


def test_bytes_behind_an_archive(dataset: Make, tmp_path: Path) -> None:
    release = pack(dataset(containers=("folder",)), tmp_path / "p", family_of={"fog": "weather"}.__getitem__)
    (release.path / "SHA256SUMS").unlink()  # else the release's own sums say it
    one, other = (next(release.path.glob(f"data/*-{name}.tar")) for name in ("clean", "weather"))
    good = one.read_bytes()
    behind = [good + other.read_bytes(), good + b"x", good + bytes(10240), good[:-700] + b"y" + good[-699:]]
    for number, data in enumerate([*behind, other.read_bytes() + good]):
        one.write_bytes(data)
        with pytest.raises(BadArchive, match="has bytes behind its end" if data in behind else None) as e:
            unpack([one], tmp_path / f"u{number}")
        assert str(one) in str(e.value)
        assert not (tmp_path / f"u{number}/tiny-c-1.0.0/manifest.json").exists()
    one.write_bytes(good)
    assert unpack([one], tmp_path / "good").sets == ["clean"]
