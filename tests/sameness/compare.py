"""The same digest everywhere: build the golden recipe under other processors, libraries, workers and Pythons, and
compare.

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
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from environments import HERE, ROOT, CannotRun, Emulated, Environments, in_force
from processes import written_by_workers

# what a caller may have set, so that every row starts from nothing
SWITCHES = ("PYTHON", "NUMBA_", "OPENCV_", "OPENBLAS_", "NPY_", "CORRUPTSET_")
Shown = dict[str, str]
# each row ends with what `python -m tests.golden` prints, if that was asked for
GOLDEN = "golden"
EVERYTHING = ("machine", "libraries", "numba", "kernels", "opencv", "ipp", "numpy", "blas")


@dataclass(frozen=True)
class Row:
    """One way to build: the Python and the libraries, what is set in the environment, how many workers."""

    name: str
    shows: tuple[str, ...] = EVERYTHING
    """The lines of `in_force` that are printed; the first must differ from what it is without this row."""
    switch: Callable[[Shown], dict[str, str]] | None = None
    """What to set in the environment, given what is in force without it."""
    python: str | None = None
    """``3.12``; None is the Python that runs this."""
    lock: str = "newest"
    jobs: int = 1
    emulated: bool = False


def _set(**variables: str) -> Callable[[Shown], dict[str, str]]:
    return lambda plain: variables


def _opencv_baseline(plain: Shown) -> dict[str, str]:
    # what OpenCV chooses at run time; of names that it was not built with it only warns
    return {"OPENCV_CPU_DISABLE": ",".join(word[1:] for word in plain["opencv"].split() if word.startswith("*"))}


def _numpy_baseline(plain: Shown) -> dict[str, str]:
    # numpy does not start where a name is not among those that it can switch off
    return {"NPY_DISABLE_CPU_FEATURES": "" if plain["numpy"] == "baseline alone" else plain["numpy"]}


AS_IT_IS = Row("as it is")
ROWS = (
    AS_IT_IS,
    Row("two workers", ("workers",), jobs=2),
    # an empty list of features keeps numba from adding this processor's own to those of the one that is named
    Row("generic", ("numba", "kernels"), _set(NUMBA_CPU_NAME="generic", NUMBA_CPU_FEATURES="")),
    Row("haswell", ("numba", "kernels"), _set(NUMBA_CPU_NAME="haswell", NUMBA_CPU_FEATURES="")),
    Row("opencv baseline", ("opencv",), _opencv_baseline),
    Row("opencv without ipp", ("ipp",), _set(OPENCV_IPP="disabled")),
    Row("numpy baseline", ("numpy",), _numpy_baseline),
    Row("blas prescott", ("blas",), _set(OPENBLAS_CORETYPE="Prescott")),
    Row("blas haswell", ("blas",), _set(OPENBLAS_CORETYPE="Haswell")),
    Row("oldest", ("libraries", "kernels"), lock="oldest"),
    Row("python 3.12", ("machine", "libraries", "kernels"), python="3.12"),
    Row("python 3.13", ("machine", "libraries", "kernels"), python="3.13"),
    Row("aarch64 emulated", EVERYTHING, emulated=True),
    # an emulator hides its processor from numba, so the row above has no vectors of variable length
    Row("aarch64 sve", ("numba", "kernels"), _set(NUMBA_CPU_NAME="neoverse-v1", NUMBA_CPU_FEATURES=""), emulated=True),
)


class NoEffect(Exception):
    """What is in force under a row, which is what is in force without it."""


@dataclass
class Comparison:
    """Builds rows, each in an environment that is first seen to be what the row's name promises."""

    environments: Environments
    golden: bool = False
    """Whether the recorded golden digests are compared as well."""
    _plain: dict[tuple[str, ...], Shown] = field(default_factory=dict)

    def build(self, row: Row) -> tuple[str, Shown]:
        """Return the digest of the golden recipe as a row builds it, and what was in force.

        Raises
        ------
        CannotRun, NoEffect
        """
        python, environment = self._start(row)
        changed = row.shows[0]
        if row.switch is not None:
            environment |= row.switch(self._without(row))
        if row is not AS_IT_IS and row.jobs == 1:
            # a switch is compared with the same Python without it, another Python or release with this one
            without, now = self._without(row if row.switch is not None else AS_IT_IS), in_force(python, environment)
            if now[changed] == without[changed]:
                raise NoEffect(f"{changed}: {now[changed]}")
        with tempfile.TemporaryDirectory() as out:
            # kernels, tables and textures are made anew by every row, for what it changes also makes them
            cache = Path(out, "cache")
            environment["CORRUPTSET_CACHE"] = str(cache)
            command = [
                *python,
                "-c",
                "from corruptset.cli import main; main()",
                "build",
                str(HERE / "golden.toml"),
                "--out",
                out,
                "--json",
            ]
            done, written = written_by_workers([*command, "--jobs", str(row.jobs), "--metrics", "0"], environment)
            if done.returncode != 0:
                raise CannotRun(f"the build failed: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
            manifest = Path(json.loads(done.stdout)["directory"], "manifest.json")
            digest = json.loads(manifest.read_text(encoding="utf-8"))["digest"]
            shown = in_force(python, environment, cache / "kernels")
            if self.golden:
                done = subprocess.run(
                    [*python, str(ROOT / "tests/golden")], env=environment, capture_output=True, text=True
                )
                shown[GOLDEN] = (
                    done.stdout.strip() if done.returncode == 0 else f"WRONG\n{done.stdout}{done.stderr}".strip()
                )
        # one pool compiles, another builds, and each may be seen
        shown["workers"] = (
            f"{len(written)} processes, which wrote {', '.join(f'{size / 1e6:.1f} MB' for size in written)}"
        )
        if row.jobs > 1 and len(written) < row.jobs:
            raise NoEffect(f"workers: {shown['workers']}")
        return digest, shown

    def _start(self, row: Row) -> tuple[list[str], dict[str, str]]:
        python, needed = self.environments.get(row.lock, row.python, emulated=row.emulated)
        return python, {k: v for k, v in os.environ.items() if not k.startswith(SWITCHES)} | needed

    def _without(self, row: Row) -> Shown:
        """Return what is in force in a row's Python while nothing is switched."""
        python, environment = self._start(row)
        if tuple(python) not in self._plain:
            self._plain[tuple(python)] = in_force(python, environment)
        return self._plain[tuple(python)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="NAMES", help=f"some of: {', '.join(r.name for r in ROWS)}")
    parser.add_argument("--environments", type=Path, default=Path.home() / ".cache" / "corruptset-sameness")
    parser.add_argument(
        "--python",
        action="append",
        default=[],
        metavar="PATH",
        help="an interpreter for rows of its version (repeatable)",
    )
    parser.add_argument(
        "--emulated", type=Path, metavar="ROOT", help="an arm64 system with python3, for the row 'aarch64 emulated'"
    )
    parser.add_argument("--golden", action="store_true", help="compare the recorded golden digests in every row, too")
    arguments = parser.parse_args()
    wanted = [n.strip() for n in arguments.only.split(",")] if arguments.only else [r.name for r in ROWS]
    unknown = set(wanted) - {r.name for r in ROWS}
    if unknown:
        parser.error(f"no such row: {', '.join(sorted(unknown))}")
    arguments.environments.mkdir(parents=True, exist_ok=True)
    root = Emulated(arguments.emulated.resolve()) if arguments.emulated else None
    comparison = Comparison(
        Environments(arguments.environments.resolve(), tuple(arguments.python), root), arguments.golden
    )
    digests: list[str] = []
    missing = without = wrong = 0
    for row in (r for r in ROWS if r.name in wanted):
        started = time.monotonic()
        try:
            digest, shown = comparison.build(row)
        except CannotRun as e:
            missing += 1
            print(f"{row.name:19} not run: {e}", flush=True)
            continue
        except NoEffect as e:
            without += 1
            print(f"{row.name:19} shows nothing here, this machine is so without it: {e}", flush=True)
            continue
        digests.append(digest)
        print(f"{row.name:19} {digest} {time.monotonic() - started:5.0f} s", flush=True)
        wrong += shown.get(GOLDEN, "").startswith("WRONG")
        for name in (*row.shows, GOLDEN):
            if name in shown:
                print(f"{'':19} {name}: {shown[name]}", flush=True)
    count = len(set(digests))
    print(f"{len(digests)} rows, {count} digest{'s' * (count != 1)}; {missing} not run; {without} without effect")
    return int(count != 1 or wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
