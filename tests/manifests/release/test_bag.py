"""The files of a release besides archives, and the records in archives."""

import json
import shutil
import subprocess

from packs import TOP, archive_paths, file_hashes, read_tar

from corruptset.manifests.release.unpack import unpack
from corruptset.manifests.verify.directory import verify_directory


def test_release_folder_is_bag(packs):
    """Check the bag against RFC 8493. In tests/loaders, the package bagit checks it."""
    out = packs()[1].path
    assert (out / "bagit.txt").read_bytes() == b"BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n"
    files, index = file_hashes(out), json.loads((out / "archives.json").read_bytes())
    data = {p: h for p, h in files.items() if p.startswith("data/")}
    # the index lists all other files; a bag need not list optional files
    assert {f["path"]: f["sha256"] for f in [*index["archives"], *index["files"]]} | {
        "archives.json": files["archives.json"]
    } == files
    listed_files = set()
    for sums in ("manifest-sha256.txt", "tagmanifest-sha256.txt"):
        subprocess.run(["sha256sum", "--check", "--quiet", "--strict", sums], cwd=out, check=True)
        listed_files |= {line.partition("  ")[2] for line in (out / sums).read_text("utf-8").splitlines()}
    assert listed_files == files.keys() - {"tagmanifest-sha256.txt", "archives.json"}
    assert (out / "manifest-sha256.txt").read_bytes() == (out / "SHA256SUMS").read_bytes()
    sizes = [(out / p).stat().st_size for p in data]
    assert f"Payload-Oxum: {sum(sizes)}.{len(sizes)}\n" in (out / "bag-info.txt").read_text("utf-8")
    table = json.loads((out / "croissant-samples.json").read_bytes())
    assert table["class"] == ["käfer"] * 2 + ["a dog"] * 3
    assert table["folder"] == ["0_käfer"] * 2 + ["1 a dog"] * 3


def test_every_archive_is_self_describing_and_unpacked_by_any_program(packs, tmp_path):
    root, bag = packs()
    for archive, archive_info in zip(archive_paths(bag), bag.archives, strict=True):
        members = dict(read_tar(archive))
        (name, record), *_ = members.items()
        assert (name, json.loads(record)["digest"]) == (f"{TOP}/archives/{archive.stem}.json", bag.digest)
        common = {"manifest.json", "samples.jsonl", "README.md", "SHA256SUMS"}
        assert {f"{TOP}/{path}" for path in common | {f"sets/{s}.jsonl" for s in archive_info.sets}} <= members.keys()
        subprocess.run(["tar", "-xf", archive, "-C", tmp_path], check=True)
    shutil.rmtree(tmp_path / root.name / "archives")
    assert file_hashes(tmp_path / root.name) == file_hashes(root)
    card, message = (bag.path / "README.md").read_text("utf-8"), ("Source images", "Code", "Textures", "CC0-1.0")
    assert all(part in card for part in (bag.digest, *message, "## Citation", *(a.name for a in bag.archives)))


def test_archive_of_release_without_pixels_has_no_pixels(packs, tmp_path):
    root, bag = packs(manifest_only=True)
    (archive,) = archive_paths(bag)
    assert {n.rpartition(".")[2] for n, _ in read_tar(archive)} == {"json", "jsonl", "md", "0/SHA256SUMS"}
    data = archive.read_bytes()
    assert not any(p.read_bytes()[-64:] in data for p in [*root.rglob("*.png"), *root.rglob("*.h5")])
    result = unpack([archive], tmp_path / "u")
    assert (result.sets, len(result.absent), verify_directory(result.path).problems) == ([], 3, [])
    for path in ("manifest.json", "sets/fog/3.jsonl"):
        assert (result.path / path).read_bytes() == (root / path).read_bytes()
    assert "no images" in (bag.path / "README.md").read_text("utf-8")
