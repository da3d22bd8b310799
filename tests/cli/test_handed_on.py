"""What commands hand on to the functions that do the work (stand-ins here), and what they say of the answers."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer

import corruptset
from corruptset.cli.app import app
from corruptset.errors import MachineError
from corruptset.generate.plan.options import BuildOptions
from corruptset.manifests.records.report import Problem, VerificationReport
from corruptset.scores.predict import Predicted

COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]
Handed = Callable[..., tuple[Any, tuple[Any, ...], dict[str, Any]]]


@pytest.fixture
def handed(run, monkeypatch):
    """Run a command with a stand-in at `home`; return what it did, and what the stand-in was given."""

    def call(home: str, line: str, answer: Any = None) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
        calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

        def record(*args: Any, **kwargs: Any) -> Any:
            calls.append((args, kwargs))
            if answer is None:
                raise MachineError("The disk is full.")
            return answer

        module, _, name = home.rpartition(".")
        monkeypatch.setattr(importlib.import_module(f"corruptset.{module}"), name, record)
        done = run(line)
        ((args, kwargs),) = calls
        assert callable(kwargs.pop("progress", print))
        if answer is None:
            assert (done.code, "The disk is full." in done.err) == (3, True)
        return done, args, kwargs

    return call


REMAKE = "--jobs 3 --labels a.csv --groups g.csv --images x --frost-textures ice --surrogate m.toml --device cuda"
REMADE: dict[str, Any] = {
    "jobs": 3,
    "labels": Path("a.csv"),
    "groups": "g.csv",
    "images": "x",
    "frost_textures": Path("ice"),
    "surrogate": Path("m.toml"),
    "device": "cuda",
}
BUILD = (
    f"{REMAKE} --seed 7 --sets 'fog/*, snow/1' --samples 5 --first 6 --per-class 2 --ids ids.txt "
    "--per-super-category a --format hdf5 --optimize --skip-bad --calibration cifar --coupling severity --scale side "
    "--metrics all --split all --hold-out 'group=a, b' --train --surrogate-batch 64 --view cifar-c --any-shape "
    "--store table --no-page"
)
HANDED = REMADE | {
    "seed": 7,
    "sets": ["fog/*", "snow/1"],
    "samples": 5,
    "first": 6,
    "per_class": 2,
    "ids": Path("ids.txt"),
    "per_super_category": "a",
    "format": "hdf5",
    "optimize": True,
    "skip_bad": True,
    "calibration": "cifar",
    "coupling": "severity",
    "scale": "side",
    "metrics": "all",
    "split": "all",
    "hold_out": ["group=a, b"],
    "train": True,
    "surrogate_batch": 64,
    "view": "cifar-c",
    "any_shape": True,
    "store": "table",
    "page": False,
    "plugins": None,
}


def test_plan_and_build_hand_on_every_option(handed):
    defaults = {field.name: field.default for field in dataclasses.fields(BuildOptions)}
    alone = {name: defaults.pop(name) for name in ("disjoint_from", "scheduler")}
    assert alone == {"disjoint_from": (), "scheduler": None}
    assert defaults.keys() == HANDED.keys()
    _, args, kwargs = handed("generate.planning.plan", "plan")
    assert (args, kwargs) == (("imagenet-c", "sample"), {"out": None, **defaults})
    _, args, kwargs = handed("generate.planning.plan", f"plan x --source folder:x {BUILD}")
    assert (args, kwargs) == (("x", "folder:x"), {"out": None, **HANDED})
    line = f"build x --source folder:x --out there {BUILD} --disjoint-from a --disjoint-from b --scheduler s"
    _, args, kwargs = handed("generate.build.build", line)
    assert args == ("x", "folder:x", Path("there"))
    assert kwargs == {**HANDED, "disjoint_from": [Path("a"), Path("b")], "scheduler": "s"}
    _, _, kwargs = handed("generate.build.build", "build x --part 2/5 --metrics 0")
    assert (kwargs["part"], kwargs["metrics"], kwargs["page"]) == ((2, 5), 0, True)
    assert handed("generate.build.build", "build x --finish")[2]["finish"] is True


def test_verify_and_rebuild_hand_on_what_samples_are_made_again_from(handed):
    nothing = dict.fromkeys((*REMADE, "source", "plugins"))
    given = {**nothing, **REMADE, "source": "folder:x"}
    _, args, kwargs = handed("generate.reproduction.verify.verify", "verify d")
    own = {"rederive": None, "repair": False, "calibration_side": None, "view": None}
    assert (args, kwargs) == ((Path("d"),), own | nothing)
    more = "--rederive 4 --repair --calibration tiny --view v --source folder:x"
    _, _, kwargs = handed("generate.reproduction.verify.verify", f"verify d {more} {REMAKE}")
    assert kwargs == {"rederive": 4, "repair": True, "calibration_side": 64, "view": Path("v")} | given
    _, _, kwargs = handed("generate.reproduction.rebuild.rebuild", "rebuild m.json")
    records = {"manifest": Path("m.json")}
    assert kwargs == records | {"out": Path("corruptset-out"), "sets": None} | nothing
    line = f"rebuild m.json --source folder:x --out o --sets 'fog/*,clean' {REMAKE}"
    _, _, kwargs = handed("generate.reproduction.rebuild.rebuild", line)
    assert kwargs == records | {"out": Path("o"), "sets": ["fog/*", "clean"]} | given


@pytest.mark.parametrize(
    ("home", "words", "args", "expected"),
    [
        (
            "generate.views.export.export",
            "export imagenet-c-5k d --out o --sets fog/*,clean --severities s --list l --allow-missing-classes",
            ("imagenet-c-5k", Path("d"), Path("o")),
            {
                "sets": ["fog/*", "clean"],
                "severities": Path("s"),
                "images": Path("l"),
                "allow_missing_classes": True,
                "any_shape": False,
            },
        ),
        (
            "generate.views.export.export",
            "export d --layout a.toml --out o",
            (Path("a.toml"), Path("d"), Path("o")),
            {},
        ),
        (
            "manifests.release.pack.pack",
            "pack d --out o --by set --max-bytes 2KiB --manifest-only --digests sets --parquet",
            (),
            {
                "directory": Path("d"),
                "out": Path("o"),
                "by": "set",
                "max_bytes": 2048,
                "manifest_only": True,
                "digests": "sets",
                "parquet": True,
            },
        ),
    ],
    ids=lambda value: value.split()[0] if isinstance(value, str) else "",
)
def test_other_commands_hand_on_every_option(handed, home, words, args, expected):
    _, given, kwargs = handed(home, words)
    assert given == args
    assert expected.items() <= kwargs.items() if expected else kwargs["sets"] is None
    assert not expected or kwargs.keys() - expected.keys() <= {"family_of"}


def test_the_options_of_other_commands_are_arguments_of_their_functions():
    names = "pack unpack publish fetch predict score_table compare report page rebuild preview show"
    for name in names.split():
        options = {parameter.name for parameter in COMMANDS[name.replace("_", "-")].params} - {"as_json"}
        assert options <= inspect.signature(getattr(corruptset, name)).parameters.keys(), name


def report_of(*problems: Problem, mended: list[str] | None = None) -> VerificationReport:
    return VerificationReport("d", "pixels", "sha256:0", list(problems), mended=mended)


def test_a_report_is_printed_and_decides_the_exit_code(handed):
    home = "generate.reproduction.verify.verify"
    problems = [Problem(f"images/{i}.JPEG", "missing", "is not there [b]") for i in range(60)]
    bad, _, _ = handed(home, "verify d", answer=report_of(*problems))
    assert (bad.code, "60 problems" in bad.err) == (1, True)
    assert "missing: images/0.JPEG: is not there [b]" in bad.out
    assert "10 more" in bad.out
    as_json, _, _ = handed(home, "verify d --json", answer=report_of(*problems))
    assert (as_json.code, len(as_json.json["problems"])) == (1, 60)
    good, _, kwargs = handed(home, "verify d --rederive all", answer=report_of())
    assert (good.code, "verified" in good.out, kwargs["rederive"]) == (0, True, "all")
    left = Problem("manifest.json", "unmended", "it is gone")
    mended = report_of(left, mended=[f"images/{i}.JPEG" for i in range(60)])
    repaired, _, _ = handed(home, "verify d --repair", answer=mended)
    assert repaired.code == 1
    for words in ("mended: images/0.JPEG", "10 more mended", "unmended: manifest.json: it is gone"):
        assert words in repaired.out


def test_a_rebuild_says_what_is_the_same(handed):
    manifest = SimpleNamespace(sets=[])
    built = SimpleNamespace(directory=Path("there"), digest="sha256:1", images=3, seconds=2.0, manifest=manifest)
    none = {"other_files": (), "other_images": 0, "advice": ""}
    same = SimpleNamespace(built=built, whole=True, identical=True, **none)
    done, _, _ = handed("generate.reproduction.rebuild.rebuild", "rebuild m", answer=same)
    assert "Every file has the bytes that the manifest lists." in done.out
    files = tuple(f"sets/{i}.jsonl" for i in range(7))
    other = SimpleNamespace(built=built, whole=False, identical=False, other_files=files, other_images=2, advice="So.")
    done, _, _ = handed("generate.reproduction.rebuild.rebuild", "rebuild m", answer=other)
    assert "2 images are encoded otherwise; sets/0.jsonl" in done.out
    assert "and 2 more differ. So." in done.out
    done, _, _ = handed("generate.reproduction.rebuild.rebuild", "rebuild m --json", answer=other)
    assert (done.json["whole"], done.json["other_images"]) == (False, 2)


def test_an_export_and_a_prediction_say_what_was_written(handed):
    exported = {"top": "o/x", "digest": "sha256:1", "images": 7, "bytes": 900, "linked": 5, "notes": ("One has none.",)}
    home, line = "generate.views.export.export", "export imagenet-c d --out o"
    done, _, _ = handed(home, line, answer=SimpleNamespace(**exported))
    assert re.findall("^(?:Size|Hard links): +(.*)$", done.out, re.MULTILINE) == ["900 B", "5"]
    assert "Note: One has none." in done.out
    done, _, _ = handed(home, f"{line} --json", answer=SimpleNamespace(**exported))
    assert (done.json["notes"], done.json["linked"], done.json["top"]) == (["One has none."], 5, "o/x")
    made = Predicted(Path("p"), "net", "sha256:1", {"clean": 0.987, "fog/3": 0.5}, ("clean",), 7, 1.25)
    home, line = "scores.predict.predict", "predict d --model m.toml --out p"
    done, _, _ = handed(home, line, answer=made)
    for part in ("clean=0.987, fog/3=0.5", "Images: +7", "Time: +1 s", "There already: +clean", "net", "sha256:1"):
        assert re.search(part, done.out), done.out
    done, _, _ = handed(home, f"{line} --json", answer=made)
    assert (done.json["accuracy"]["fog/3"], done.json["kept"], done.json["directory"]) == (0.5, ["clean"], "p")


@pytest.mark.parametrize(("home", "line"), [("build.build", "build x"), ("reproduction.rebuild.rebuild", "rebuild r")])
def test_ctrl_c_says_how_to_resume(run, monkeypatch, home, line):
    def interrupted(*args: Any, **kwargs: Any) -> None:
        raise KeyboardInterrupt

    module, _, name = home.rpartition(".")
    monkeypatch.setattr(importlib.import_module(f"corruptset.generate.{module}"), name, interrupted)
    done = run(f"{line} --out 'a b' --json")
    assert (done.code, done.json["exit_code"]) == (130, 130)
    assert f"corruptset {line} --out 'a b' --json" in done.err
