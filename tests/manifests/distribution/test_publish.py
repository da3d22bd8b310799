"""Publish: the destination is bit-identical, nothing is sent twice, and existing files are not overwritten."""

import json
import os
import shutil
import subprocess

import pytest
from packs import TOP, disk_usage_with, file_hashes, pack_dataset

from corruptset.errors import BuildError, IncompleteBuild, MachineError, ReleaseError, VerificationError
from corruptset.manifests.distribution import places
from corruptset.manifests.distribution.fetch import fetch
from corruptset.manifests.distribution.publish import publish
from corruptset.manifests.distribution.published_files import PublishedFile, limit_notes

ZENODO = {"creators": ("Doe, Jane; An Institute", "Roe, Richard"), "license": "CC-BY-4.0"}


def flip_bit(path, at=-1):
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def test_dry_run_lists_files_and_publish_sends_them(bag, tmp_path):
    dry = publish(bag.path, tmp_path / "p")
    assert (dry.sent, dry.existing, not (tmp_path / "p").exists()) == (False, {}, True)
    assert [f.path for f in dry.files][-1] == "archives.json"
    assert sorted(f.path for f in dry.files) == sorted(file_hashes(bag.path))
    steps = []
    result = publish(bag.path, tmp_path / "p", go=True, progress=lambda *step: steps.append(step))
    assert (result.sent, result.to_send) == (True, result.files)
    total = sum(f.bytes for f in result.files)
    assert steps[-1] == ("bytes", total, total)
    assert publish(bag.path, tmp_path / "p", go=True).to_send == []
    # a folder by its URL, whose parent folders do not exist yet
    publish(bag.path, f"file://{tmp_path}/some/where", go=True)
    assert file_hashes(tmp_path / "p") == file_hashes(tmp_path / "some/where") == file_hashes(bag.path)


def test_interrupted_publish_resumes(bag, serve, tmp_path, monkeypatch):
    """After an interruption at any file, the release cannot be fetched, and complete files are not sent again."""
    original = places.write_large
    for count in (1, len(bag.archives), 9):
        out, sent = tmp_path / str(count), []

        def stopping(path, chunks, out=out, sent=sent, count=count):
            if len(sent) == count:
                raise KeyboardInterrupt
            sent.append(path.relative_to(out).as_posix())
            return original(path, chunks)

        monkeypatch.setattr(places, "write_large", stopping)
        with pytest.raises(KeyboardInterrupt):
            publish(bag.path, out, go=True)
        with pytest.raises(ReleaseError, match="answers 404"):
            fetch(serve(out).url, tmp_path / "f")
        monkeypatch.setattr(places, "write_large", original)
        (out / ".0123456789abcdef.part").write_text("of a call that was killed")
        result = publish(bag.path, out, go=True)
        assert {f.path for f in result.files} - {f.path for f in result.to_send} == set(sent)
        assert file_hashes(out) == file_hashes(bag.path)


def test_temporary_files_of_other_programs_are_kept(bag, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / ".download.zip.part").write_bytes(b"theirs")
    publish(bag.path, out, go=True)
    assert (out / ".download.zip.part").read_bytes() == b"theirs"


def test_different_existing_files_are_rejected(bag, tmp_path):
    place = shutil.copytree(bag.path, tmp_path / "p")
    differing = ["README.md", bag.archives[0].path]
    for path in differing:
        flip_bit(place / path)
    before = file_hashes(place)
    for go in (False, True):
        with pytest.raises(ReleaseError, match="different files with these names, so nothing was sent") as exc_info:
            publish(bag.path, place, go=go)
        assert all(path in str(exc_info.value) for path in differing)
    assert file_hashes(place) == before
    assert {f.path for f in publish(bag.path, place, replace=True).to_send} == set(differing)
    publish(bag.path, place, replace=True, go=True)
    assert file_hashes(place) == file_hashes(bag.path)


