"""Test the arguments that commands pass to their functions (replaced here), and the output of the results."""

from __future__ import annotations

import importlib
import inspect
import shlex
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer

import corruptset
from corruptset.cli.app import app
from corruptset.errors import MachineError
from corruptset.manifests.records.report import Problem, VerificationReport
from corruptset.scores.predict import Predicted

COMMANDS = typer.main.get_command(app).commands


@pytest.fixture
def run_with_stub(run, monkeypatch):
    """Return a function that runs a command with a replaced function, and returns the output and the arguments."""

    def call(line, answer=None):
        name = line.split()[0].replace("-", "_")
        signature, calls = inspect.signature(getattr(corruptset, name)), []

        def record(*args, **kwargs):
            calls.append(signature.bind(*args, **kwargs).arguments)
            if answer is None:
                raise MachineError("The disk is full.")
            return answer

        home = importlib.import_module(f"corruptset.{corruptset._MODULES[name]}")
        with monkeypatch.context() as patch:
            for place in (home, corruptset):
                patch.setattr(place, name, record)
            result = run(line)
        (options,) = calls
        options |= options.pop("options", {})
        assert callable(options.pop("progress", print))
        assert answer is not None or (result.code, "The disk is full." in result.err) == (3, True)
        return result, options

    return call


PAIR_OPTIONS = {"first_stages", "second_stages", "severities", "levels", "orders"}
OWN = {"as_json", "toml", "list_sets", "part", "finish", "plugins"}
"""Options of which the command line makes something else."""
VALUES = {
    **{name: Path(f"{name}.x") for name in "directory manifest out labels ids frost_textures surrogate model".split()},
    **{name: f"a {name}" for name in "recipe source image address groups images device sample reference".split()},
    **{name: f"a {name}" for name in "per_super_category calibration scheduler to license url date key".split()},
    **dict.fromkeys("optimize skip_bad train any_shape repair force regions go replace private packed".split(), True),
    **dict.fromkeys("allow_missing_classes manifest_only parquet any_data".split(), True),
    "page": False, "plots": False,
    "jobs": 3, "seed": 7, "samples": 5, "first": 6, "per_class": 2, "surrogate_batch": 64, "connections": 9, "batch": 8,
    "storage": "hdf5", "encoding": "jpeg:90", "layout": "plain",
    "coupling": "severity", "scale": "side", "split": "all", "store": "table", "by": "set",
    "digests": "sets", "level": "sizes", "kind": "top", "digest": "sha256:1",
    "metrics": "all", "rederive": 4, "max_bytes": 2048, "sets": ["fog/*", "snow/1"], "hold_out": ["group=a, b"],
    "extend": Path("old"), "disjoint_from": [Path("a"), Path("b")],
    "creators": ["Doe, J"], "scores": [Path("s")], "archives": [Path("t")],
}  # fmt: skip
TYPED = {"max_bytes": "2KiB", "sets": "fog/*, snow/1"}
OTHER = {
    "verify": {"export": Path("v")},
    "export": {"layout": "a layout", "images": Path("list"), "severities": Path("s")},
}


def command_line_words(parameter, value):
    """Return the words with which a parameter is given on the command line."""
    values = value if isinstance(value, list) else [value]
    texts = [TYPED[parameter.name]] if parameter.name in TYPED else [str(item) for item in values]
    if parameter.param_type_name == "argument":
        return texts
    if isinstance(value, bool):
        return [(parameter.opts if value else parameter.secondary_opts)[0]]
    return [word for text in texts for word in (parameter.opts[0], text)]


@pytest.mark.parametrize(
    "name", "plan build verify rebuild export page pack unpack publish fetch predict preview compare".split()
)
def test_every_option_reaches_its_function_with_its_default(run_with_stub, name):
    values = VALUES | OTHER.get(name, {})
    own = OWN | ({"calibration"} if name == "verify" else set()) | (PAIR_OPTIONS - values.keys())
    parameters = [item for item in COMMANDS[name].params if item.name not in own]
    typed = [word for parameter in parameters for word in command_line_words(parameter, values[parameter.name])]
    _, call_arguments = run_with_stub(shlex.join([name, *typed]))
    assert {parameter.name: call_arguments.get(parameter.name) for parameter in parameters} == {
        parameter.name: values[parameter.name] for parameter in parameters
    }
    needed = [parameter for parameter in parameters if parameter.required or parameter.param_type_name == "argument"]
    _, call_arguments = run_with_stub(
        shlex.join(
            [name, *(word for parameter in needed for word in command_line_words(parameter, values[parameter.name]))]
        )
    )
    for option, default in inspect.signature(getattr(corruptset, name)).parameters.items():
        # A command has a default for its output, while the function may not write a file.
        if (
            option in call_arguments.keys() - {"out", *(parameter.name for parameter in needed)}
            and default.default is not default.empty
        ):
            assert call_arguments[option] == default.default or not (call_arguments[option] or default.default), option


