"""What plan, build and verify hand on to the rooms, and what they make of the answers; the rooms themselves are stand-ins here."""

from __future__ import annotations

import importlib
import types
from pathlib import Path
from typing import Any

import pytest

from corruptset.cli.app import app
from corruptset.errors import MachineError
from corruptset.manifests.records.report import Problem, VerificationReport

DEFAULTS: dict[str, Any] = {
    "seed": 0,
    "jobs": None,
    "sets": None,
    "samples": None,
    "first": None,
    "per_class": None,
    "ids": None,
    "format": None,
    "optimize": False,
    "skip_bad": False,
    "calibration": None,
    "coupling": "independent",
    "scale": None,
    "metrics": None,
    "labels": None,
    "split": None,
    "images": None,
    "frost_textures": None,
    "view": None,
    "any_shape": False,
}
GIVEN: list[tuple[list[str], dict[str, Any]]] = [
    ([], {}),
    (["--seed", "7", "--jobs", "3"], {"seed": 7, "jobs": 3}),
    (["--sets", "fog/*, snow/1", "--sets", "clean"], {"sets": ["fog/*", "snow/1", "clean"]}),
    (["--samples", "5"], {"samples": 5}),
    (["--first", "6"], {"first": 6}),
    (["--per-class", "2", "--ids", "ids.txt"], {"per_class": 2, "ids": Path("ids.txt")}),
    (["--split", "all", "--images", "x"], {"split": "all", "images": "x"}),
    (["--format", "hdf5", "--optimize", "--skip-bad"], {"format": "hdf5", "optimize": True, "skip_bad": True}),
    (
        ["--calibration", "cifar", "--coupling", "severity", "--scale", "side"],
        {"calibration": "cifar", "coupling": "severity", "scale": "side"},
    ),
    (["--metrics", "all"], {"metrics": "all"}),
    (["--metrics", "0"], {"metrics": 0}),
    (["--view", "cifar-c", "--any-shape"], {"view": "cifar-c", "any_shape": True}),
    (["--labels", "a.csv", "--frost-textures", "ice"], {"labels": Path("a.csv"), "frost_textures": Path("ice")}),
]


class Stop(MachineError):
    """Ends a stand-in."""


def stand_in(monkeypatch: pytest.MonkeyPatch, module: str, function: Any) -> None:
    """Put a function in the place of the one with the same name as the command."""
    monkeypatch.setattr(importlib.import_module(f"corruptset.generate.{module}"), module.rpartition(".")[2], function)


@pytest.mark.parametrize(("arguments", "handed"), GIVEN, ids=lambda v: " ".join(v) if isinstance(v, list) else "")
def test_plan_and_build_hand_on_every_option(
    run: Any, monkeypatch: pytest.MonkeyPatch, arguments: list[str], handed: dict[str, Any]
) -> None:
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def record(*args: Any, **kwargs: Any) -> None:
        calls.append((args, kwargs))
        raise Stop("The disk is full.")

    stand_in(monkeypatch, "plan.plan", record)
    stand_in(monkeypatch, "build", record)
    assert run("plan", *arguments).code == 3
    done = run("build", "imagenet-c-all", "--source", "folder:x", "--out", "there", *arguments)
    assert done.code == 3
    assert "The disk is full." in done.err
    assert calls[0] == (("imagenet-c", "sample"), DEFAULTS | handed)
    assert calls[1][0] == ("imagenet-c-all", "folder:x", Path("there"))
    assert callable(calls[1][1].pop("progress"))
    assert calls[1][1] == DEFAULTS | handed


def test_no_option_of_plan_or_build_is_left_out_of_these_tests() -> None:
    import typer

    known: Any = typer.main.get_command(app)
    own = {"recipe", "source", "as_json", "second", "severities", "levels", "orders"}  # the recipe of pairs: test_pairing
    for name, others in {"plan": own, "build": own | {"out", "disjoint_from", "abandon"}}.items():
        assert {p.name for p in known.commands[name].params} - {"help"} == set(DEFAULTS) | others


