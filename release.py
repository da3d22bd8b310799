"""Everything that a maintainer uploads: packages for the index, and prebuilt archives of the benchmarks.

    python -m release packages
    python -m release archives SOURCES.toml --out OUT

The first writes sdist and wheel of the core and of every add-on into dist/, SHA256SUMS and CHANGES.md. The second
builds, verifies and packs the data sets of SOURCES.toml, and publishes them where that file says so. It has a table for
each recipe: `source` is what `corruptset build --source` takes; `images = false` publishes the records alone, for a
source whose licence forbids passing images on; `options` are further ones of `corruptset build`.

    # or a folder, s3://bucket/prefix; left out, archives are packed and stay here
    publish = "hf://datasets/USER"

    [imagenet-c]
    source = "imagenet:/data/ILSVRC2012"
    images = false

    [cifar10-c]
    source = "cifar10:/data/cifar-10-python.tar.gz"

Both commands go on where they stopped.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent
KEYS = {"source", "images", "options"}


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m release", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    packages_parser = commands.add_parser("packages", help="build and check what goes to the package index")
    packages_parser.add_argument("--out", type=Path, default=Path("dist"), help="receives the files (default: dist)")
    archives_parser = commands.add_parser("archives", help="build, verify, pack and publish data sets")
    archives_parser.add_argument("sources", type=Path, help="a TOML file that says where each recipe's source lies")
    archives_parser.add_argument("--out", type=Path, required=True, help="receives data sets and archives")
    archives_parser.add_argument("--jobs", type=int, help="processes of a build")
    given = parser.parse_args()
    if given.command == "packages":
        packages(given.out)
    else:
        archives(given.sources, given.out, given.jobs)


def packages(out: Path) -> None:
    """Build sdist and wheel of every package, checked by twine, with hashes and changes."""
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        tree = Path(scratch) / "tree"  # setuptools leaves a build folder behind, and reuses a stale one
        ignored = [line.strip("/") for line in (ROOT / ".gitignore").read_text("utf-8").split()]
        shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(".git", out.name, *ignored))
        for folder in (tree, *sorted((tree / "plugins").glob("corruptset-*"))):
            # by this environment's setuptools, which the extra `release` has: ten fresh ones take most of the time
            _run(sys.executable, "-m", "build", "--no-isolation", "--outdir", out, folder)
    files = sorted([*out.glob("*.whl"), *out.glob("*.tar.gz")])
    _run(sys.executable, "-m", "twine", "check", "--strict", *files)
    sums = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files]
    (out / "SHA256SUMS").write_text("".join(sums), encoding="utf-8")
    (out / "CHANGES.md").write_text(newest_changes((ROOT / "CHANGELOG.md").read_text("utf-8")), encoding="utf-8")
    print(f"{len(files)} files, SHA256SUMS and CHANGES.md in {out}")


def newest_changes(text: str) -> str:
    """Return the first section of the changelog, without its heading.

    Examples
    --------
    >>> newest_changes("# Changes\\n\\n## 1.1\\n\\n* new\\n\\n## 1.0\\n\\n* old\\n")
    '* new\\n'
    """
    sections = re.split(r"^## .*\n", text, flags=re.MULTILINE)
    if len(sections) < 2:
        raise SystemExit("CHANGELOG.md has no section: expected a line such as '## 1.0.0'.")
    return sections[1].strip() + "\n"


def archives(sources: Path, out: Path, jobs: int | None) -> None:
    """Build, verify, pack and publish the data set and the records of every recipe."""
    tables = read_sources(sources)
    place = tables.pop("publish", None)
    for recipe, table in tables.items():
        options = [*table.get("options", []), *([] if jobs is None else ["--jobs", str(jobs)])]
        _corruptset("build", recipe, "--source", table["source"], "--out", out / "sets", *options)
        (directory,) = (
            path for path in (out / "sets").iterdir() if re.fullmatch(re.escape(recipe) + r"-\d[\w.]*", path.name)
        )
        packed = {f"{directory.name}-records": ["--manifest-only"]}
        if table.get("images", True):
            packed[directory.name] = []
        missing = {name: how for name, how in packed.items() if not is_packed(directory, out / "packed" / name)}
        if missing:
            _corruptset("verify", directory)
        for name, how in missing.items():
            _corruptset("pack", directory, "--out", out / "packed" / name, *how)
        for name in packed if place is not None else ():
            _corruptset("publish", out / "packed" / name, "--to", f"{place.rstrip('/')}/{name}", "--go")


def is_packed(directory: Path, release: Path) -> bool:
    """Return whether a data set was packed to the end."""
    finished = (release / "SHA256SUMS").exists() and (release / "archives.json").exists()
    files = (directory / "manifest.json", release / "archives.json")
    return finished and len({json.loads(file.read_text("utf-8"))["digest"] for file in files}) == 1


def read_sources(file: Path) -> dict[str, Any]:
    """Return what SOURCES.toml says; end with every mistake in it."""
    try:
        tables = tomllib.loads(file.read_text("utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as e:
        raise SystemExit(
            f"{file} cannot be read: {e}. Expected TOML, a table for each recipe: python -m release --help"
        ) from None
    mistakes = []
    for name, table in tables.items():
        if name == "publish" and isinstance(table, str):
            continue
        if not isinstance(table, dict) or not isinstance(table.get("source"), str):
            mistakes.append(
                f'{name}: expected a table with a source, such as source = "cifar10:/data/cifar-10-python.tar.gz"'
            )
        elif unknown := table.keys() - KEYS:
            mistakes.append(f"{name}: unknown keys {', '.join(sorted(unknown))}; known are {', '.join(sorted(KEYS))}")
    if mistakes or tables.keys() <= {"publish"}:
        raise SystemExit("\n  ".join([f"{file} cannot be used:", *(mistakes or ["it names no recipe"])]))
    return tables


def _corruptset(*words: object) -> None:
    print("corruptset", *words, flush=True)
    done = subprocess.run([sys.executable, "-m", "corruptset", *map(str, words)])
    if done.returncode:
        raise SystemExit(done.returncode)  # the command has said why


def _run(*words: object) -> None:
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, words[:6]))} failed:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")


if __name__ == "__main__":
    main()
