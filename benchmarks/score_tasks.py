"""A task of `benchmarks.scores`, in a process of its own: prints its seconds and the memory that it held."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from .score_data import ACCURACY
from .timing import memory, processor_seconds


def read(data: str, predictions: str) -> dict[str, float]:
    """Read predictions as `corruptset.score` does; return the accuracy of each set."""
    import corruptset
    from corruptset.scores.prediction_files import read_predictions

    outcomes = read_predictions(predictions, corruptset.open(data)).outcomes
    return {name: float(outcome.correct.mean()) for name, outcome in outcomes.items()}


def plain(data: str, predictions: str) -> dict[str, float]:
    """Load each array as numpy does, and compare its argmax with the labels: no rank, no probability, no check."""
    import numpy as np

    labels = np.array([json.loads(line)["label"] for line in (Path(data) / "samples.jsonl").read_text().splitlines()])
    accuracy = {}
    for path in sorted(Path(predictions).rglob("*.npz")):
        with np.load(path) as arrays:
            accuracy[path.relative_to(predictions).as_posix()[:-4]] = float((arrays["logits"].argmax(axis=1) == labels).mean())
    return accuracy


def resample(images: int, sets: int) -> int:
    """Resample the images of sets, as intervals are made; return how many values there are."""
    import numpy as np

    from corruptset.scores.intervals import Bootstrap

    return int(Bootstrap(images).means(np.random.default_rng(0).random((images, sets)) < ACCURACY).size)


def command(data: str, predictions: str) -> int:
    """Run `corruptset score`, as a user does; return the number of sets that it scored."""
    script = Path(sys.executable).with_name("corruptset")
    done = subprocess.run([script, "score", data, predictions, "--json"], check=True, capture_output=True, text=True)
    return len(json.loads(done.stdout)["sets"])


TASKS: dict[str, Callable[..., object]] = {"read": read, "plain": plain, "resample": resample, "command": command}


def main() -> None:
    task = json.loads(sys.argv[1])
    run = TASKS[task.pop("what")]
    used, start = processor_seconds(), time.perf_counter()
    result = run(**task)
    seconds = time.perf_counter() - start
    print(json.dumps({"seconds": seconds, "cpu": processor_seconds() - used, "peak": memory(), "result": result}))


if __name__ == "__main__":
    main()
