"""A task of `benchmarks.scores`, in a process of its own: prints its seconds and the memory that it held."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

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


TASKS: dict[str, Callable[..., object]] = {"read": read, "plain": plain}


def main() -> None:
    task = json.loads(sys.argv[1])
    run = TASKS[task.pop("what")]
    used, start = processor_seconds(), time.perf_counter()
    result = run(**task)
    seconds = time.perf_counter() - start
    print(json.dumps({"seconds": seconds, "cpu": processor_seconds() - used, "peak": memory(), "result": result}))


if __name__ == "__main__":
    main()