def test_converted_options_reach_their_functions(run_with_stub):
    assert run_with_stub("build x --part 2/5 --metrics 0")[1].items() >= {"part": (2, 5), "metrics": 0}.items()
    assert run_with_stub("build x --finish")[1]["finish"] is True
    assert run_with_stub("verify d --calibration tiny --rederive all")[1].items() >= {
        "calibration_side": 64, "rederive": "all"
    }.items()  # fmt: skip


def make_report(*problems, mended=None):
    return VerificationReport("d", "pixels", "sha256:0", list(problems), mended=mended)


def test_report_is_printed_and_determines_exit_code(run_with_stub):
    bad = make_report(*(Problem(f"images/{i}.JPEG", "missing", "is not there [b]") for i in range(60)))
    result, _ = run_with_stub("verify d", bad)
    assert (result.code, "60 problems" in result.err) == (1, True)
    assert "missing: images/0.JPEG: is not there [b]" in result.out
    assert "10 more" in result.out
    result, _ = run_with_stub("verify d --json", bad)
    assert (result.code, len(result.json["problems"])) == (1, 60)
    good = make_report()
    good.checked.update(sets=2, samples=6, images=12, files=8, bytes=4096)
    result, _ = run_with_stub("verify d", good)
    assert "d: verified (2 sets, 6 samples, 12 images, 8 other files, 4.1 kB on disk)" in result.out
    result, _ = run_with_stub("verify d", make_report())
    assert (result.code, "verified" in result.out) == (0, True)
    problem = Problem("manifest.json", "unmended", "it is gone")
    result, _ = run_with_stub("verify d --repair", make_report(problem, mended=[f"images/{i}.JPEG" for i in range(60)]))
    assert result.code == 1
    for arguments in ("repaired: images/0.JPEG", "10 more repaired", "unmended: manifest.json: it is gone"):
        assert arguments in result.out


BUILT = SimpleNamespace(
    directory=Path("there"), digest="sha256:1", images=3, seconds=2.0, manifest=SimpleNamespace(sets=[])
)
FILES = tuple(f"sets/{i}.jsonl" for i in range(7))


@pytest.mark.parametrize(
    ("line", "answer", "message", "record"),
    [
        (
            "rebuild m",
            {
                "built": BUILT,
                "whole": False,
                "identical": False,
                "other_files": FILES,
                "other_images": 2,
                "advice": "So.",
            },
            ["2 images are encoded differently, and these files differ: sets/0.jsonl", "and 2 more. So."],
            {"whole": False, "other_images": 2},
        ),
        (
            "export imagenet-c d --out o",
            {"top": "o/x", "digest": "sha256:1", "images": 7, "bytes": 900, "linked": 5, "notes": ("One has none.",)},
            ["Size: 900 B", "Hard links: 5", "Note: One has none."],
            {"notes": ["One has none."], "linked": 5, "top": "o/x"},
        ),
        (
            "predict d --model m.toml --out p",
            vars(Predicted(Path("p"), "net", "sha256:1", {"clean": 0.987, "fog/3": 0.5}, ("clean",), 7, 1.25)),
            [
                "set accuracy % clean 98.70 fog/3 50.00",
                "Images: 7",
                "Time: 1 s",
                "Kept from before: clean",
                "net",
                "sha256:1",
            ],
            {"accuracy": {"clean": 0.987, "fog/3": 0.5}, "kept": ["clean"], "directory": "p"},
        ),
    ],
    ids=["rebuild", "export", "predict"],
)
def test_written_files_are_listed(run_with_stub, line, answer, message, record):
    text = " ".join(run_with_stub(line, SimpleNamespace(**answer))[0].out.split())
    assert [arguments for arguments in message if arguments not in text] == []
    assert record.items() <= run_with_stub(f"{line} --json", SimpleNamespace(**answer))[0].json.items()
