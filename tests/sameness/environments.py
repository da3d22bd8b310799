"""The Pythons that the rows of `compare` need: found, given a virtual environment, and this checkout installed into it.

A Python under emulation has no virtual environment: wheels for its processor are unpacked into a folder that it is told
to import from.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import checkout  # noqa: E402
from checkout import ROOT  # noqa: E402

# what wheels of Linux on aarch64 are named after, newest C library first
_PLATFORMS = ("manylinux_2_28", "manylinux_2_27", "manylinux_2_26", "manylinux_2_24", "manylinux_2_17", "manylinux2014")


class CannotRun(Exception):
    """Why a row cannot be run here."""


@dataclass(frozen=True)
class Emulated:
    """A Python of another processor: an unpacked system, the emulator that runs its programs, and what its Python says
    of itself.
    """

    root: Path

    @cached_property
    def command(self) -> tuple[str, ...]:
        python = self.root / "usr" / "bin" / "python3"
        emulator = next(filter(None, map(shutil.which, ("qemu-aarch64-static", "qemu-aarch64"))), None)
        if emulator is None:
            raise CannotRun("there is no qemu-aarch64-static (Debian's package qemu-user-static)")
        if not python.exists():
            raise CannotRun(f"there is no {python}")
        return (emulator, "-L", str(self.root), str(python.resolve()))

    @cached_property
    def version(self) -> str:
        code = "import sys, platform; print(platform.machine(), '%d.%d' % sys.version_info[:2])"
        done = subprocess.run([*self.command, "-c", code], capture_output=True, text=True)
        machine, _, version = done.stdout.strip().partition(" ")
        if done.returncode != 0 or machine != "aarch64":
            raise CannotRun(
                f"its python does not run: {(done.stderr.strip().splitlines() or [machine or 'no message'])[-1]}"
            )
        return version


@dataclass
class Environments:
    """Environments, made where they are missing, under a folder."""

    folder: Path
    pythons: tuple[str, ...] = ()
    """Interpreters to look at before those that are found on PATH."""
    emulated: Emulated | None = None
    _ready: dict[str, tuple[list[str], dict[str, str]]] = field(default_factory=dict)

    def get(self, lock: str, version: str | None, *, emulated: bool = False) -> tuple[list[str], dict[str, str]]:
        """Return how to start the Python with this checkout and the releases of a lock file, and what its environment
        needs.

        Parameters
        ----------
        lock : str
            ``newest`` or ``oldest``.
        version : str or None
            As ``3.12``; None is the Python that runs this.
        emulated : bool
            Under emulation, with the root's own Python.

        Raises
        ------
        CannotRun
        """
        name = f"{lock}-emulated" if emulated else f"{lock}-{version or 'here'}"
        if name not in self._ready:
            self._ready[name] = self._unpacked(lock) if emulated else ([str(self._virtual(name, lock, version))], {})
        return self._ready[name]

    def _virtual(self, name: str, lock: str, version: str | None) -> Path:
        home = self.folder / name
        own = home / "bin" / "python"
        if not own.exists():
            _run([interpreter(version, self.pythons), "-m", "venv", str(home)], "no virtual environment")
        pip = [str(own), "-m", "pip", "install", "-q", "--disable-pip-version-check", "-c", str(HERE / f"{lock}.txt")]
        with tempfile.TemporaryDirectory() as copy:
            checkout.copy(Path(copy))
            # first what it needs, then this checkout over whatever was installed of it the last time
            for step in ([copy], ["--force-reinstall", "--no-deps", copy]):
                _run([*pip, *step], f"{lock}.txt cannot be installed")
        return own

    def _unpacked(self, lock: str) -> tuple[list[str], dict[str, str]]:
        if self.emulated is None:
            raise CannotRun("no root was given: --emulated ROOT, made as docs/reliability.md says")
        version = self.emulated.version
        locked = hashlib.sha256(
            (HERE / f"{lock}.txt").read_bytes() + (ROOT / "pyproject.toml").read_bytes()
        ).hexdigest()[:12]
        site = self.folder / f"{lock}-aarch64-{version}-{locked}"
        # any Python's pip can unpack wheels for another machine
        pip = [*self.get(lock, None)[0], "-m", "pip", "--disable-pip-version-check"]
        wheels = ["--only-binary=:all:", "--implementation", "cp", "--python-version", version]
        wheels += [word for name in _PLATFORMS for word in ("--platform", f"{name}_aarch64")]
        with tempfile.TemporaryDirectory() as temporary:
            copy, made = Path(temporary, "copy"), Path(temporary, "made")
            checkout.copy(copy)
            _run([*pip, "wheel", "-q", "--no-deps", "-w", str(made), str(copy)], "no wheel of this checkout")
            (wheel,) = made.glob("*.whl")
            if not site.exists():
                half = Path(temporary, "site")
                arguments = [
                    "install",
                    "-q",
                    "--target",
                    str(half),
                    *wheels,
                    "-c",
                    str(HERE / f"{lock}.txt"),
                    str(wheel),
                ]
                _run([*pip, *arguments], f"{lock}.txt cannot be unpacked for aarch64")
                shutil.move(half, site)
            _run(
                [*pip, "install", "-q", "--target", str(site), "--upgrade", "--no-deps", str(wheel)],
                "this checkout cannot be unpacked",
            )
        return list(self.emulated.command), {"PYTHONPATH": str(site)}


def interpreter(version: str | None, given: tuple[str, ...] = ()) -> str:
    """Return a Python of a version that works: this one, one of those given, one on PATH, or one that pyenv keeps off
    it.
    """
    if version is None or version == f"{sys.version_info.major}.{sys.version_info.minor}":
        return sys.executable
    candidates = [*given]
    # a shim of pyenv stands first on PATH and fails where no version is set, while another python may stand behind it
    candidates += [
        str(Path(place) / f"python{version}") for place in os.environ.get("PATH", "").split(os.pathsep) if place
    ]
    candidates += _of_pyenv(version)
    for candidate in candidates:
        if _says(candidate) == version:
            return candidate
    raise CannotRun(f"no working python{version} was found: --python PATH names one")


def _says(python: str) -> str | None:
    """Return the version of an interpreter that can make virtual environments, None for all else."""
    try:
        done = subprocess.run(
            [python, "-c", "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"],
            capture_output=True,
            text=True,
        )
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _of_pyenv(version: str) -> list[str]:
    if shutil.which("pyenv") is None:
        return []
    listed = subprocess.run(["pyenv", "whence", f"python{version}"], capture_output=True, text=True)
    prefixes = [
        subprocess.run(["pyenv", "prefix", name], capture_output=True, text=True)
        for name in reversed(listed.stdout.split())
    ]
    return [str(Path(p.stdout.strip(), "bin", f"python{version}")) for p in prefixes if p.returncode == 0]


def in_force(python: list[str], environment: dict[str, str], kernels: Path | None = None) -> dict[str, str]:
    """Return what `in_force.py` prints under a Python and an environment."""
    command = [*python, str(HERE / "in_force.py"), *([str(kernels)] if kernels else [])]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise CannotRun(f"what is in force cannot be asked: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
    shown: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return shown


def _run(command: list[str], failure: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise CannotRun(f"{failure}: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
