"""The same digest everywhere: build the golden recipe under other processors, libraries and Pythons, and compare.

``python tests/sameness/compare.py`` runs every row that this machine can run and prints, for each, the digest and,
below it, what was really in force, as the libraries say themselves in that environment (`in_force`). ``--only
generic,oldest`` runs some. Environments are made under ``--environments`` (kept for the next time). Rows that could not
be run are listed with the reason, and a row that changes nothing on this machine says so and counts for nothing. With
``--golden`` each row must also give the recorded golden digests, of every corruption with every calibration. Exits 1
where two digests differ, or a golden one.

Rows that need another release of Python or of the libraries get a virtual environment of their own: ``oldest.txt`` pins
the oldest allowed releases, ``newest.txt`` the newest that the tests have seen. ``aarch64 emulated`` needs ``--emulated
ROOT``: an unpacked Debian from which qemu runs python3, with wheels for aarch64 of the releases in ``newest.txt``
unpacked beside it. Make it as root, in half a minute; a row takes ten to seventeen::

    apt-get install qemu-user-static debootstrap
    debootstrap --arch=arm64 --foreign --variant=minbase --include=python3,libgomp1 bookworm arm64
    for deb in arm64/var/cache/apt/archives/*.deb; do
        dpkg-deb --fsys-tarfile "$deb" | tar -x --keep-directory-symlink -C arm64
    done
    python tests/sameness/compare.py --emulated arm64 --golden --only "as it is,aarch64 emulated,aarch64 sve"
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import checkout  # noqa: E402
from checkout import ROOT  # noqa: E402

# variables that a user may have set, so that all rows start without them
SWITCHES = ("PYTHON", "NUMBA_", "OPENCV_", "OPENBLAS_", "NPY_", "CORRUPTSET_")
Shown = dict[str, str]
# each row ends with the output of `python -m tests.golden`, if requested
GOLDEN = "golden"
EVERYTHING = ("machine", "libraries", "numba", "kernels", "opencv", "ipp", "numpy", "blas")
# tags of wheels for Linux on aarch64, newest C library first
PLATFORMS = ("manylinux_2_28", "manylinux_2_27", "manylinux_2_26", "manylinux_2_24", "manylinux_2_17", "manylinux2014")


class CannotRun(Exception):
    """A row cannot be run on this machine."""


class NoEffect(Exception):
    """A row has no effect: the libraries report the same with and without it."""


@dataclass(frozen=True)
class Row:
    """A way to build, which consists of the Python, the libraries and the environment variables."""

    name: str
    shows: tuple[str, ...] = EVERYTHING
    """Names of the lines of `in_force` that are printed. The first must change."""
    switch: Callable[[Shown], dict[str, str]] | None = None
    """Function of the reports without the row that returns its environment variables."""
    python: str | None = None
    """Version of Python such as ``3.12``, or None for the running Python."""
    lock: str = "newest"
    emulated: bool = False


def _set(**variables: str) -> Callable[[Shown], dict[str, str]]:
    return lambda plain: variables


def _opencv_baseline(baseline: Shown) -> dict[str, str]:
    # OpenCV chooses these at run time, and only warns of unknown names
    return {"OPENCV_CPU_DISABLE": ",".join(word[1:] for word in baseline["opencv"].split() if word.startswith("*"))}


def _numpy_baseline(baseline: Shown) -> dict[str, str]:
    # numpy does not start if a name is not one of its switches
    return {"NPY_DISABLE_CPU_FEATURES": baseline["numpy"].replace("baseline alone", "")}


def _numba(name: str) -> Callable[[Shown], dict[str, str]]:
    # an empty list of features prevents numba from adding those of this processor
    return _set(NUMBA_CPU_NAME=name, NUMBA_CPU_FEATURES="")


AS_IT_IS = Row("as it is")
NUMBA, INTERPRETER = ("numba", "kernels"), ("machine", "libraries", "kernels")
ROWS = (
    AS_IT_IS,
    Row("generic", NUMBA, _numba("generic")),
    Row("haswell", NUMBA, _numba("haswell")),
    Row("opencv baseline", ("opencv",), _opencv_baseline),
    Row("opencv without ipp", ("ipp",), _set(OPENCV_IPP="disabled")),
    Row("numpy baseline", ("numpy",), _numpy_baseline),
    Row("blas prescott", ("blas",), _set(OPENBLAS_CORETYPE="Prescott")),
    Row("blas haswell", ("blas",), _set(OPENBLAS_CORETYPE="Haswell")),
    Row("oldest", ("libraries", "kernels"), lock="oldest"),
    Row("python 3.12", INTERPRETER, python="3.12"),
    Row("python 3.13", INTERPRETER, python="3.13"),
    Row("aarch64 emulated", emulated=True),
    # an emulator hides its processor from numba, so the row above has no vectors of variable length
    Row("aarch64 sve", NUMBA, _numba("neoverse-v1"), emulated=True),
)


def run(command: list[str], failure: str, environment: dict[str, str] | None = None) -> str:
    """Return the output of a command, or raise `CannotRun` with the last line of its error."""
    try:
        result = subprocess.run(command, env=environment, capture_output=True, text=True)
    except OSError as e:
        raise CannotRun(f"{failure}: {e}") from None
    if result.returncode != 0:
        raise CannotRun(f"{failure}: {(result.stderr.strip().splitlines() or ['no message'])[-1]}")
    return result.stdout


def interpreter(version: str | None, arguments: tuple[str, ...] = ()) -> str:
    """Return a working Python of a version: the running one, a given one, one on PATH, or one of pyenv."""
    if version is None:
        return sys.executable
    installed = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob(f"versions/*/bin/python{version}")
    message = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"
    for candidate in (sys.executable, *arguments, f"python{version}", *map(str, installed)):
        with contextlib.suppress(CannotRun):  # a shim of pyenv fails if no version is set
            if run([candidate, "-c", message], "").strip() == version:
                return candidate
    raise CannotRun(f"no working python{version} was found: --python PATH names one")


@dataclass(eq=False)
class Environments:
    """The Pythons of rows with this checkout, which are created in a folder when they are needed."""

    folder: Path
    pythons: tuple[str, ...] = ()
    """Interpreters that are preferred to those on PATH."""
    root: Path | None = None
    """A folder with an unpacked system of aarch64."""

    @functools.cache  # noqa: B019
    def get(self, lock: str, version: str | None, emulated: bool = False) -> tuple[list[str], dict[str, str]]:
        """Return the command of a Python with the releases of a lock file, and its environment variables."""
        if emulated:
            return self._unpacked(lock)
        home = self.folder / f"{lock}-{version or 'here'}"
        own = str(home / "bin" / "python")
        if not Path(own).exists():
            run([interpreter(version, self.pythons), "-m", "venv", str(home)], "no virtual environment")
        pip = [own, "-m", "pip", "install", "-q", "--disable-pip-version-check", "-c", str(HERE / f"{lock}.txt")]
        with tempfile.TemporaryDirectory() as copy:
            checkout.copy_checkout(Path(copy))
            # dependencies first, then this checkout in place of an earlier one
            for step in ([f"{copy}[build]"], ["--force-reinstall", "--no-deps", copy]):
                run([*pip, *step], f"{lock}.txt cannot be installed")
        return [own], {}

    def _unpacked(self, lock: str) -> tuple[list[str], dict[str, str]]:
        """Unpack wheels for aarch64 into a folder, because emulated Pythons have no virtual environments."""
        emulator = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64")
        if self.root is None or emulator is None:
            raise CannotRun("it takes --emulated ROOT, made as this file's head says, and qemu-aarch64-static")
        python = [emulator, "-L", str(self.root), str((self.root / "usr/bin/python3").resolve())]
        version = run([*python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], "its python fails").strip()
        pinned = HERE / f"{lock}.txt"
        locked = hashlib.sha256(pinned.read_bytes() + (ROOT / "pyproject.toml").read_bytes()).hexdigest()[:12]
        site = self.folder / f"{lock}-aarch64-{version}-{locked}"
        # the pip of any Python can unpack wheels for other machines
        pip = [*self.get(lock, None)[0], "-m", "pip", "--disable-pip-version-check"]
        wheels = ["--only-binary=:all:", "--implementation", "cp", "--python-version", version]
        wheels += [f"--platform={name}_aarch64" for name in PLATFORMS]
        with tempfile.TemporaryDirectory() as temporary:
            copy, half = Path(temporary, "copy"), Path(temporary, "site")
            checkout.copy_checkout(copy)
            run([*pip, "wheel", "-q", "--no-deps", "-w", temporary, str(copy)], "no wheel of this checkout")
            (wheel,) = map(str, Path(temporary).glob("*.whl"))
            install = [*pip, "install", "-q", "--target"]
            if not site.exists():
                run(
                    [*install, str(half), *wheels, "-c", str(pinned), f"{wheel}[build]"],
                    f"{pinned.name} cannot be unpacked",
                )
                shutil.move(half, site)
            run([*install, str(site), "--upgrade", "--no-deps", wheel], "this checkout cannot be unpacked")
        return python, {"PYTHONPATH": str(site)}


@dataclass(eq=False)
class Comparison:
    """Build rows, each in an environment in which the effect of the row was confirmed."""

    environments: Any
    golden: bool = False
    """Whether to compare the recorded golden digests as well."""

    def build(self, row: Row) -> tuple[str, Shown]:
        """Return the digest of the golden recipe as a row builds it, and what was in force.

        Raises
        ------
        CannotRun, NoEffect
        """
        python, environment = self._start(row)
        if row is not AS_IT_IS:
            # a switch is compared with the same Python without it, and another Python or release with this one
            without = self._without(row if row.switch else AS_IT_IS)
            environment |= row.switch(without) if row.switch else {}
            changed = row.shows[0]
            if in_force(python, environment)[changed] == without[changed]:
                raise NoEffect(f"{changed}: {without[changed]}")
        with tempfile.TemporaryDirectory() as out:
            # every row creates its own kernels and tables, because it may affect them
            environment["CORRUPTSET_CACHE"] = f"{out}/cache"
            start = [*python, "-c", "from corruptset.cli import main; main()", "build", str(HERE / "golden.toml")]
            output = run(
                [*start, "--out", out, *"--json --jobs 1 --metrics 0".split()], "the build failed", environment
            )
            shown = in_force(python, environment, f"{out}/cache/kernels")
            if self.golden:
                command = [*python, str(ROOT / "tests/golden")]
                test = subprocess.run(command, env=environment, capture_output=True, text=True)
                shown[GOLDEN] = (
                    f"{'WRONG ' * bool(test.returncode)}{test.stdout}{test.stderr * bool(test.returncode)}".strip()
                )
        return json.loads(output)["digest"], shown

    def _start(self, row: Row) -> tuple[list[str], dict[str, str]]:
        python, needed = self.environments.get(row.lock, row.python, row.emulated)
        return python, {k: v for k, v in os.environ.items() if not k.startswith(SWITCHES)} | needed

    @functools.cache  # noqa: B019
    def _without(self, row: Row) -> Shown:
        """Return the report of a row's Python without its environment variables."""
        return in_force(*self._start(row))


