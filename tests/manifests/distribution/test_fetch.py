"""Fetch from a server with faults. The result is bit-identical to the dataset, or nothing is kept."""

import gc
import hashlib
import json
import random
import shutil
import signal
import tarfile
import warnings
from pathlib import Path

import pytest
from file_server import Faults
from packs import OUTSIDE, TOP, disk_usage_with, file_hashes, read_tar, run_and_kill, tar_header, write_archive

from corruptset.errors import (
    BuildError,
    IncompleteBuild,
    MachineError,
    ReleaseError,
    StoreError,
    UnknownSet,
    VerificationError,
)
from corruptset.manifests.distribution.fetch import fetch
from corruptset.manifests.distribution.publish import publish
from corruptset.manifests.partial import PARTIAL

FOG = "fog/3"


def archive_of(bag, set_id):
    return next(a for a in bag.archives if list(a.sets) == [set_id])


def downloaded_files(out):
    """Return the files of an `--out` in which only correct partial downloads may be kept."""
    return [p.relative_to(out).as_posix() for p in out.rglob("*") if p.is_file() and p.name != "lock"]


def is_whole(out, root):
    return file_hashes(out / TOP) == file_hashes(root)


def test_fetched_dataset_equals_original(root, bag, serve, tmp_path):
    server, steps = serve(bag.path), []
    with pytest.raises(VerificationError, match=f"has the digest {bag.digest}, but sha256:00"):
        fetch(server.url, tmp_path / "o", digest="sha256:" + "0" * 64)
    assert (server.times(), (tmp_path / "o").exists()) == ({"archives.json": 1}, False)
    result = fetch(server.url, tmp_path / "o", digest=bag.digest, progress=lambda *step: steps.append(step))
    assert (result.path, result.digest, result.absent) == (tmp_path / "o" / TOP, bag.digest, [])
    assert is_whole(tmp_path / "o", root)
    assert [p.name for p in (tmp_path / "o").iterdir()] == [TOP]
    assert server.times() == {"archives.json": 2, **{a.name: 1 for a in bag.archives}}
    assert ("bytes", bag.bytes, bag.bytes) in steps
    repeated = fetch(f"{server.url}/archives.json", tmp_path / "o")
    assert (repeated.archives, sum(server.times().values())) == ([], 3 + len(bag.archives))


def test_no_other_fetch_starts_during_removal_of_hidden_folder(bag, serve, tmp_path, monkeypatch):
    server, original, messages = serve(bag.path), shutil.rmtree, []

    def rmtree(folder, *args, **options):
        original(folder, *args, **options)
        if folder.name.startswith(".fetch") and not messages:
            messages.append(folder)
            with pytest.raises(BuildError, match="Another `corruptset"):
                fetch(server.url, tmp_path)

    monkeypatch.setattr(shutil, "rmtree", rmtree)
    fetch(server.url, tmp_path)
    assert len(messages) == 1
    assert [p.name for p in tmp_path.iterdir()] == [TOP]


def test_fetch_some_sets_then_all(root, bag, serve, tmp_path):
    server = serve(bag.path)
    result = fetch(server.url, tmp_path, sets=["Fog, sev*"])
    assert result.notes == ()
    assert (result.sets, result.absent) == ([FOG], ["clean", "fog-3+gaussian_noise-5"])
    assert server.times() == {"archives.json": 1, archive_of(bag, FOG).name: 1}
    assert (tmp_path / TOP / PARTIAL).exists()
    more = fetch(server.url, tmp_path, sets=["clean", FOG])
    assert more.archives == [archive_of(bag, "clean").name]
    fetch(server.url, tmp_path)
    assert is_whole(tmp_path, root)
    assert server.times()[archive_of(bag, FOG).name] == 1
    for name, message in (
        ("fogg/3", "Did you mean 'fog/3'"),
        ("nope/*", r" It has clean, fog-3\+gaussian_noise-5, fog/3\."),
    ):
        with pytest.raises(UnknownSet, match=message):
            fetch(server.url, tmp_path, sets=[name])


def test_archives_can_be_fetched_unpacked(bag, serve, tmp_path):
    server = serve(bag.path)
    server.faults.cut = {archive_of(bag, FOG).name: [700]}
    fetch(server.url, tmp_path / "o", packed=True, sets=[FOG])
    with pytest.raises(
        IncompleteBuild, match=f"Fetch the others with `corruptset fetch URL --packed --out {tmp_path}/o`"
    ):
        publish(tmp_path / "o", tmp_path / "p")
    result = fetch(server.url, tmp_path / "o", packed=True)
    assert file_hashes(result.path) == file_hashes(bag.path)
    (tmp_path / "o/README.md").write_text("mine")
    with pytest.raises(ReleaseError, match=r"contains different files with these names: README\.md"):
        fetch(server.url, tmp_path / "o", packed=True)


