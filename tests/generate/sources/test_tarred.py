"""Tars are read in place; what is unsafe or cut in them is said, and never followed."""

from __future__ import annotations

import io
import re
import tarfile

import archives as a
import pytest

from corruptset.errors import SourceError
from corruptset.generate.build import build
from corruptset.generate.sources.source import open_source
from corruptset.generate.sources.tarred import list_tar

PICTURES = {f"{c}/{i}.jpg": a.jpeg(a.crops(3, i)[0][i]) for c in ("cat", "dog", "ant") for i in range(3)}


def test_a_tar_of_class_folders_is_the_folder(tmp_path):
    a.write(tmp_path / "photos", PICTURES)
    expected = open_source(f"folder:{tmp_path / 'photos'}")
    extra = {".hidden/x.jpg": b"", "README.md": b"", "cat/.DS_Store": b""}
    for i, (files, options) in enumerate(
        (
            (PICTURES, {}),
            ({f"./{n}": d for n, d in reversed(PICTURES.items())}, {"format": tarfile.PAX_FORMAT}),
            ({f"photos/{n}": d for n, d in (PICTURES | extra).items()}, {"format": tarfile.USTAR_FORMAT}),
            (PICTURES | {"cat/" + "long" * 40 + ".txt": b"x"}, {"format": tarfile.GNU_FORMAT}),
        )
    ):
        source = open_source(f"folder:{a.tar(tmp_path / f'{i}.tar', files, **options)}")
        assert a.facts(source) == a.facts(expected)
        assert source.classes == expected.classes
        assert source.notes == ()
    # one class folder stays a class
    single = {name: data for name, data in PICTURES.items() if name.startswith("cat")}
    assert [c.name for c in open_source(f"folder:{a.tar(tmp_path / 'one.tar', single)}").classes] == ["cat"]
    (tmp_path / "labels.csv").write_text("file,label\n" + "".join(f"{n},{n[1]}\n" for n in PICTURES))
    labelled = open_source(f"folder:{tmp_path / '0.tar'}", labels=tmp_path / "labels.csv")
    assert [c.name for c in labelled.classes] == ["a", "n", "o"]


def kind(of, link=""):
    def change(member):
        if member.name.startswith("x"):
            member.type, member.linkname, member.size = of, link, 0
            member.name = "cat/x.jpg"

    return change


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("../evil.jpg", None, "leads out of the archive"),
        ("/etc/evil.jpg", None, "leads out of the archive"),
        ("cat/../../evil.jpg", None, "leads out of the archive"),
        ("x", kind(tarfile.SYMTYPE, "/etc/passwd"), "is a link to '/etc/passwd'"),
        ("x", kind(tarfile.LNKTYPE, "cat/0.jpg"), "is a link to 'cat/0.jpg'"),
        ("x", kind(tarfile.FIFOTYPE), "is a device, a pipe"),
        ("x", kind(tarfile.CHRTYPE), "is a device, a pipe"),
        ("cat/0.jpg", None, "is in the archive twice"),
        ("cat/a\tb.jpg", None, "control characters"),
        ("cat/program.exe", None, "has no suffix of an image"),
    ],
)
def test_what_is_unsafe_is_said_and_stops_a_build(tmp_path, name, change, said):
    path = tmp_path / "x.tar"
    with tarfile.open(path, "w") as archive:
        for member_name, data in [*PICTURES.items(), (name, PICTURES["cat/0.jpg"])]:
            member = tarfile.TarInfo(member_name)
            member.size = len(data)
            if change:
                change(member)
            archive.addfile(member, io.BytesIO(data) if member.size else None)
    source = open_source(f"folder:{path}")
    assert len(source.notes) == 1
    assert said in source.notes[0][1]
    with pytest.raises(SourceError, match=said):
        build("cifar10-c", f"folder:{path}", tmp_path / "out", sets=["clean"], jobs=1)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x.tar"]
    # without it, nothing of it is used
    assert len(open_source(f"folder:{path}").samples) == 9


