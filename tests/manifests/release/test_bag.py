"""What stands beside the archives of a pack, and what each archive says of itself."""

from __future__ import annotations

import filecmp
import json
import shutil
import subprocess
import tarfile
from pathlib import Path

from packs import Packs, archive_paths, tree

from corruptset.manifests.records.digests import sha256_file
from corruptset.manifests.release.unpack import unpack
from corruptset.manifests.verify.ladder import verify_directory


def names(archive: Path) -> list[str]:
    with tarfile.open(archive) as t:
        return t.getnames()


def test_the_folder_is_a_bag(packs: Packs) -> None:
    """RFC 8493, by hand; tests/loaders asks the bagit package."""
    out = packs()[1].path
    assert (out / "bagit.txt").read_bytes() == b"BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n"
    files = tree(out)

    def sums(name: str) -> dict[str, str]:
        return {
            path: f"sha256:{h}"
            for h, _, path in (line.partition("  ") for line in (out / name).read_text("utf-8").splitlines())
        }

    assert (
        sums("manifest-sha256.txt") == {p: h for p, h in files.items() if p.startswith("data/")} == sums("SHA256SUMS")
    )
    tags = {p: h for p, h in files.items() if not p.startswith("data/")}
    # the index names all others; a bag need not name a file that no bag has to have
    index = json.loads((out / "archives.json").read_bytes())
    assert {f["path"]: f["sha256"] for f in index["files"]} == {p: h for p, h in tags.items() if p != "archives.json"}
    assert {a["path"]: a["sha256"] for a in index["archives"]} == sums("SHA256SUMS")
    assert sums("tagmanifest-sha256.txt") == {
        p: h for p, h in tags.items() if p not in ("tagmanifest-sha256.txt", "archives.json")
    }
    sizes = [(out / p).stat().st_size for p in files if p.startswith("data/")]
    assert f"Payload-Oxum: {sum(sizes)}.{len(sizes)}\n" in (out / "bag-info.txt").read_text("utf-8")
    assert subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=out, check=False).returncode == 0


def test_every_archive_describes_itself(packs: Packs) -> None:
    root, bag = packs()
    digest = json.loads((root / "manifest.json").read_bytes())["digest"]
    for archive, made in zip(archive_paths(bag), bag.archives, strict=True):
        with tarfile.open(archive) as t:
            first = t.next()
            assert first is not None
            assert first.name == f"tiny-c-1.0.0/archives/{archive.stem}.json"
            record = json.load(t.extractfile(first))  # type: ignore[arg-type]
            inside = {m.name.removeprefix("tiny-c-1.0.0/") for m in t.getmembers()}
        assert (record["name"], record["version"], record["digest"]) == ("tiny-c", "1.0.0", digest)
        assert {s for u in record["units"] for s in u["sets"]} == set(made.sets)
        assert {
            "manifest.json",
            "samples.jsonl",
            "README.md",
            "SHA256SUMS",
            *(f"sets/{s}.jsonl" for s in made.sets),
        } <= inside
        for f in record["files"]:
            assert (f["bytes"], f["sha256"]) == ((root / f["path"]).stat().st_size, sha256_file(root / f["path"]))
    card = (bag.path / "README.md").read_text("utf-8")
    assert all(
        part in card
        for part in (
            digest,
            "Source images",
            "Code",
            "Textures",
            "CC0-1.0",
            "## Citation",
            *(a.name for a in bag.archives),
        )
    )


def test_any_program_unpacks_them(packs: Packs, tmp_path: Path) -> None:
    root, bag = packs()
    for archive in archive_paths(bag):
        subprocess.run(["tar", "-xf", archive, "-C", tmp_path], check=True)
    shutil.rmtree(tmp_path / root.name / "archives")
    assert not filecmp.dircmp(root, tmp_path / root.name).diff_files
    assert tree(tmp_path / root.name) == tree(root)


def test_a_release_without_pixels_has_none(packs: Packs, tmp_path: Path) -> None:
    root, bag = packs(manifest_only=True)
    (archive,) = archive_paths(bag)
    assert {n.rpartition(".")[2] for n in names(archive)} == {"json", "jsonl", "md", "0/SHA256SUMS"}
    for p in [*root.rglob("*.png"), *root.rglob("*.h5")]:
        assert p.read_bytes()[-64:] not in archive.read_bytes()
    done = unpack([archive], tmp_path / "u")
    assert (done.sets, len(done.absent)) == ([], 3)
    assert verify_directory(done.path).problems == []
    assert (done.path / "manifest.json").read_bytes() == (root / "manifest.json").read_bytes()
    assert (done.path / "sets/fog/3.jsonl").read_bytes() == (root / "sets/fog/3.jsonl").read_bytes()
    assert "no images" in (bag.path / "README.md").read_text("utf-8")
