"""Test that a dataset is unchanged after it was packed and unpacked, for every form of storage."""

from __future__ import annotations

from pathlib import Path

import small_builds


def test_pack_and_unpack_round_trip(run, shared_data):
    root = shared_data.build(crops={"classes": 3}, storage="both")
    packed = run.succeeds("pack --out p --json --by set", root).json
    first, *others = (set(a["sets"]) for a in packed["archives"])
    one = run.succeeds("unpack --out one --json", f"p/{packed['archives'][0]['path']}").json
    part = run.succeeds("verify --json", one["path"]).json
    assert set(one["absent"]) == set(part["absent"]) == set().union(*others) - first
    assert part["partial"] is True
    assert "This is a part of the dataset." in run.succeeds("verify", one["path"]).out
    result = run.succeeds("unpack --json --out u p").json
    assert (result["digest"], result["absent"]) == (packed["digest"], [])
    assert small_builds.read_files(Path(result["path"])) == small_builds.read_files(root)
    run.succeeds("verify", result["path"])


def test_families_come_from_corruptions(run, shared_data):
    ones = "speckle_noise gaussian_blur gaussian_noise contrast brightness".split()
    extra = f"[[sets]]\ncorruptions = {ones}\nseverities = [1]\n[[sets]]\nclean = true\n"
    extra += '[[sets]]\ncorruptions = ["contrast"]\nseverities = [2, 4]\n'
    extra += '[[sets]]\nchain = ["brightness-3", "contrast-2"]\n'
    root = shared_data.build(crops={"classes": 2}, recipe={"more": extra})
    assert {
        a["path"].split("-")[-1]: a["sets"]
        for a in run.succeeds("pack --out p --by family --json", root).json["archives"]
    } == {
        "clean.tar": ["clean"],
        "noise.tar": ["gaussian_noise/1"],
        "weather.tar": ["brightness-3+contrast-2", "brightness/1"],
        "digital.tar": ["contrast/1", "contrast/2", "contrast/4"],
        "extra.tar": ["gaussian_blur/1", "speckle_noise/1"],
        "metadata.tar": [],
    }
    names = {a["path"].split("-")[-1] for a in run.succeeds("pack --out corruptions --json", root).json["archives"]}
    assert names == {f"{n}.tar" for n in ("clean", "metadata", "speckle_noise", "gaussian_blur", *ones[2:])}
    assert "| `contrast/1..2`, `contrast/4` |" in Path("p/README.md").read_text("utf-8")


def test_pack_errors_are_named(run, shared_data, tmp_path):
    root = shared_data.build(crops={"classes": 2}, sets=["clean"])
    run.fails("", "pack --out p", tmp_path, code=1)
    run.fails("nothing.tar", "unpack nothing.tar --out u")
    run.fails("is too small", "pack --out p --max-bytes 10kB", root)
    run.fails("contains no archives (*.tar)", "unpack --out v", root)
    run.succeeds("pack --out q", root)
    run.fails("q", "pack --out q", root)
    path = next((tmp_path / "q/data").glob("*-clean.tar"))
    path.write_bytes(path.read_bytes().replace(b"IHDR", b"IHDX", 1))
    result = run("unpack --out u", path)
    assert (result.code, "images/clean/00_class/im.0.png' has sha256:" in result.err) == (1, True)
