"""Kill `pack`, `unpack`, `rebuild` and `verify --repair`, run the same command again, and compare with one that nobody
stopped.

    python tests/faults/killing_commands.py --moments 12        of each, counts printed

The harness of `killing` makes the processes. Half of the moments are at a time, drawn from the whole length of the
command; the others are just before a file takes its place (`os.replace`) or a work folder goes, for that is where what
is on the disk changes its meaning; the last two of these are always tried.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import killing
from children import Child, difference
from layouts import files_of

COMMANDS = ("pack", "unpack", "rebuild", "repair")


@dataclass
class Command:
    """A command, what it needs to begin, and where its result is."""

    arguments: list[str]
    result: Path
    begin: Callable[[], None]
    """Makes the place as it is before the command."""


class Harness:
    """Commands on one small build.

    Parameters
    ----------
    folder : Path
        Where everything goes.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        # children inherit what is imported here, and what the build imports
        import corruptset.cli.app
        import corruptset.generate.reproduction.rebuild
        import corruptset.generate.reproduction.verify
        import corruptset.manifests.release.pack
        import corruptset.manifests.release.unpack  # noqa: F401

        builds = killing.Harness(folder / "builds", each=1)
        builds.make("both", folder / "made", 1)
        (self.build,) = (folder / "made").iterdir()
        self.source = f"folder:{builds.source}"
        self.release = folder / "release"
        assert self.child(["pack", str(self.build), "--out", str(self.release), "--by", "set"]).wait() == 0
        self._number = 0

    def command(self, name: str) -> Command:
        """Return one of `COMMANDS`, to be run in a folder that it may fill."""
        out = self.folder / "out"

        def nothing() -> None:
            shutil.rmtree(out, ignore_errors=True)

        def damaged() -> None:
            nothing()
            shutil.copytree(self.build, out / self.build.name)
            images = sorted((out / self.build.name / "images").rglob("*.png"))
            for path in images[::3]:
                path.unlink()
            for path in images[1::3]:
                path.write_bytes(path.read_bytes()[:-7])
            for path in sorted((out / self.build.name / "hdf5").rglob("*.h5"))[::2]:
                path.write_bytes(b"")
            (out / self.build.name / "sets" / "contrast" / "1.jsonl").unlink()

        made = out / self.build.name
        archives = sorted(map(str, (self.release / "data").glob("*.tar")))
        return {
            "pack": Command(["pack", str(self.build), "--out", str(out), "--by", "set"], out, nothing),
            "unpack": Command(["unpack", *archives, "--out", str(out)], made, nothing),
            "rebuild": Command(
                ["rebuild", str(self.build), "--source", self.source, "--out", str(out), "--jobs", "1"], made, nothing
            ),
            "repair": Command(["verify", str(made), "--repair", "--source", self.source, "--jobs", "1"], made, damaged),
        }[name]

    def child(self, arguments: Sequence[str], *, at: int = 0, counted: Path | None = None) -> Child:
        """Run a command in a process of its own, which kills itself before the `at`-th file takes its place."""

        def work() -> int:
            from corruptset.cli import main

            done = 0

            def deadly(function: Callable[..., Any]) -> Callable[..., Any]:
                def called(*given: Any, **options: Any) -> Any:
                    nonlocal done
                    done += 1
                    if done == at:
                        os.kill(os.getpid(), signal.SIGKILL)
                    return function(*given, **options)

                return called

            os.replace, shutil.rmtree = deadly(os.replace), deadly(shutil.rmtree)  # type: ignore[assignment]
            sys.argv = ["corruptset", *arguments]
            try:
                main()
            except SystemExit as e:
                return int(e.code or 0)
            finally:
                if counted is not None:
                    counted.write_text(str(done))
            return 0

        return Child(work, self.folder / "said")

    def try_all(self, name: str, moments: int, seed: int) -> tuple[int, int, list[str]]:
        """Kill a command at so many moments; return how many met it running, how many files were compared, and what was
        wrong.
        """
        command, rng = self.command(name), random.Random(f"{name}/{seed}")
        command.begin()
        counted = self.folder / "counted"
        started = time.monotonic()
        child = self.child(command.arguments, counted=counted)
        assert child.wait() == 0, child.said()
        length, files = time.monotonic() - started, int(counted.read_text())
        whole = files_of(command.result)
        met = compared = 0
        wrong: list[str] = []
        for k in range(moments):
            share = (k + rng.random()) / moments
            by_time = k % 2 == 0
            last = {moments - 1: files, moments - 3: files - 1}
            at = 0 if by_time else last.get(k, max(1, round(share * files)))
            command.begin()
            child = self.child(command.arguments, at=at)
            if by_time:
                time.sleep(share * length)
                if child.poll() is None:
                    os.kill(child.pid, signal.SIGKILL)
            code = child.wait()
            where = f"{name}, killed at {f'{share:.3f} of its time' if by_time else f'file {at} of {files}'}"
            met += code == -signal.SIGKILL
            if code not in (0, -signal.SIGKILL):
                wrong.append(f"{where}: exit code {code}: {child.said()}")
            if code == 0:
                continue
            again = self.child(command.arguments)
            # One that was killed after its last file has nothing to do any more, and says so.
            if (code := again.wait()) != 0 and not (code == 2 and "finished pack" in again.said()):
                wrong.append(f"{where}: exit code {code} of the same command again: {again.said()}")
            files_now = files_of(command.result)
            compared += len(files_now)
            if (problem := difference(files_now, whole)) is not None:
                wrong.append(f"{where}: {problem}")
        return met, compared, wrong


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moments", type=int, default=12)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--commands", default=",".join(COMMANDS))
    given = parser.parse_args(arguments)
    memory = Path("/dev/shm")
    bad = 0
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        harness = Harness(Path(folder))
        for name in given.commands.split(","):
            met, compared, wrong = harness.try_all(name, given.moments, given.seed)
            print(
                f"{name:8} {given.moments} moments, {met} met it running; {compared} files compared, {len(wrong)} "
                "wrong",
                flush=True,
            )
            for line in wrong:
                print(f"  {line}", flush=True)
            bad += len(wrong)
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
