"""Damage to data sets, and what a verification says of it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from corruptset.canonical import canonical_sha256
from corruptset.manifests.records.digests import DIGEST_VERSION, sha256_file
from corruptset.manifests.records.report import Problem
from corruptset.manifests.verify.directory import verify_directory

MakeDataset = Callable[..., Path]

PNG_IMAGE = "images/fog/3/1 a dog/Ünal 7.png"
JPEG_IMAGE = "images/fog/3/1 a dog/Ünal 7.JPEG"
OTHER_PNG = "images/fog/3/1 a dog/deep/rex.png"
SHARD = "hdf5/fog/3-00001.h5"
KINDS = (
    "incomplete schema records symlink special missing unexpected unreadable size hash decode shape pixels digest "
    "unicode rederive unmended"
).split()
WHOLE_FILES = ["manifest.json", "SHA256SUMS", "samples.jsonl", "sets/fog/3.jsonl", "contact.png", "README.md", SHARD]


def flip(path: Path, at: float = 0.5) -> None:
    """Flip one bit of a file at a position that is a fraction of its length."""
    data = bytearray(path.read_bytes())
    data[int(len(data) * at)] ^= 0x10
    path.write_bytes(data)


def verify_problems(root: Path, **options: Any) -> list[Problem]:
    """Verify a dataset, and return the problems. Assert that the report is well formed."""
    report = verify_directory(root, **options)
    assert all(p.kind in KINDS for p in report.problems)
    assert report.problems == sorted(set(report.problems))
    json.dumps(report.as_json(), ensure_ascii=False).encode()
    return report.problems


def problem_paths(problems: list[Problem], kind: str | None = None) -> set[str]:
    """Return the paths of all problems, or of those of one kind."""
    return {p.path for p in problems if kind in (None, p.kind)}


def edit_lines(path: Path, change: Callable[[list[dict[str, Any]]], Any]) -> None:
    """Change the rows of a JSON Lines file with a function."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    rows = change(rows) or rows
    path.write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows), "utf-8")


def edit_manifest(root: Path, change: Callable[[dict[str, Any]], Any], *, reseal: bool = False) -> None:
    """Change manifest.json with a function. With `reseal`, also update the hashes of all files, as a forger would."""
    path = root / "manifest.json"
    manifest = json.loads(path.read_text("utf-8"))
    change(manifest)
    if reseal:
        for f in manifest["files"]:
            if (root / f["path"]).is_file():
                f.update(bytes=(root / f["path"]).stat().st_size, sha256=sha256_file(root / f["path"]))
    path.write_text(json.dumps(manifest, ensure_ascii=False, indent=2) + "\n", "utf-8")
    if reseal:
        sums = {f["path"]: f["sha256"] for f in manifest["files"]} | {"manifest.json": sha256_file(path)}
        (root / "SHA256SUMS").write_text("".join(f"{v[7:]}  {k}\n" for k, v in sorted(sums.items())), "utf-8")


def write_outside_file(root: Path) -> Path:
    """Write a file outside of the dataset, which no path in the dataset may lead to, and return it."""
    secret = root.parent / "secret.png"
    shutil.copyfile(root / PNG_IMAGE, secret)
    return secret


def edit_shard(root: Path, change: Callable[[h5py.File], None], path: str = SHARD) -> None:
    """Change a shard with a function, and update all hashes of its bytes."""
    with h5py.File(root / path, "r+") as f:
        change(f)
    edit_manifest(root, lambda m: None, reseal=True)


def replace_column(name: str, **options: Any) -> Callable[[h5py.File], None]:
    def change(f: h5py.File) -> None:
        del f[name]
        if options:
            f.create_dataset(name, **options)

    return change


def external_link(f: h5py.File) -> None:
    del f["images"]
    f["images"] = h5py.ExternalLink("../../../secret.h5", "images")


def external_storage(f: h5py.File) -> None:
    del f["images"]
    f.create_dataset("images", shape=(2, 16, 20, 3), dtype=np.uint8, external=[("/etc/passwd", 0, h5py.h5f.UNLIMITED)])


def virtual_dataset(f: h5py.File) -> None:
    del f["images"]
    layout = h5py.VirtualLayout(shape=(2, 16, 20, 3), dtype=np.uint8)
    layout[:] = h5py.VirtualSource("../../clean-00000.h5", "images", shape=(2, 16, 20, 3))
    f.create_virtual_dataset("images", layout)


def soft_link(f: h5py.File) -> None:
    f.move("images", "other")
    f["images"] = h5py.SoftLink("/other")


def assign_value(name: str, value: Any) -> Callable[[h5py.File], None]:
    def change(f: h5py.File) -> None:
        f[name][0] = value

    return change


def update_digest(root: Path) -> str:
    """Update the digest in the manifest to that of the changed records, as a forger would, and return it."""
    rows = [json.loads(line) for line in (root / "samples.jsonl").read_text("utf-8").splitlines()]

    def change(m: dict[str, Any]) -> None:
        fields = {"schema_version": DIGEST_VERSION} | {key: m[key] for key in ("seed", "preprocessing")}
        fields["classes"] = [[c["index"], c["name"], c["folder"]] for c in m["classes"]]
        fields["samples"] = [[r["id"], r["label"], r["sha256"]] for r in rows]
        fields["sets"] = [[s["id"], s["stages"], s["count"], s["pixel_digest"]] for s in m["sets"]]
        m["digest"] = canonical_sha256(fields)
        m["source"]["digest"] = canonical_sha256(fields["samples"])

    edit_manifest(root, change, reseal=True)
    return str(json.loads((root / "manifest.json").read_text("utf-8"))["digest"])


def swap_classes(root: Path, field: str = "name") -> None:
    """Exchange the names (or folders) of two classes in all records, and update all hashes except the digest."""
    manifest = json.loads((root / "manifest.json").read_text("utf-8"))
    first, second = (c[field] for c in manifest["classes"][:2])

    def change(m: dict[str, Any]) -> None:
        m["classes"][0][field], m["classes"][1][field] = second, first

    if field == "name":
        other = {first: second, second: first}
        edit_lines(
            root / "samples.jsonl", lambda rows: [{**r, "class": other.get(r["class"], r["class"])} for r in rows]
        )
    edit_manifest(root, change, reseal=True)