def test_invalid_release_is_rejected(root, bag, tmp_path, monkeypatch):
    archive = bag.archives[0].path
    forged = json.dumps({**json.loads((bag.path / "archives.json").read_bytes()), "digest": "sha256:" + "1" * 64})
    cases = [
        (lambda r: (r / "SHA256SUMS").unlink(), IncompleteBuild, "interrupted pack"),
        (lambda r: (r / "archives.json").unlink(), ReleaseError, "has no archives.json"),
        (
            lambda r: [(r / path).unlink() for path in (archive, "bagit.txt")],
            *(VerificationError, r"(?s)bagit.txt is missing.*\.tar is missing"),
        ),
        (lambda r: os.truncate(r / archive, 1000), VerificationError, "does not have the recorded"),
        (lambda r: (r / "README.md").write_text("mine"), VerificationError, "README.md is missing, or does not have"),
        (lambda r: flip_bit(r / archive, 600), VerificationError, "was damaged after packing, so nothing was sent"),
        (lambda r: (r / "archives.json").write_text(forged), VerificationError, "the archives have sha256:"),
    ]
    for number, (spoil, error, match) in enumerate(cases):
        folder = shutil.copytree(bag.path, tmp_path / f"r{number}")
        spoil(folder)
        with pytest.raises(error, match=match):
            publish(folder, tmp_path / "p", go=True)
    monkeypatch.setattr(shutil, "disk_usage", disk_usage_with(1000))
    refusals = [
        (root, tmp_path / "p", {}, ReleaseError, f"corruptset pack {root} --out {root}-release"),
        (bag.path, bag.path / "data/p", {}, ReleaseError, "is inside the release"),
        (bag.path, tmp_path / "p", {}, MachineError, "the release needs about"),
        (bag.path, tmp_path / "p", {"layout": "zenodo"}, ReleaseError, r"--creator .* and --license"),
        (bag.path, "s3://bucket/x", {"layout": "zenodo"}, ReleaseError, "prepared in a folder"),
        (bag.path, "s3://bucket/x", {"private": True}, ReleaseError, "--private is only for hf://"),
        (bag.path, tmp_path / "p", {"creators": ["Doe, Jane"]}, ReleaseError, "--creator is only for Zenodo records"),
    ]
    for name, value in (("url", "example.org/x"), ("url", "s3://bucket/x"), ("date", "23.11.2026")):
        refusals.append(
            (bag.path, tmp_path / "p", {name: value}, ReleaseError, rf"--{name} is '{value}', but it must be")
        )
    for folder, to, options, error, match in refusals:
        with pytest.raises(error, match=match):
            publish(folder, to, go=True, **options)
    assert not (tmp_path / "p").exists()


def check_hashes(folder, *names):
    """Check the hashes with sha256sum."""
    for name in names:
        subprocess.run(["sha256sum", "--check", "--quiet", name], cwd=folder, check=True)


def test_zenodo_layout_has_flat_files_and_metadata(root, bag, serve, tmp_path):
    """A Zenodo record has flat files with valid checksums, which can be fetched, and metadata for the API."""
    publish(bag.path, tmp_path / "z", layout="zenodo", go=True, **ZENODO)
    assert sorted(p.name for p in (tmp_path / "z").iterdir()) == ["files", "zenodo.json"]
    files = tmp_path / "z/files"
    assert all(p.is_file() for p in files.iterdir())
    assert {"README.md", "SHA256SUMS", "archives.json", "croissant.json"} <= {p.name for p in files.iterdir()}
    check_hashes(files, "SHA256SUMS")
    croissant = json.loads((files / "croissant.json").read_bytes())
    assert all((files / f["contentUrl"]).is_file() for f in croissant["distribution"] if "contentUrl" in f)
    readme = (files / "README.md").read_text("utf-8")
    assert [word in readme for word in ("unpack *.tar", "data/", "BagIt")] == [True, False, False]
    metadata = json.loads((tmp_path / "z/zenodo.json").read_bytes())["metadata"]
    assert metadata["creators"] == [{"name": "Doe, Jane", "affiliation": "An Institute"}, {"name": "Roe, Richard"}]
    assert (metadata["upload_type"], metadata["license"], metadata["version"]) == ("dataset", "cc-by-4.0", "1.0.0")
    assert bag.digest in metadata["description"]
    fetch(serve(files).url, tmp_path / "o", digest=bag.digest)
    assert file_hashes(tmp_path / "o" / TOP) == file_hashes(root)
    large = [PublishedFile(f"files/{n}", 10**9, "", b"") for n in range(102)]
    size, count = limit_notes(large, "zenodo")
    assert "101,000,000,000 bytes" in size
    assert "101 files" in count
    assert limit_notes(large[:50], "zenodo") == limit_notes(large, "plain") == []


