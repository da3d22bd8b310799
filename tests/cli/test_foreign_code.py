"""Plugins and models that end the process, or leave it changed, under each command as a user runs it: none claims
success.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import layouts
import numpy as np
import pytest
from commands import COMMAND, Done
from PIL import Image
from plugin_files import HEAD, function
from surrogates import seeded, write_model

Run = Callable[..., Done]
ENDINGS = {
    "exit": ("raise SystemExit(0)", "SystemExit: 0"),
    "leave": ("import os; os._exit(0)", "ended the command's process (exit code 0)"),
    "abort": ("import os; os.abort()", "ended the command's process (SIGABRT)"),
    "crash": ("import ctypes; ctypes.string_at(0)", "ended the command's process (SIGSEGV)"),
    "break": ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    "own": ("raise type('Own', (BaseException,), {})('mine')", "Own: mine"),
}
RECIPE = '[[sets]]\nid = "odd"\nchain = [{corruption = "odd"}]\n'
COMMANDS = {
    "check": ["check-corruption", "odd", "--no-large"],
    "corrupt": ["corrupt", "photo.png", "odd", "--out", "made.png"],
    "preview": ["preview", "photo.png", "--recipe", "own-png.toml", "--out", "made.png"],
    "plan": ["plan", "own-png.toml", "--source", "folder:images", "--any-shape"],
    "build": ["build", "own-png.toml", "--source", "folder:images", "--out", "made", "--any-shape", "--jobs", "1"],
}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run ``corruptset ARGUMENTS`` in a process of its own."""

    def call(*arguments: object, **environment: str) -> Done:
        done = subprocess.run(
            [COMMAND, *map(str, arguments)],
            cwd=tmp_path,
            env={**os.environ, "COLUMNS": "160", "CORRUPTSET_DEBUG": "", **environment},
            capture_output=True,
            text=True,
            timeout=100,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return Done(done.returncode, done.stdout, done.stderr)

    return call


def write_plugin(folder: Path, body: str, before: str = "", name: str = "mine.py") -> None:
    """Write a plugin that registers `odd`, a photograph, images and a recipe."""
    Image.new("RGB", (48, 40), "orange").save(folder / "photo.png")
    for number in range(3):
        (folder / "images" / str(number)).mkdir(parents=True, exist_ok=True)
        pixels = np.random.default_rng(number).integers(0, 256, (32, 32, 3), np.uint8)
        Image.fromarray(pixels).save(folder / "images" / str(number) / "image.png")
    (folder / name).write_text(f"{HEAD}{before}\n{function('odd', body, ', deterministic=True')}")
    layouts.write_recipe(folder, name="own", more=RECIPE)


@pytest.mark.parametrize(
    ("ending", "command"),
    [
        *(("exit", command) for command in ("check", "plan", "build")),
        *(("leave", command) for command in COMMANDS),
        *(
            pytest.param(*case, marks=pytest.mark.ci)
            for case in (("abort", "plan"), ("crash", "build"), ("break", "build"), ("own", "plan"))
        ),
    ],
)
def test_a_plugin_that_ends_the_process_is_named(ending: str, command: str, run: Run, tmp_path: Path) -> None:
    body, sentence = ENDINGS[ending]
    write_plugin(tmp_path, body)
    done = run(*COMMANDS[command], "--plugin", "mine.py")
    assert done.code in ((1, 2) if command == "check" else (2,)), done
    assert sentence in done.err
    assert "odd" in done.err.splitlines()[-1]
    assert done.out == ""
    assert not list(tmp_path.glob("made*")), "nothing is left of what was not made"


@pytest.mark.parametrize("ending", ["exit", "leave", "break"])
def test_a_plugin_that_ends_the_process_as_it_is_imported_is_named(ending: str, run: Run, tmp_path: Path) -> None:
    body, sentence = ENDINGS[ending]
    write_plugin(tmp_path, "return 255 - images", before=body)
    for arguments in (["list"], COMMANDS["plan"]):
        done = run(*arguments, "--plugin", "mine.py")
        assert (done.code, done.out) == (2, ""), done
        assert sentence in done.err
        assert "mine.py" in done.err
    text = (tmp_path / "own-png.toml").read_text()
    (tmp_path / "own-png.toml").write_text(f'plugins = ["mine.py"]\n{text}')
    done = run(*COMMANDS["build"], "--json")
    assert (done.code, done.json["ok"], done.json["exit_code"]) == (2, False, 2)
    assert sentence in done.json["error"]["message"]


@pytest.mark.ci
def test_an_installed_plugin_that_ends_the_process_is_named(run: Run, tmp_path: Path) -> None:
    (tmp_path / "leaving.py").write_text(f"{HEAD}{ENDINGS['leave'][0]}\n")
    info = tmp_path / "leaving-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: leaving\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[corruptset.corruptions]\nleaving = leaving\n")
    done = run("list", PYTHONPATH=str(tmp_path))
    assert (done.code, done.out) == (2, "")
    assert "The plugin leaving ended the command's process (exit code 0)" in done.err


