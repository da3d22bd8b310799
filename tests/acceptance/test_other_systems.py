"""Where Linux's and macOS's own parts of Python are missing, as on Windows: data sets are read, checked and scored all
the same.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import commands
import layouts
import numpy as np
import pytest
import without_unix
from PIL import Image
from unbuilt import made_up

import corruptset
from corruptset.generate.recipes.recipe import load_recipe, recipe_names
from corruptset.scores.scores_file import write_scores

pytestmark = pytest.mark.ci

BUILD = ["build", "imagenet-c", "--sets", "contrast/2", "--samples", "2", "--jobs", "1"]
NEEDS = "need the file locks of Linux or macOS"

READ = """
import hashlib, sys
import numpy as np
import corruptset
for prefer in ("hdf5", "folder"):
    data = corruptset.open(sys.argv[1], prefer=prefer)
    for name in data.set_ids:
        pixels = hashlib.sha256(b"".join(np.asarray(image).tobytes() for image, label in data[name])).hexdigest()
        print(prefer, name, data[name].labels.tolist(), pixels)
image = np.arange(40 * 30 * 3, dtype=np.uint8).reshape(40, 30, 3)
print(hashlib.sha256(corruptset.corrupt(image, "brightness-3+contrast-5", key="a").tobytes()).hexdigest())
"""


@pytest.fixture(scope="module")
def lacking(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a Python without all that Windows has not."""
    return {**os.environ, **without_unix.environment(tmp_path_factory.mktemp("lacking"))}


@pytest.fixture(scope="module")
def there(lacking: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[commands.Server]:
    """Runs ``corruptset ARGUMENTS`` there."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        for name, value in lacking.items():
            monkeypatch.setenv(name, value)
        server = commands.Server(tmp_path_factory.mktemp("there"))
    yield server
    server.stop()


@pytest.fixture(scope="module")
def given(shared: layouts.Shared, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a data set, predictions, scores and a photograph."""
    folder = tmp_path_factory.mktemp("given")
    data = corruptset.open(shared.build(sets=["clean", "contrast/*"], format="both"))
    (folder / "data").symlink_to(data.path)
    for seed in (0, 1):
        for name, outcome in made_up(data, seed).outcomes.items():
            file = folder / f"p{seed}" / f"{name}.npz"
            file.parent.mkdir(parents=True, exist_ok=True)
            np.savez(file, rank_true=outcome.rank, p_true=0.4 * outcome.probability)
        (folder / f"p{seed}" / "predictions.json").write_text(
            json.dumps({"model": f"m{seed}", "digest": data.digest}), encoding="utf-8"
        )
        (folder / f"s{seed}").mkdir()
        write_scores(corruptset.score(data, folder / f"p{seed}"), folder / f"s{seed}")
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (48, 40, 3), dtype=np.uint8)).save(folder / "photo.png")
    return folder


COMMANDS: list[list[str]] = [
    ["--version"],
    ["list"],
    ["show", "fog"],
    ["corrupt", "{given}/photo.png", "contrast", "--severity", "2", "--out", "out.png"],
    ["preview", "{given}/photo.png", "--out", "sheet.png", "--sets", "contrast/*"],
    ["verify", "{given}/data", "--json"],
    ["score", "{given}/data", "{given}/p0", "--out", "scores", "--json"],
    ["compare", "{given}/s0", "{given}/s1", "--out", "compared"],
    ["report", "{given}/data", "{given}/s0", "{given}/s1", "--out", "report.html"],
    ["export", "imagenet-c", "{given}/data", "--out", "views", "--any-shape", "--sets", "*/*"],
]


def test_what_reads_does_the_same(run: Any, there: commands.Server, given: Path, tmp_path: Path) -> None:
    for number, command in enumerate(COMMANDS):
        written = []
        for place, call in ((f"here {number}", run), (f"there {number}", there.call)):
            (tmp_path / place).mkdir()
            done = call(*(word.format(given=given) for word in command), cwd=tmp_path / place)
            assert done.code == 0, done.err
            written.append((done.out, layouts.files_of(tmp_path / place)))
        assert written[0] == written[1], command


def test_a_plan_is_made(there: commands.Server) -> None:
    done = there.call("plan", *BUILD[1:-2], "--json")
    assert done.code == 0, done.err
    assert len(done.json["sets"]) == 1


def test_what_writes_data_sets_says_what_it_needs(there: commands.Server, given: Path, tmp_path: Path) -> None:
    for command in (BUILD, ["page", given / "data"], ["pack", given / "data", "--out", "packed"]):
        done = there.call(*command, cwd=tmp_path)
        assert (done.code, done.out) == (2, ""), done
        message = done.err.strip().splitlines()[-1]
        assert NEEDS in message
        assert "WSL" in message
    assert not layouts.files_of(tmp_path)


def test_python_reads_the_same(lacking: dict[str, str], given: Path) -> None:
    lines = []
    for environment in (None, lacking):
        done = subprocess.run(
            [sys.executable, "-c", READ, given / "data"], env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        lines.append(done.stdout.splitlines())
    assert lines[0] == lines[1]
    assert len(lines[0]) == 2 * 6 + 1


def test_the_names_are_hidden(lacking: dict[str, str]) -> None:
    """Else the tests above would prove nothing."""
    names = json.loads(lacking["CORRUPTSET_LACKS"])
    assert {"fork", "getuid", "pread", "O_DIRECT", "O_NOFOLLOW", "register_at_fork", "sched_getaffinity"} <= set(
        names["os"]
    )
    assert {"SIGALRM", "SIGHUP", "pthread_sigmask", "setitimer"} <= set(names["signal"])
    for code in (
        "import os; os.fork",
        "from os import fork",
        "import fcntl",
        "import signal; signal.SIGHUP",
        f"open({os.devnull!r})",
    ):
        run = f"exec({code!r}, {{'__package__': 'corruptset.x', '__name__': 'corruptset.x'}})"
        done = subprocess.run([sys.executable, "-c", run], env=lacking, capture_output=True, text=True)
        last = done.stderr.strip().splitlines()[-1]
        assert last.startswith(("AttributeError", "ImportError", "ModuleNotFoundError", "EncodingWarning")), (
            code,
            last,
        )


def test_no_set_has_a_name_that_windows_keeps_for_itself() -> None:
    kept = {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))}
    for recipe in recipe_names():
        for one in load_recipe(recipe).resolve().sets:
            assert kept.isdisjoint(one.id.split("/")), one.id