def test_build_hands_on_what_it_must_not_overlap(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[dict[str, Any]] = []

    def record(*args: Any, **kwargs: Any) -> None:
        calls.append(kwargs)
        raise Stop("The disk is full.")

    stand_in(monkeypatch, "build", record)
    run("build", "imagenet-c", "--disjoint-from", "a", "--disjoint-from", "b")
    assert calls[0]["disjoint_from"] == [Path("a"), Path("b")]


def test_ctrl_c_in_a_build_says_how_to_resume(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: Any, **kwargs: Any) -> None:
        raise KeyboardInterrupt

    stand_in(monkeypatch, "build", interrupted)
    done = run("build", "imagenet-c", "--out", "a b", "--json")
    assert done.code == 130
    assert done.json["exit_code"] == 130
    assert "corruptset build imagenet-c --out 'a b' --json" in done.err


def test_verify_reports_problems_and_leaves_with_one(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[dict[str, Any]] = []
    found = [Problem(f"images/{i}.JPEG", "missing", "is not there [b]") for i in range(60)]

    def verify(directory: Path, **kwargs: Any) -> VerificationReport:
        calls.append(kwargs)
        kwargs["progress"]("files", 1, 2)
        return VerificationReport(str(directory), "pixels", "sha256:0", found if directory.name == "bad" else [])

    monkeypatch.setattr("corruptset.generate.again.rederive.verify", verify)
    bad = run("verify", "bad", "--rederive", "4", "--source", "folder:x", "--jobs", "2", "--calibration", "tiny")
    assert bad.code == 1
    assert "60 problems" in bad.err
    assert "missing: images/0.JPEG: is not there [b]" in bad.out
    assert "10 more" in bad.out
    assert calls[0].pop("progress")
    assert calls[0] == {
        "rederive": 4,
        "repair": False,
        "source": "folder:x",
        "labels": None,
        "images": None,
        "frost_textures": None,
        "calibration_side": 64,
        "jobs": 2,
    }
    good = run("verify", "good", "--rederive", "all")
    assert (good.code, "verified" in good.out) == (0, True)
    assert calls[1]["rederive"] == "all"
    assert calls[1]["source"] is None
    as_json = run("verify", "bad", "--json")
    assert as_json.code == 1
    assert len(as_json.json["problems"]) == 60


def test_verify_repairs_and_says_what_was_mended(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[dict[str, Any]] = []

    def verify(directory: Path, **kwargs: Any) -> VerificationReport:
        calls.append(kwargs)
        left = [Problem("manifest.json", "unmended", "it is gone")] if directory.name == "bad" else []
        return VerificationReport(str(directory), "pixels", "sha256:0", left, mended=[f"images/{i}.JPEG" for i in range(60)])

    monkeypatch.setattr("corruptset.generate.again.rederive.verify", verify)
    good = run("verify", "good", "--repair", "--source", "folder:x")
    assert (good.code, calls[0]["repair"], calls[0]["source"]) == (0, True, "folder:x")
    assert "mended: images/0.JPEG" in good.out
    assert "10 more mended" in good.out
    assert "verified" in good.out
    bad = run("verify", "bad", "--repair")
    assert bad.code == 1
    assert "mended: images/1.JPEG" in bad.out
    assert "unmended: manifest.json: it is gone" in bad.out
    as_json = run("verify", "bad", "--repair", "--json")
    assert (as_json.code, len(as_json.json["mended"])) == (1, 60)
    assert run("verify", "good", "--json").code == 0
    refused = run("verify", "good", "--view", "there", "--repair")
    assert refused.code == 2
    assert "--repair" in refused.err


def test_rebuild_hands_on_every_option(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def rebuild(*args: Any, **kwargs: Any) -> Any:
        calls.append((args, kwargs))
        built = types.SimpleNamespace(
            directory=Path("there/x-1"), digest="sha256:1", images=3, seconds=2.0, manifest=types.SimpleNamespace(sets=[])
        )
        same = kwargs["jobs"] is None
        other = () if same else tuple(f"sets/{i}.jsonl" for i in range(7))
        return types.SimpleNamespace(
            built=built, whole=same, identical=same, other_files=other, other_images=2 * (not same), advice="Made with pillow 1."
        )

    stand_in(monkeypatch, "again.rebuild", rebuild)
    done = run("rebuild", "release/manifest.json")
    assert done.code == 0
    assert "sha256:1 (the manifest’s)" in done.out
    assert "Every file has the bytes that the manifest lists." in done.out
    options = ["--source", "folder:x", "--out", "o", "--sets", "fog/*,clean", "--jobs", "2", "--labels", "l", "--images", "i"]
    done = run("rebuild", "r", *options, "--frost-textures", "ice")
    assert "(of these sets)" in done.out
    assert "2 images are encoded otherwise; sets/0.jsonl" in done.out
    assert "and 2 more differ. Made with pillow 1." in done.out
    assert run("rebuild", "r", *options, "--json").json["other_images"] == 2
    assert calls[0][0] == (Path("release/manifest.json"), None, Path("corruptset-out"))
    assert callable(calls[0][1].pop("progress"))
    nothing = dict.fromkeys(("sets", "jobs", "labels", "images", "frost_textures"))
    assert calls[0][1] == nothing
    assert calls[1][0] == (Path("r"), "folder:x", Path("o"))
    calls[1][1].pop("progress")
    assert calls[1][1] == {"sets": ["fog/*", "clean"], "jobs": 2, "labels": Path("l"), "images": "i", "frost_textures": Path("ice")}


def test_export_hands_on_every_option_and_says_what_is_to_be_known(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def export(*args: Any, **kwargs: Any) -> Any:
        calls.append((args, kwargs))
        return types.SimpleNamespace(
            view=args[0],
            path=args[2],
            top=args[2] / "ImageNet-C",
            digest="sha256:1",
            images=7,
            bytes=900,
            linked=5,
            notes=("One class has none.",),
        )

    stand_in(monkeypatch, "views.export", export)
    plain = run("export", "imagenet-c", "there", "--out", "o")
    assert plain.code == 0
    assert "7 images, 900 B, 5 of them hard links" in plain.out
    assert "Note: One class has none." in plain.out
    options = ["--sets", "fog/*,clean", "--severities", "s.toml", "--list", "l.txt", "--allow-missing-classes"]
    done = run("export", "imagenet-c-5k", "there", "--out", "o", *options, "--json")
    assert (done.json["notes"], done.json["linked"], done.json["top"]) == (["One class has none."], 5, "o/ImageNet-C")
    assert [args for args, _ in calls] == [(view, Path("there"), Path("o")) for view in ("imagenet-c", "imagenet-c-5k")]
    handed = [[kwargs[name] for name in ("sets", "severities", "images", "allow_missing_classes")] for _, kwargs in calls]
    assert handed == [[None, None, None, False], [["fog/*", "clean"], Path("s.toml"), Path("l.txt"), True]]
    assert all(callable(kwargs["progress"]) for _, kwargs in calls)


def test_ctrl_c_in_a_rebuild_says_how_to_resume(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: Any, **kwargs: Any) -> None:
        raise KeyboardInterrupt

    stand_in(monkeypatch, "again.rebuild", interrupted)
    done = run("rebuild", "r", "--out", "a b")
    assert done.code == 130
    assert "corruptset rebuild r --out 'a b'" in done.err
