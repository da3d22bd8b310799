"""The same digest everywhere: build the golden recipe under other processors, libraries, workers and Pythons, and compare.

``python tests/sameness/compare.py`` runs every row that this machine can run and prints a digest for each; ``--only generic,oldest``
runs some. Environments are made under ``--environments`` (kept for the next time). Exits 1 where two digests differ, and says
which rows could not be run, and why.

Rows that need another release of Python or of the libraries get a virtual environment of their own: ``oldest.txt`` pins the oldest
allowed releases, ``newest.txt`` the newest that the tests have seen.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SHOWN = ("numpy", "numba", "opencv-python-headless", "pillow")
NUMPY_FEATURES = "AVX2 FMA3 AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR"


@dataclass(frozen=True)
class Row:
    """One way to build: the Python and the libraries, what is set in the environment, how many workers."""

    name: str
    python: str | None = None
    """``3.12``; None is the Python that runs this."""
    lock: str | None = "newest"
    environment: dict[str, str] = field(default_factory=dict)
    jobs: int = 1
    own_cache: bool = False
    """Kernels, tables and textures made anew, because the environment changes what compiles them."""


ROWS = (
    Row("as it is"),
    Row("two workers", jobs=2),
    Row("generic", environment={"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}, own_cache=True),
    Row("haswell", environment={"NUMBA_CPU_NAME": "haswell"}, own_cache=True),
    Row("opencv without avx", environment={"OPENCV_CPU_DISABLE": "AVX2,AVX512_SKX,AVX512-SKX,FP16,FMA3"}),
    Row("opencv without ipp", environment={"OPENCV_IPP": "disabled"}),
    Row("numpy without simd", environment={"NPY_DISABLE_CPU_FEATURES": NUMPY_FEATURES}, own_cache=True),
    Row("blas prescott", environment={"OPENBLAS_CORETYPE": "Prescott"}, own_cache=True),
    Row("blas haswell", environment={"OPENBLAS_CORETYPE": "Haswell"}, own_cache=True),
    Row("oldest", lock="oldest", own_cache=True),
    Row("python 3.12", python="3.12", own_cache=True),
    Row("python 3.13", python="3.13", own_cache=True),
)


class CannotRun(Exception):
    """Why a row cannot be run here."""


def interpreter(version: str | None) -> str:
    """Return a Python of a version."""
    if version is None or version == f"{sys.version_info.major}.{sys.version_info.minor}":
        return sys.executable
    found = shutil.which(f"python{version}")
    if found is None or subprocess.run([found, "-c", "import venv"], capture_output=True).returncode != 0:
        raise CannotRun(f"there is no working python{version} here")
    return found


def copy_checkout(target: Path) -> None:
    """Copy what git would commit: setuptools leaves a build folder behind in the tree, and reuses a stale one."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, target / name)


def environment_of(row: Row, folder: Path) -> Path:
    """Return the Python of a row's virtual environment, made where it is missing, with this checkout installed as it is now."""
    python = interpreter(row.python)
    home = folder / f"{row.lock}-{row.python or 'here'}"
    own = home / "bin" / "python"
    if not own.exists():
        subprocess.run([python, "-m", "venv", str(home)], check=True)
    pip = [str(own), "-m", "pip", "install", "-q", "--disable-pip-version-check", "-c", str(HERE / f"{row.lock}.txt")]
    with tempfile.TemporaryDirectory() as copy:
        copy_checkout(Path(copy))
        # first what it needs, then this checkout over whatever was installed of it the last time
        for step in ([copy], ["--force-reinstall", "--no-deps", copy]):
            done = subprocess.run([*pip, *step], capture_output=True, text=True)
            if done.returncode != 0:
                raise CannotRun(f"{row.lock}.txt cannot be installed: {(done.stderr.strip().splitlines() or ['pip failed'])[-1]}")
    return own


def features_known(python: Path) -> str:
    """Return those of NUMPY_FEATURES that this numpy can switch off here; it refuses names that it does not know."""
    code = (
        "from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__\n"
        "print(' '.join(f for f in __cpu_dispatch__ if __cpu_features__.get(f)))"
    )
    return subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def digest_of(row: Row, folder: Path) -> tuple[str, dict[str, str]]:
    """Build the golden recipe as a row says; return the build's digest and the versions of the libraries."""
    python = environment_of(row, folder)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")} | row.environment
    if "NPY_DISABLE_CPU_FEATURES" in row.environment:
        environment["NPY_DISABLE_CPU_FEATURES"] = features_known(python)
    with tempfile.TemporaryDirectory() as out:
        environment["CORRUPTSET_CACHE"] = f"{out}/cache" if row.own_cache else str(folder / "cache")
        command = [str(python.with_name("corruptset")), "build", str(HERE / "golden.toml"), "--out", out, "--jobs", str(row.jobs), "--json"]
        done = subprocess.run([*command, "--metrics", "0"], env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            raise CannotRun(f"the build failed: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
        directory = Path(json.loads(done.stdout)["directory"])
        manifest = json.loads((directory / "manifest.json").read_text(encoding="utf-8"))
    return manifest["digest"], manifest["environment"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="NAMES", help=f"some of: {', '.join(r.name for r in ROWS)}")
    parser.add_argument("--environments", type=Path, default=Path.home() / ".cache" / "corruptset-sameness")
    arguments = parser.parse_args()
    wanted = [n.strip() for n in arguments.only.split(",")] if arguments.only else [r.name for r in ROWS]
    unknown = set(wanted) - {r.name for r in ROWS}
    if unknown:
        parser.error(f"no such row: {', '.join(sorted(unknown))}")
    arguments.environments.mkdir(parents=True, exist_ok=True)
    digests: dict[str, str] = {}
    missing: dict[str, str] = {}
    for row in (r for r in ROWS if r.name in wanted):
        started = time.monotonic()
        try:
            digest, versions = digest_of(row, arguments.environments)
        except CannotRun as e:
            missing[row.name] = str(e)
            print(f"{row.name:20} not run: {e}", flush=True)
            continue
        digests[row.name] = digest
        libraries = " ".join(
            f"{k} {v}" for k, v in versions.items() if k in ("python", "numpy", "numba", "opencv-python-headless", "pillow")
        )
        print(f"{row.name:20} {digest} {time.monotonic() - started:5.0f} s  {libraries}", flush=True)
    different = len(set(digests.values())) > 1
    print(f"{len(digests)} rows, {len(set(digests.values()))} digest{'s' * (len(set(digests.values())) != 1)}; {len(missing)} not run")
    return int(different or not digests)


if __name__ == "__main__":
    sys.exit(main())
