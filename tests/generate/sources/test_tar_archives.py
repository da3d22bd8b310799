"""Gzipped files and tars are read without unpacking, and unsafe or truncated files are reported."""

from __future__ import annotations

import gzip
import io
import tarfile

import pytest
import source_archives as a

from corruptset.errors import SourceError
from corruptset.generate.build import build
from corruptset.generate.sources.source import open_source
from corruptset.generate.sources.tar_archives import list_tar, read_named_files

PICTURES = {f"{c}/{i}.jpg": a.jpeg_bytes(a.random_crops(3, i)[0][i]) for c in ("cat", "dog", "ant") for i in range(3)}


def test_tar_of_class_folders_equals_folder(tmp_path):
    expected = open_source(f"folder:{a.write_files(tmp_path / 'photos', PICTURES)}")
    extra = {".hidden/x.jpg": b"", "README.md": b"", "cat/.DS_Store": b""}
    for i, (files, form) in enumerate(
        (
            (PICTURES, tarfile.PAX_FORMAT),
            ({f"./{n}": d for n, d in reversed(PICTURES.items())}, tarfile.PAX_FORMAT),
            ({f"photos/{n}": d for n, d in (PICTURES | extra).items()}, tarfile.USTAR_FORMAT),
            ({n.replace("cat/", "./cat/./").replace("g/", "g//"): d for n, d in PICTURES.items()}, tarfile.PAX_FORMAT),
            (PICTURES | {"cat/" + "long" * 40 + ".txt": b"x"}, tarfile.GNU_FORMAT),
        )
    ):
        source = open_source(f"folder:{a.write_tar(tmp_path / f'{i}.tar', files, format=form)}")
        assert (a.source_contents(source), source.classes, source.notes) == (
            a.source_contents(expected),
            expected.classes,
            (),
        ), i
    # a single class folder remains a class
    single = {name: data for name, data in PICTURES.items() if name.startswith("cat")}
    assert [c.name for c in open_source(f"folder:{a.write_tar(tmp_path / 'one.tar', single)}").classes] == ["cat"]
    (tmp_path / "labels.csv").write_text("file,label\n" + "".join(f"{n},{n[1]}\n" for n in PICTURES))
    labelled = open_source(f"folder:{tmp_path / '0.tar'}", labels=tmp_path / "labels.csv")
    assert [c.name for c in labelled.classes] == ["a", "n", "o"]


def test_unsafe_members_are_reported_and_stop_build(tmp_path):
    path, data = tmp_path / "x.tar", PICTURES["cat/0.jpg"]
    bad = {
        "../evil.jpg": (tarfile.REGTYPE, "leads out of the archive"),
        "/etc/evil.jpg": (tarfile.REGTYPE, "leads out of the archive"),
        "cat/link.jpg": (tarfile.SYMTYPE, "is a link, a device"),
        "cat/hard.jpg": (tarfile.LNKTYPE, "is a link, a device"),
        "cat/pipe.jpg": (tarfile.FIFOTYPE, "is a link, a device, a pipe"),
        "cat/0.jpg": (tarfile.REGTYPE, "is in the archive twice"),
        "cat/program.exe": (tarfile.REGTYPE, "has no suffix of an image"),
    }
    kinds = [*((name, tarfile.REGTYPE) for name in PICTURES), *((name, kind) for name, (kind, _) in bad.items())]
    with tarfile.open(path, "w") as archive:
        for name, kind in kinds:
            member, content = tarfile.TarInfo(name), PICTURES.get(name, data) if kind == tarfile.REGTYPE else b""
            member.type, member.size = kind, len(content)
            member.linkname = "/etc/passwd" if kind in (tarfile.SYMTYPE, tarfile.LNKTYPE) else ""
            archive.addfile(member, io.BytesIO(content) if content else None)
    source = open_source(f"folder:{path}")
    assert [(name, bad[name][1] in reason) for name, reason in source.notes] == [(name, True) for name in sorted(bad)]
    assert [s.path for s in source.samples] == sorted(PICTURES)
    with pytest.raises(SourceError, match="7 files of the source cannot be used"):
        build("cifar10-c", f"folder:{path}", tmp_path / "out", sets=["clean"], jobs=1)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x.tar"]