MENDED = [
    (lambda name, data: Faults(cut={name: [0, 5000, 1, 3000]}), [0, 0, 5000, 5001, 8001]),
    (lambda name, data: Faults(ranges=False, cut={name: [5000, 9000]}), None),
    (lambda name, data: Faults(status={name: [503, 500, 429], "archives.json": [502]}), None),
    (lambda name, data: Faults(cut={"archives.json": [100, 0]}), [0]),
    (lambda name, data: Faults(length={name: None}), [0]),
    (lambda name, data: Faults(content={name: [data[::-1], data]}, cut={name: [5000]}), [0, 5000, 0]),
]
"""Faults, and the offsets from which the archive is requested where they matter."""


def test_recoverable_faults_are_overcome(root, bag, serve, tmp_path):
    archive = archive_of(bag, FOG)
    name, data = archive.name, (bag.path / archive.path).read_bytes()
    for number, (make, requests) in enumerate(MENDED):
        server, out = serve(bag.path), tmp_path / str(number)
        server.faults = make(name, data)
        fetch(server.url, out, sets=[FOG])
        rows = json.loads((out / TOP / "sets/fog/3.jsonl").read_bytes().split(b"\n")[0])
        image = rows["files"][0]["path"]
        assert (out / TOP / image).read_bytes() == (root / image).read_bytes(), number
        assert not list(out.glob(".fetch-*"))
        assert requests in (None, [a.first for a in server.asked if a.name == name]), number


def wrong(data):
    return data[:4000] + bytes([data[4000] ^ 1]) + data[4001:]


REFUSED = [
    (
        VerificationError,
        r"has sha256:.*, but sha256:.* is recorded",
        lambda n, data: Faults(content={n: [wrong(data)]}),
    ),
    (VerificationError, r"has \d+ bytes, but", lambda n, data: Faults(content={n: [data + b"x"]})),
    (
        *(VerificationError, "has more bytes, but"),
        lambda n, data: Faults(content={n: [data + b"x"]}, length={n: None}),
    ),
    (VerificationError, "has 99 bytes, but", lambda n, data: Faults(length={n: 99})),
    (MachineError, "closed after 900 of", lambda n, data: Faults(cut={n: [900] + [0] * 50})),
    (VerificationError, "recorded", lambda n, data: Faults(content={n: [data, wrong(data)]}, cut={n: [9]})),
    (ReleaseError, "answers 404", lambda n, data: Faults(status={n: [404]})),
    (MachineError, "answers 503; 6 attempts", lambda n, data: Faults(status={n: [503] * 50})),
    (ReleaseError, "infinite loop", lambda n, data: Faults(redirect={n: n})),
    (ReleaseError, "answers 404", lambda n, data: Faults(status={"archives.json": [404]})),
    (VerificationError, "not an index", lambda n, data: Faults(content={"archives.json": [b"{}"]})),
]


def test_unrecoverable_faults_stop_fetch(bag, serve, tmp_path):
    archive = archive_of(bag, FOG)
    name, data = archive.name, (bag.path / archive.path).read_bytes()
    for number, (kind, match, make) in enumerate(REFUSED):
        server, out = serve(bag.path), tmp_path / str(number)
        server.faults = make(name, data)
        with pytest.raises(kind, match=match):
            fetch(server.url, out, sets=[FOG])
        part = out / f".fetch-{TOP}/parts/{name}"
        assert set(downloaded_files(out)) <= {part.relative_to(out).as_posix()}, number
        partial = part.read_bytes() if part.exists() else b""
        assert data.startswith(partial), number
        assert kind is not VerificationError or not partial, number
        server.faults = Faults()  # fixed: the same call resumes
        assert fetch(server.url, out, sets=[FOG]).sets == [FOG]


def test_redirect_to_partial_address_is_rejected(bag, serve, tmp_path):
    server = serve(bag.path)
    server.faults = Faults(redirect={"archives.json": "http://[::1"})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # the standard library leaves the socket open
        with pytest.raises(ReleaseError, match="invalid web address"):
            fetch(server.url, tmp_path)
        gc.collect()