def test_a_call_that_ends_the_process_late_is_no_build(run: Run, tmp_path: Path) -> None:
    """The first call, which `build` makes itself before it writes, returns."""
    write_plugin(
        tmp_path,
        "(tmp := __import__('pathlib').Path('calls')).open('a').write('x')\n"
        "    if tmp.stat().st_size > 1: __import__('os')._exit(0)\n    return 255 - images",
    )
    done = run(*COMMANDS["build"], "--plugin", "mine.py")
    assert (done.code, done.out) == (2, "")
    assert "The plugin mine: odd ended the command's process (exit code 0)" in done.err
    assert not list(tmp_path.glob("made/*/manifest.json"))


def test_what_a_plugin_leaves_is_put_back(run: Run, tmp_path: Path) -> None:
    """A thread, folder, signal handlers."""
    body = (
        "import os, signal, threading, time\n    threading.Thread(target=time.sleep, args=(300,)).start()\n"
        "    os.chdir('/')\n    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n    return 255 - images"
    )
    write_plugin(tmp_path, body)
    begun = time.monotonic()
    done = run(*COMMANDS["build"], "--plugin", "mine.py", "--json")
    assert time.monotonic() - begun < 60
    assert done.code == 0, done.err
    directory = tmp_path / done.json["directory"]
    assert run("verify", directory).code == 0


def test_the_error_of_a_plugin_is_cut(run: Run, tmp_path: Path) -> None:
    write_plugin(tmp_path, "raise ValueError('long ' * 100_000)")
    done = run(*COMMANDS["plan"], "--plugin", "mine.py")
    assert done.code == 2
    assert "ValueError: long long" in done.err
    assert len(done.err) < 3000


NET = """import os
import small_nets

class Odd(small_nets.Plain):
    def forward(self, pixels):
        {forward}
        return super().forward(pixels)

def make(**arguments):
    {factory}
    return Odd(**arguments)

{module}
"""


@pytest.mark.ci
@pytest.mark.parametrize(
    ("ending", "place"), [("exit", "forward"), ("leave", "forward"), ("break", "factory"), ("leave", "module")]
)
def test_a_model_that_ends_the_process_is_named(
    ending: str, place: str, run: Run, shared: layouts.Shared, tmp_path: Path
) -> None:
    from small_nets import Plain

    body, sentence = ENDINGS[ending]
    arguments = {"channels": 3, "classes": 10, "side": 32}
    file = write_model(tmp_path / "m", seeded(lambda: Plain(**arguments)), 32, "odd_net:make", arguments=arguments)
    (file.parent / "odd_net.py").write_text(NET.format(**{"forward": "", "factory": "", "module": "", place: body}))
    data = shared.build(sets=["clean", "contrast/3"])
    images = tmp_path / "images"
    for number in range(10):
        (images / str(number)).mkdir(parents=True)
        shutil.copy(_an_image(tmp_path), images / str(number) / "image.png")
    recipe = layouts.write_recipe(tmp_path, name="own", more='[[sets]]\ncorruptions = ["pgd"]\nseverities = [1]\n')
    for command in (
        ["predict", data, "--model", file, "--out", "made"],
        ["plan", recipe, "--source", "folder:images", "--surrogate", file, "--any-shape"],
        [
            "build",
            recipe,
            "--source",
            "folder:images",
            "--surrogate",
            file,
            "--any-shape",
            "--out",
            "made",
            "--jobs",
            "1",
        ],
    ):
        done = run(*command)
        assert (done.code, done.out) == (2, ""), done
        assert sentence in done.err
        assert "odd_net" in done.err or "model small" in done.err
        assert not list(tmp_path.glob("made/**/*.npz"))
        assert not list(tmp_path.glob("made/**/manifest.json"))


def _an_image(folder: Path) -> Path:
    file = folder / "image.png"
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (32, 32, 3), np.uint8)).save(file)
    return file


@pytest.mark.ci
def test_a_forward_that_fails_late_is_the_models_mistake(run: Run, shared: layouts.Shared, tmp_path: Path) -> None:
    from small_nets import Plain

    arguments = {"channels": 3, "classes": 10, "side": 32}
    file = write_model(tmp_path / "m", seeded(lambda: Plain(**arguments)), 32, "odd_net:make", arguments=arguments)
    late = "self.calls = getattr(self, 'calls', 0) + 1\n        if self.calls > 4: raise RuntimeError('tired')"
    (file.parent / "odd_net.py").write_text(NET.format(forward=late, factory="", module=""))
    done = run("predict", shared.build(sets=["clean", "contrast/3"]), "--model", file, "--out", "made", "--batch", "4")
    assert done.code == 2
    assert done.err.splitlines()[-1] == "The model small fails: RuntimeError: tired."