def test_truncated_or_damaged_tar_is_rejected(tmp_path):
    content = a.write_tar(tmp_path / "x.tar", PICTURES, format=tarfile.USTAR_FORMAT).read_bytes()
    offsets = [p.offset for p in list_tar(tmp_path / "x.tar").files.values()]
    end = offsets[-1] + -(-len(PICTURES["ant/2.jpg"]) // 512) * 512
    flipped = bytearray(content)
    flipped[offsets[4] - 512 + 3] ^= 1
    cuts = (offsets[4] - 512, offsets[4] - 100, offsets[4] + 5, offsets[-1] + 3, end, end + 100)
    for data, message in [
        *((content[:cut], r"is truncated|damaged") for cut in cuts),
        (bytes(flipped), r"kind of file: the header at byte"),
        (bytes(10240), "contains no image"),
        (b"hello", "is a file, not a folder"),
        (gzip.compress(content), r"is gzipped, but images are read.*gunzip bad\.tar"),
    ]:
        (tmp_path / "bad.tar").write_bytes(data)
        a.check_refused(f"folder:{tmp_path / 'bad.tar'}", message)


def concatenated_tars(tmp_path, *files, between=b""):
    """Return the bytes of concatenated tars, as ``cat a.tar b.tar`` writes them."""
    tars = [a.write_tar(tmp_path / "part.tar", some, format=tarfile.GNU_FORMAT).read_bytes() for some in files]
    return between.join(tars)


def test_concatenated_tars_are_read_to_end(tmp_path):
    parts = [{n: d for n, d in PICTURES.items() if n.startswith(name)} for name in ("cat", "dog", "ant")]
    expected = a.source_contents(open_source(f"folder:{a.write_files(tmp_path / 'photos', PICTURES)}"))
    path = tmp_path / "both.tar"
    for between in (b"", bytes(512), bytes(3 << 20)):
        path.write_bytes(concatenated_tars(tmp_path, *parts, between=between))
        assert a.source_contents(open_source(f"folder:{path}")) == expected
    path.write_bytes(concatenated_tars(tmp_path, PICTURES, parts[0]))
    notes = open_source(f"folder:{path}").notes
    assert [(name, "twice" in reason) for name, reason in notes] == [(name, True) for name in sorted(parts[0])]
    # the same for the other archives that sources read
    names = sorted(a.val_images())
    images = [{n: d for n, d in a.val_images().items() if (n in names[:3]) == first} for first in (True, False)]
    a.write_tar(tmp_path / "ILSVRC2012_devkit_t12.tar.gz", a.devkit_files(), "w:gz")
    (tmp_path / "ILSVRC2012_img_val.tar").write_bytes(concatenated_tars(tmp_path, *images))
    assert len(open_source(f"imagenet:{tmp_path}").samples) == 7
    rows = a.random_crops(5)
    ten = a.cifar10_python(rows)
    meta = {name: data for name, data in ten.items() if name.endswith("meta")}
    rest = {name: data for name, data in ten.items() if name not in meta}
    for name, data in (
        ("c.tar", concatenated_tars(tmp_path, meta, rest)),
        ("c.tar.gz", a.gzip_bytes(concatenated_tars(tmp_path, meta, rest))),
        ("d.tar.gz", a.gzip_bytes(concatenated_tars(tmp_path, meta)) + a.gzip_bytes(concatenated_tars(tmp_path, rest))),
    ):
        (tmp_path / name).write_bytes(data)
        source = open_source(f"cifar10:{tmp_path / name}")
        assert [s.label for s in source.samples] == rows[1].tolist()


def test_data_after_tar_is_handled(tmp_path):
    content = a.write_tar(tmp_path / "x.tar", PICTURES, format=tarfile.GNU_FORMAT).read_bytes()
    (tmp_path / "filled.tar").write_bytes(content + bytes(1 << 20) + bytes(100))
    assert len(open_source(f"folder:{tmp_path / 'filled.tar'}").samples) == 9
    truncated = concatenated_tars(tmp_path, PICTURES, {"elk/0.jpg": bytes(5000)})[: len(content) + 3000]
    for data, message in (
        (content + b"<html>", "has bytes after its end, from byte .* which are not another archive"),
        (content + bytes(5000) + b"x" * 5000, "has bytes after its end, from byte"),
        (truncated, "is truncated"),
    ):
        (tmp_path / "bad.tar").write_bytes(data)
        a.check_refused(f"folder:{tmp_path / 'bad.tar'}", message)
    with (tmp_path / "bad.tar").open("wb") as file:  # zeros that an interrupted download leaves
        file.write(content)
        file.truncate(1 << 40)
    a.check_refused(f"folder:{tmp_path / 'bad.tar'}", "has more than 16 MiB of zeros .* an interrupted download")
    (tmp_path / "x.tar.gz").write_bytes(a.gzip_bytes(concatenated_tars(tmp_path, {"a": b"x"}) * 9))
    with pytest.raises(SourceError, match="has more than 8 archives"):
        read_named_files(tmp_path / "x.tar.gz", ())
    (tmp_path / "x.tar.gz").write_bytes(a.gzip_bytes(content + bytes(17 << 20)))
    with pytest.raises(SourceError, match="has more than 16 MiB of zeros"):
        read_named_files(tmp_path / "x.tar.gz", ())


def test_second_tar_with_backward_header_ends_listing(tmp_path):
    first = a.write_tar(tmp_path / "x.tar", PICTURES, format=tarfile.USTAR_FORMAT).read_bytes()
    for size in (-1024, -len(first), -len(first) - 512):
        second = bytearray(a.write_tar(tmp_path / "x.tar", {"b": b"y"}, format=tarfile.USTAR_FORMAT).read_bytes())
        second[124:136], second[148:156] = size.to_bytes(12, "big", signed=True), b" " * 8
        second[148:156] = b"%06o\0 " % sum(second[:512])
        (tmp_path / "x.tar").write_bytes(first + second)
        a.check_refused(f"folder:{tmp_path / 'x.tar'}", "a header refers back to byte")


def test_headers_with_wrong_sizes_are_rejected(tmp_path):
    """At most a few megabytes are read for a header, independently of the size that it states."""
    valid = a.write_tar(tmp_path / "good.tar", {"a": b"x" * 600, "b": b"y"}, format=tarfile.USTAR_FORMAT).read_bytes()

    def with_size(at, size, kind=b"0"):
        data = bytearray(valid)
        data[at + 124 : at + 136], data[at + 156 : at + 157], data[at + 148 : at + 156] = size, kind, b" " * 8
        data[at + 148 : at + 156] = b"%06o\0 " % sum(data[at : at + 512])
        return bytes(data)

    def before_a_member(kind, count, size):
        """Nested long names and extended headers, which tarfile would read into memory."""
        header = tarfile.TarInfo("x")
        header.type, header.size = kind, size
        content = b"%d comment=" % size if kind != tarfile.GNUTYPE_LONGNAME else b"n"
        return (header.tobuf() + content.ljust(size - 1, b"x") + b"\n" + bytes(-size % 512)) * count + valid

    back, far = (-2048).to_bytes(12, "big", signed=True), b"%011o\0" % (1 << 32)
    lies = [
        (with_size(0, far, b"x"), "a header has 4,294,967,296 bytes"),
        (with_size(0, far, b"L"), "a header has 4,294,967,296 bytes"),
        (with_size(0, back, b"L"), "a header has -2,048 bytes"),
        (with_size(0, back), r"refers back|damaged"),
        (with_size(1536, back), "refers back to byte 0"),
        (with_size(1536, far), "expands to more than 1,073,741,824 bytes"),
    ] + [
        (before_a_member(kind, count, size), r"a header has|truncated, damaged")
        for kind in (tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE, tarfile.XGLTYPE)
        for count, size in ((2000, 10), (3, 500_000))
    ]
    for data, message in lies:
        for name, content in (("x.tar.gz", a.gzip_bytes(data)), ("x.tar", data)):
            (tmp_path / name).write_bytes(content)
            with pytest.raises(SourceError, match=message if name.endswith("gz") else r"damaged|truncated"):
                read_named_files(tmp_path / name, ())
