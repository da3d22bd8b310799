"""Functions that the benchmarks share: options, child processes, medians, memory and tables."""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table


def options(doc: str | None, *, repeats: int | None = None) -> argparse.ArgumentParser:
    """Return a parser with the option ``--json``, and with ``--repeats`` if its default, `repeats`, is given."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="also write the results to this file")
    if repeats is not None:
        parser.add_argument("--repeats", type=int, default=repeats)
    return parser


def save(path: Path | None, figures: Mapping[str, Any] | Sequence[Any]) -> None:
    """Write results as JSON to the file that was given with ``--json``, if any."""
    if path is not None:
        path.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


def median_seconds(call: Callable[[], object], repeats: int) -> float:
    """Return the median duration of `repeats` calls in seconds, after one call that is not counted."""
    spent = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        call()
        spent.append(time.perf_counter() - start)
    return statistics.median(spent[1:])


def memory() -> int:
    """Return the peak memory of this process in bytes."""
    if sys.platform != "linux":
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    # On Linux, getrusage would include the memory of the parent process at the time of the fork.
    return int(Path("/proc/self/status").read_text(encoding="ascii").split("VmHWM:")[1].split()[0]) * 1024


def processor_seconds() -> float:
    """Return the processor time, in seconds, of this process and of child processes that have exited."""
    used = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(u.ru_utime + u.ru_stime for u in used)


def child(module: str, task: Mapping[str, Any]) -> dict[str, Any]:
    """Run a module of the benchmarks in a separate process, and return its output, parsed as JSON."""
    command = [sys.executable, "-m", f"benchmarks.{module}", json.dumps(task)]
    # Python may store bytecode, because an installed package has bytecode too.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    figures: dict[str, Any] = json.loads(process.stdout.splitlines()[-1])
    return figures


def show(title: str, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table. The first column is left-aligned, and the others are right-aligned."""
    table = Table(title=title, title_justify="left")
    for number, heading in enumerate(headings):
        table.add_column(heading, justify="right" if number else "left")
    for row in rows:
        table.add_row(*row)
    Console(width=150).print(table)