def forge_release(bag, folder, change, archive=None):
    """Return a release with a changed index, in which the bytes of an archive of fog/3 are recorded correctly."""
    shutil.copytree(bag.path, folder)
    index = json.loads((folder / "archives.json").read_bytes())
    if archive is not None:
        entry = next(a for a in index["archives"] if a["sets"] == [FOG])
        (folder / entry["path"]).write_bytes(archive)
        entry.update(bytes=len(archive), sha256=f"sha256:{hashlib.sha256(archive).hexdigest()}")
    change(index)
    (folder / "archives.json").write_text(json.dumps(index))
    return folder


def test_false_index_is_rejected(bag, serve, tmp_path):
    """Nothing is kept if the digest in the index is not that of the archives. The index cannot choose folders."""
    false = "sha256:" + "1" * 64

    def other_sets(index):
        next(a for a in index["archives"] if a["sets"] == [FOG])["sets"] = ["fog/4"]

    def first(kind, path):
        return lambda index: index[kind][0].update(path=path)

    def field(**fields):
        return lambda index: index.update(fields)

    outside_paths = [first("archives", path) for path in ("../x.tar", "/x.tar", "data/../../x.tar", "x\\y", "")]
    odd = [field(name="../up"), field(version="1/2"), field(name=".."), field(digest="none"), field(archives=[])]
    changes = [
        (field(digest=false), f"states the digest {false}, but its archives have {bag.digest}"),
        (other_sets, r"do not contain sets that archives\.json lists: fog/4"),
        (lambda index: index["archives"].append(index["archives"][0]), "lists a file twice"),
        *(
            (first("files", name), "lists itself, or lists the folder data")
            for name in ("archives.json", "Archives.JSON", "data")
        ),
        *((change, "not an index") for change in [*outside_paths, *odd]),
    ]
    for number, (change, match) in enumerate(changes):
        server = serve(forge_release(bag, tmp_path / f"r{number}", change))
        for packed in (False, True) if "itself" in match else (False,):
            with pytest.raises(VerificationError, match=match):
                fetch(server.url, tmp_path / "o", sets=["fog/4"] if change is other_sets else None, packed=packed)
        assert downloaded_files(tmp_path / "o") == []
        assert not (tmp_path / "o" / TOP).exists()


def test_hostile_archives_are_rejected(bag, serve, tmp_path):
    """Hostile archives with correct hashes in the index are refused, and nothing of them is kept.

    In the last case, two images were exchanged, which the pixels of a lossless set show.
    """
    members = read_tar(bag.path / archive_of(bag, FOG).path)
    extra = f"{TOP}/images/fog/3/extra"
    *others, (first, one), (second, other) = members
    added = [
        *((tar_header(extra, type=kind), b"") for kind in (tarfile.SYMTYPE, tarfile.CHRTYPE)),
        (tar_header(extra, size=1 << 40), b""),
        *((name, b"x") for name in (OUTSIDE[0], OUTSIDE[2])),
    ]
    for number, archive in enumerate([*([*members, more] for more in added), [*others, (first, other), (second, one)]]):
        data = write_archive(tmp_path / "hostile.tar", archive).read_bytes()
        server = serve(forge_release(bag, tmp_path / f"r{number}", lambda index: None, data))
        with pytest.raises(VerificationError, match="cannot be used: "):
            fetch(server.url, tmp_path / "o", sets=[FOG])
        assert downloaded_files(tmp_path / "o") == [], number
        assert not (tmp_path / "escaped").exists()
        assert not Path(OUTSIDE[2]).exists()


