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


def read(data: str, predictions: str) -> Timed:
    """Read predictions as `corruptset.score` does; the accuracy of each set. Labels are read before, once for however many sets."""
    import corruptset
    from corruptset.scores.prediction_files import read_predictions

    opened = corruptset.open(data)
    len(opened.samples)
    return lambda: {name: float(one.correct.mean()) for name, one in read_predictions(predictions, opened).outcomes.items()}


def plain(data: str, predictions: str) -> Timed:
    """Load each array as numpy does, and compare its argmax with the labels: no rank, no probability, no check."""
    import numpy as np

    labels = np.array([json.loads(line)["label"] for line in (Path(data) / "samples.jsonl").read_text().splitlines()])

    def accuracies() -> dict[str, float]:
        accuracy = {}
        for path in sorted(Path(predictions).rglob("*.npz")):
            with np.load(path) as arrays:
                accuracy[path.relative_to(predictions).as_posix()[:-4]] = float((arrays["logits"].argmax(axis=1) == labels).mean())
        return accuracy

    return accuracies


def resample(images: int, sets: int) -> Timed:
    """Resample the images of sets, as intervals are made; how many values there are."""
    import numpy as np

    from corruptset.scores.estimates import Bootstrap

    right = np.random.default_rng(0).random((images, sets)) < ACCURACY
    return lambda: int(Bootstrap(images).means(right).size)


def command(data: str, predictions: str) -> Timed:
    """Run `corruptset score`, as a user does; the number of sets that it scored."""
    script = Path(sys.executable).with_name("corruptset")

    def run() -> int:
        done = subprocess.run([script, "score", data, predictions, "--json"], check=True, capture_output=True, text=True)
        return len(json.loads(done.stdout)["sets"])

    return run


Timed = Callable[[], object]
"""What is timed, and returns a result; what it needs is there before."""
TASKS: dict[str, Callable[..., Timed]] = {"read": read, "plain": plain, "resample": resample, "command": command}


def main() -> None:
    task = json.loads(sys.argv[1])
    run = TASKS[task.pop("what")]
    timed = run(**task)
    used, start = processor_seconds(), time.perf_counter()
    result = timed()
    seconds = time.perf_counter() - start
    print(json.dumps({"seconds": seconds, "cpu": processor_seconds() - used, "peak": memory(), "result": result}))


if __name__ == "__main__":
    main()
