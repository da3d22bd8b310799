"""Kill `pack`, `unpack`, `rebuild` and `verify --repair`, run the same command again, and compare with one that nobody
stopped.

    python tests/faults/killing_commands.py --moments 12        of each, counts printed

Half of the moments are at a time, drawn from the whole length of the command. The others are just before a file or
folder is renamed (`os.replace`, `os.rename`) or a work folder is removed, because what is on the disk changes its
meaning there. The last two of these are always tried.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from children import Builds, Child, memory_folder, parse_arguments
from small_builds import read_files

COMMANDS = ("pack", "unpack", "rebuild", "repair")


class Commands(Builds):
    """Commands on one small build, whose result is in `out`."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, each=1)
        # children inherit these imports and those of the build
        import corruptset.cli.app
        import corruptset.generate.reproduction.rebuild
        import corruptset.generate.reproduction.verify
        import corruptset.manifests.release.pack
        import corruptset.manifests.release.unpack  # noqa: F401

        self.built = self.make("both", folder / "made")
        self.result = self.out / self.built.name
        packing = ["pack", str(self.built), "--by", "set", "--out"]
        assert self.command([*packing, str(folder / "release")]).wait() == 0
        archives = sorted(map(str, (folder / "release" / "data").glob("*.tar")))
        source = ["--source", self.source, "--jobs", "1"]
        self.commands = {
            "pack": [*packing, str(self.out)],
            "unpack": ["unpack", *archives, "--out", str(self.out)],
            "rebuild": ["rebuild", str(self.built), *source, "--out", str(self.out)],
            "repair": ["verify", str(self.result), "--repair", *source],
        }

    def begin(self, name: str) -> None:
        """Restore the state before a command."""
        shutil.rmtree(self.out, ignore_errors=True)
        if name == "repair":
            shutil.copytree(self.built, self.result)
            images = sorted((self.result / "images").rglob("*.png"))
            for path in [*images[::3], self.result / "sets/contrast/1.jsonl"]:
                path.unlink()
            for path in [*images[1::3], *sorted((self.result / "hdf5").rglob("*.h5"))[::2]]:
                path.write_bytes(path.read_bytes()[:-7])

    def command(self, arguments: list[str], at: int = 0) -> Child:
        """Run a command that kills itself before the `at`-th file is moved to its place, and record the number of such
        moves.
        """

        def work() -> None:
            from corruptset.cli import main

            completed = 0

            def deadly(function: Callable[..., Any]) -> Callable[..., Any]:
                def called(*args: Any, **options: Any) -> Any:
                    nonlocal completed
                    completed += 1
                    self.notes.write_text(str(completed))
                    if completed == at:
                        os.kill(os.getpid(), signal.SIGKILL)
                    return function(*args, **options)

                return called

            os.replace, os.rename = deadly(os.replace), deadly(os.rename)
            shutil.rmtree = deadly(shutil.rmtree)  # type: ignore[assignment]
            sys.argv = ["corruptset", *arguments]
            main()

        return self.start(work)

    def try_all(self, name: str, moments: int, seed: int) -> None:
        """Kill a command at several moments."""
        arguments, rng = self.commands[name], random.Random(f"{name}/{seed}")
        self.begin(name)
        started = time.monotonic()
        child = self.command(arguments)
        assert child.wait() == 0, child.output()
        length, files, expected_files = time.monotonic() - started, int(self.notes.read_text()), read_files(self.out)
        for k in range(moments):
            share = (k + rng.random()) / moments
            by_time = k % 2 == 1
            last = {moments - 2: files, moments - 4: files - 1}
            at = 0 if by_time else last.get(k, max(1, round(share * files)))
            self.begin(name)
            child = self.command(arguments, at)
            if by_time:
                time.sleep(share * length)
                if child.poll() is None:
                    os.kill(child.pid, signal.SIGKILL)
            code = child.wait()
            location = f"{name}, killed at {f'{share:.3f} of its time' if by_time else f'file {at} of {files}'}"
            self.counts[f"{name} met running"] += code == -signal.SIGKILL
            if code not in (0, -signal.SIGKILL):
                self.wrong.append(f"{location}: exit code {code}: {child.output()}")
            if code == 0:
                continue
            result = self.command(arguments)
            # a command that was killed after its last file has nothing left to do
            if (code := result.wait()) != 0 and not (code == 2 and "finished pack" in result.output()):
                self.wrong.append(f"{location}: exit code {code} of the same command again: {result.output()}")
            self.compare(location, expected_files)


def main() -> int:
    arguments = parse_arguments(__doc__, 12, commands=",".join(COMMANDS))
    with memory_folder() as folder:
        commands, names = Commands(folder), arguments.commands.split(",")
        for name in names:
            commands.try_all(name, arguments.moments, arguments.seed)
        return commands.report("moments", arguments.moments * len(names))


if __name__ == "__main__":
    sys.exit(main())