def test_a_tar_that_is_cut_or_damaged(tmp_path):
    whole = a.tar(tmp_path / "x.tar", PICTURES, format=tarfile.USTAR_FORMAT).read_bytes()
    offsets = [p.offset for p in list_tar(tmp_path / "x.tar").files.values()]
    end = offsets[-1] + -(-len(PICTURES["ant/2.jpg"]) // 512) * 512
    for size in (offsets[4] - 512, offsets[4] - 100, offsets[4] + 5, offsets[-1] + 3, end, end + 100):
        (tmp_path / "cut.tar").write_bytes(whole[:size])
        with pytest.raises(SourceError, match=r"is cut|damaged"):
            open_source(f"folder:{tmp_path / 'cut.tar'}")
    flipped = bytearray(whole)
    flipped[offsets[4] - 512 + 3] ^= 1
    (tmp_path / "flipped.tar").write_bytes(flipped)
    with pytest.raises(SourceError, match=r"cut or damaged: it has no readable header at byte"):
        open_source(f"folder:{tmp_path / 'flipped.tar'}")
    (tmp_path / "empty.tar").write_bytes(bytes(10240))
    (tmp_path / "text.tar").write_bytes(b"hello")
    for name in ("empty.tar", "text.tar"):
        with pytest.raises(SourceError):
            open_source(f"folder:{tmp_path / name}")
    gz = a.tar(tmp_path / "x.tar.gz", PICTURES, "w:gz")
    with pytest.raises(SourceError, match=r"is gzipped; images are read in place.*gunzip x.tar.gz"):
        open_source(f"folder:{gz}")


def test_headers_of_a_gzipped_tar_that_lie_about_sizes(tmp_path):
    """Whatever a header says, no more than some megabytes are read for it, and the listing does not go back."""
    good = a.tar(tmp_path / "good.tar", {"a": b"x" * 600, "b": b"y"}, format=tarfile.USTAR_FORMAT).read_bytes()

    def with_size(at, size, kind=b"0"):
        data = bytearray(good)
        data[at + 124 : at + 136] = size
        data[at + 156 : at + 157] = kind
        data[at + 148 : at + 156] = b" " * 8
        data[at + 148 : at + 156] = b"%06o\0 " % sum(data[at : at + 512])
        return bytes(data)

    back = (-1024).to_bytes(12, "big", signed=True)
    far = b"%011o\0" % (1 << 32)
    for i, (data, said) in enumerate(
        (
            (with_size(0, far, b"x"), "has a header of 4,294,967,296 bytes"),
            (with_size(0, far, b"L"), "has a header of 4,294,967,296 bytes"),
            (with_size(0, back, b"L"), "has a header of -1,024 bytes"),
            (with_size(0, back), r"leads back|damaged"),
            (with_size(1536, (-2048).to_bytes(12, "big", signed=True)), "leads back to byte 0"),
            (with_size(1536, far), "unexpected end of data"),
        )
    ):
        for name, content in ((f"{i}.tar.gz", a.zipped(data)), (f"{i}.tar", data)):
            path = tmp_path / name
            path.write_bytes(content)
            with pytest.raises(SourceError, match=said if name.endswith("gz") else r"damaged|cut"):
                list_tar(path, re.compile(""))


@pytest.mark.parametrize("kind", [tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE, tarfile.XGLTYPE])
@pytest.mark.parametrize(("count", "size"), [(2000, 10), (3, 500_000)])
def test_headers_for_one_member_are_limited_together(tmp_path, kind, count, size):
    """Long names and extended headers before a member: tarfile reads each into memory, and calls itself for the
    next.
    """
    header = tarfile.TarInfo("x")
    header.type, header.size = kind, size
    content = b"%d comment=" % size if kind != tarfile.GNUTYPE_LONGNAME else b"n"
    block = header.tobuf() + content.ljust(size - 1, b"x") + b"\n" + bytes(-size % 512)
    path = tmp_path / "x.tar"
    path.write_bytes(block * count + a.tar(tmp_path / "good.tar", PICTURES).read_bytes())
    zipped = path.with_suffix(".tar.gz")
    zipped.write_bytes(a.zipped(path.read_bytes()))
    for archive in (path, zipped):
        with pytest.raises(SourceError, match=r"has a header of|cut or damaged"):
            list_tar(archive, re.compile(""))