def in_force(python: list[str], environment: dict[str, str], *kernels: str) -> Shown:
    """Return the report of `in_force.py` for a Python and an environment."""
    output = run([*python, str(HERE / "in_force.py"), *kernels], "what is in force cannot be asked", environment)
    return json.loads(output.splitlines()[-1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = ", ".join(row.name for row in ROWS)
    parser.add_argument("--only", metavar="NAMES", default=names, help=f"some of: {names}")
    parser.add_argument("--environments", type=Path, default=Path.home() / ".cache" / "corruptset-sameness")
    parser.add_argument("--python", action="append", default=[], metavar="PATH", help="an interpreter (repeatable)")
    parser.add_argument("--emulated", type=Path, metavar="ROOT", help="an arm64 system with python3, for its rows")
    parser.add_argument("--golden", action="store_true", help="compare the recorded golden digests in every row, too")
    arguments = parser.parse_args()
    expected_values = [name.strip() for name in arguments.only.split(",")]
    if unknown := set(expected_values) - {row.name for row in ROWS}:
        parser.error(f"no such row: {', '.join(sorted(unknown))}")
    arguments.environments.mkdir(parents=True, exist_ok=True)
    root = arguments.emulated and arguments.emulated.resolve()
    environments = Environments(arguments.environments.resolve(), tuple(arguments.python), root)
    comparison = Comparison(environments, arguments.golden)
    digests, skipped, problems = set(), 0, 0
    for row in (row for row in ROWS if row.name in expected_values):
        started = time.monotonic()
        try:
            digest, shown = comparison.build(row)
        except (CannotRun, NoEffect) as e:
            skipped += 1
            reason = "not run" if isinstance(e, CannotRun) else "shows nothing here, this machine is so without it"
            print(f"{row.name:19} {reason}: {e}", flush=True)
            continue
        digests.add(digest)
        problems += shown.get(GOLDEN, "").startswith("WRONG")
        print(f"{row.name:19} {digest} {time.monotonic() - started:5.0f} s", flush=True)
        for name in (*row.shows, *[GOLDEN] * arguments.golden):
            print(f"{'':19} {name}: {shown[name]}", flush=True)
    print(f"{len(expected_values) - skipped} rows, digests: {len(digests)}; {skipped} not run, or without effect")
    return int(len(digests) != 1 or problems > 0)


if __name__ == "__main__":
    sys.exit(main())