def test_existing_files_at_destination_are_handled(bag, serve, tmp_path, monkeypatch):
    server = serve(bag.path)
    (tmp_path / TOP).mkdir()
    (tmp_path / TOP / "mine").write_text("x")
    with pytest.raises(ReleaseError, match="exists and is not a dataset"):
        fetch(server.url, tmp_path)
    (tmp_path / TOP / "mine").unlink()
    fetch(server.url, tmp_path)  # into the empty folder
    server.root = forge_release(bag, tmp_path / "r", lambda index: index.update(digest="sha256:" + "1" * 64))
    with pytest.raises(ReleaseError, match="contains a different dataset"):
        fetch(server.url, tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", disk_usage_with(bag.bytes))
    with pytest.raises(MachineError, match="the release needs about"):
        fetch(server.url, tmp_path / "small")
    assert not list(tmp_path.glob("small/*.*/parts/*"))
    for address, error, match in [
        ("release", ReleaseError, "corruptset unpack"),
        ("ftp4://x", StoreError, "is not known"),
        ("s3://me:word-of-mine@bucket", StoreError, "URLs with a user name, a password"),
        ("hf://models/a/b", ReleaseError, "is not hf://datasets"),
    ]:
        with pytest.raises(error, match=match) as exc_info:
            fetch(address, tmp_path)
        assert "word-of-mine" not in str(exc_info.value)


def test_passwords_are_sent_to_one_host_and_absent_from_messages(bag, serve, tmp_path):
    server, other = serve(bag.path), serve(bag.path)
    name = archive_of(bag, FOG).name
    address = server.url.replace("http://", "http://me:word%21@")
    server.faults.redirect = {name: f"{other.url}/data/{name}"}
    fetch(f"{address}/?key=word!", tmp_path, sets=[FOG])
    assert {a.authorization for a in server.asked} == {"Basic bWU6d29yZCE="}
    assert {a.authorization for a in other.asked} == {None}
    server.faults = Faults(status={"archives.json": [403]})
    with pytest.raises(ReleaseError) as exc_info:
        fetch(f"{address}/?key=word!", tmp_path)
    assert not any(secret in str(exc_info.value) for secret in ("word", "me:"))


def test_unpacked_archives_are_not_fetched_again(root, bag, serve, tmp_path):
    server, last = serve(bag.path), bag.archives[-1].name
    server.faults.status = {last: [404]}
    with pytest.raises(ReleaseError, match="answers 404"):
        fetch(server.url, tmp_path, connections=1)
    fetch(server.url, tmp_path, connections=1)
    assert is_whole(tmp_path, root)
    assert server.times() == {"archives.json": 2, **{a.name: 1 for a in bag.archives}, last: 2}


@pytest.mark.parametrize("count", [1, pytest.param(6, marks=pytest.mark.ci)])
def test_killed_fetch_resumes(root, bag, serve, tmp_path, count):
    (tmp_path / f"0/.fetch-{TOP}/data/{TOP}/.corruptset").mkdir(parents=True)  # killed before its first record
    for seed in range(count):
        rng, server, out = random.Random(seed), serve(bag.path), tmp_path / str(seed)
        server.faults.cut = {a.name: [rng.randrange(20_000) for _ in range(3)] for a in bag.archives}
        for at in [rng.randrange(1, 12) for _ in range(3)]:
            assert run_and_kill(at, fetch, server.url, out, connections=2) in (-signal.SIGKILL, 0)
            assert not (out / TOP).exists() or is_whole(out, root)
        fetch(server.url, out, digest=bag.digest)
        assert is_whole(out, root)


LINKS = ["part", "dangling part", "hard part", "parts", "work", "data"]


@pytest.mark.parametrize("kind", LINKS)
@pytest.mark.parametrize("packed", [False, True])
def test_nothing_is_written_through_link_in_hidden_folder(bag, serve, tmp_path, kind, packed):
    server, outside, out = serve(bag.path), tmp_path / "outside", tmp_path / "o"
    outside.mkdir()
    (outside / "file").write_bytes(b"mine")
    parts = out / f".fetch-{TOP}" / "parts"
    if kind.endswith("part"):
        parts.mkdir(parents=True)
        for archive in bag.archives:
            if kind == "hard part":
                (parts / archive.name).hardlink_to(outside / "file")
            else:
                (parts / archive.name).symlink_to(outside / ("file" if kind == "part" else "new"))
    else:
        link = {"parts": parts, "work": parts.parent, "data": out / "data" if packed else out / TOP}[kind]
        link.parent.mkdir(parents=True)
        link.symlink_to(outside)
    if kind.endswith("part"):
        fetch(server.url, out, packed=packed)
        assert (out / "data" if packed else out / TOP).is_dir()
    else:
        with pytest.raises((BuildError, ReleaseError), match=r"link|not a dataset|not a folder"):
            fetch(server.url, out, packed=packed)
    assert [(p.name, p.read_bytes()) for p in outside.iterdir()] == [("file", b"mine")]


@pytest.mark.parametrize("digits", [19, 400, 5000])
def test_overlong_numbers_in_headers_are_rejected(bag, serve, root, tmp_path, digits):
    server, name, many = serve(bag.path), archive_of(bag, FOG).name, "9" * digits
    server.faults.status, server.faults.wait = {name: [503, 503]}, many
    fetch(server.url, tmp_path / "a")  # as if the server had requested no waiting time
    assert is_whole(tmp_path / "a", root)
    server.faults.length = {name: many}
    fetch(server.url, tmp_path / "b")  # downloads everything, and then compares the digest
    assert is_whole(tmp_path / "b", root)
    server.faults.length = {}
    server.faults.cut, server.faults.span = {name: [700]}, {name: f"bytes 700-{many}/{many}"}
    with pytest.raises(MachineError, match="the server answers with a part without stating"):
        fetch(server.url, tmp_path / "c")