def test_hub_layout_is_written_to_folder(root, bag, templates, tmp_path):
    """On the Hub, README.md begins with metadata, all checksums are valid, and the rest of the card is unchanged."""
    publish(bag.path, tmp_path / "h", layout="huggingface", license="CC-BY-4.0", go=True)
    card = (tmp_path / "h/README.md").read_text("utf-8")
    start, head, body = card.split("---\n", 2)
    assert (start, body) == ("", "\n" + (bag.path / "README.md").read_text("utf-8"))
    values = {key: json.loads(value) for key, value in (line.split(": ", 1) for line in head.splitlines())}
    assert (values["license"], values["size_categories"]) == ("cc-by-4.0", ["n<1K"])
    assert values["configs"] == [{"config_name": "samples", "data_files": "samples.jsonl"}]
    rows, samples = (
        [
            [json.loads(line)[key] for key in ("index", "id", "label", "class")]
            for line in file.read_bytes().splitlines()
        ]
        for file in (tmp_path / "h/samples.jsonl", root / "samples.jsonl")
    )
    assert rows == samples
    check_hashes(tmp_path / "h", "SHA256SUMS", "tagmanifest-sha256.txt", "manifest-sha256.txt")
    # three digits are still fewer than a thousand
    many = pack_dataset(templates(repeat=8, containers=("folder",)), tmp_path / "many", manifest_only=True)
    publish(many.path, tmp_path / "120", layout="huggingface", go=True)
    assert '\nsize_categories: ["n<1K"]\n' in (tmp_path / "120/README.md").read_text("utf-8")


def test_release_can_be_copied_between_places(bag, serve, tmp_path):
    """A release in any layout can be published in any other layout, with one header in README.md and new URLs."""
    h, z, url = tmp_path / "h", tmp_path / "z", "https://example.org/"
    license = {"license": ZENODO["license"]}
    for layout, folder, options in (("huggingface", h, license), ("zenodo", z, ZENODO)):
        publish(bag.path, folder, layout=layout, go=True, url=f"{url}a/", **options)
    for number, folder in enumerate([h, z / "files"]):
        mirror, repeated = fetch(serve(folder).url, tmp_path / f"m{number}", packed=True).path, tmp_path / f"h{number}"
        assert file_hashes(mirror) == file_hashes(folder)
        publish(mirror, repeated, layout="huggingface", go=True, url=f"{url}b", **license)
        files = json.loads((repeated / "croissant.json").read_bytes())["distribution"]
        urls = [f["contentUrl"] for f in files if "contentUrl" in f]
        assert {(repeated / item.removeprefix(f"{url}b/")).is_file() for item in urls} == {True}
        card = (repeated / "README.md").read_text("utf-8")
        assert (card.startswith("---\npretty_name"), card.count("pretty_name")) == (True, 1)
    publish(tmp_path / "m0", tmp_path / "h2", layout="huggingface", go=True, url=f"{url}a/", **license)
    assert file_hashes(tmp_path / "h2") == file_hashes(h)


def test_release_without_images_can_be_published(root, serve, tmp_path):
    for digests in ("images", "sets"):
        bag = pack_dataset(root, tmp_path / digests, manifest_only=True, digests=digests)
        server, out = serve(bag.path), tmp_path / f"o {digests}"
        result = fetch(server.url, out, digest=bag.digest)
        assert (result.sets, result.absent) == ([], ["clean", "fog-3+gaussian_noise-5", "fog/3"])
        assert (result.path / "sets").exists() == (digests == "images")
        with pytest.raises(ReleaseError, match="a release without images"):
            fetch(server.url, out, sets=["fog/3"])


def test_nothing_is_published_through_link_out_of_folder(bag, tmp_path):
    outside, to = tmp_path / "outside", tmp_path / "site"
    outside.mkdir()
    to.mkdir()
    (to / "data").symlink_to(outside)
    with pytest.raises(BuildError, match=r"site/data is, or is below, a symbolic link that leads out of .*site"):
        publish(bag.path, to, go=True)
    assert not [*outside.iterdir()]
    (to / "data").unlink()
    (outside / "index").write_bytes(b"mine")
    (to / "archives.json").symlink_to(outside / "index")
    publish(bag.path, to, go=True, replace=True)
    assert (outside / "index").read_bytes() == b"mine"
    assert not (to / "archives.json").is_symlink()
