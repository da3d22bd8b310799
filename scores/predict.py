"""Predictions made here: what a model says of every image of a data set."""

from __future__ import annotations

import io
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelError, ParameterError, PredictionError
from ..files import open_regular
from ..manifests.disk.atomic import make_folder, write_atomic
from ..manifests.manifest_file import result_path
from ..manifests.reader import DataSet
from ..manifests.reading.image_set import ImageSet
from ..progress import progress_function, shows_progress
from .prediction_files.reading import HEAD, read_head
from .prediction_files.reduction import KINDS, Kind, reduced
from .set_choice import choose

if TYPE_CHECKING:
    from ..corruptions.models.surrogate import Surrogate

TOP = 5
"""Classes that ``top`` keeps."""
SHOWN_CLEAN = 256
"""Clean images that a model is shown before it begins, for its `least_accuracy`."""

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Predicted:
    """What `predict` did."""

    directory: Path
    model: str
    digest: str
    """Of the data set."""
    accuracy: dict[str, float]
    """Of each set, 0..1."""
    kept: tuple[str, ...]
    """Sets whose files were there already."""
    images: int
    """Predicted now."""
    seconds: float

    def __repr__(self) -> str:
        mean = f", mean accuracy {np.mean([*self.accuracy.values()]):.4f}" if self.accuracy else ""
        done = f"{len(self.accuracy)} sets ({len(self.kept)} kept), {self.images:,} images in {self.seconds:.1f} s"
        return f"<Predicted by {self.model} in {self.directory}: {done}{mean}>"


@shows_progress("predict")
def predict(
    directory: str | Path | DataSet,
    model: str | Path | Surrogate,
    out: str | Path,
    *,
    sets: Sequence[str] | None = None,
    device: str = "cpu",
    batch: int = 64,
    kind: Kind = "logits",
    progress: Callable[[str, int, int], None] | bool | None = None,
) -> Predicted:
    """Write a model's predictions of every image of a data set, a file a set.

    Beside ``<set id>.npz`` stands ``predictions.json``.

    The same call goes on where it was stopped: files that are there and fit are kept.

    Parameters
    ----------
    directory : str, Path or DataSet
        A finished data set.
    model : str, Path or Surrogate
        A model file, or a loaded one, which keeps its own device, batch and threads. Images are given to it as they are
        stored: they must have its size and channels.
    out : str or Path
        The folder of the predictions.
    sets : sequence of str, optional
        Ids, aliases or patterns of them; by default all.
    device : str
        ``cpu`` or ``cuda``.
    batch : int
        Images that go through the network at once.
    kind : {"logits", "probs", "top", "rank"}
        What is kept of each image. ``logits`` and ``probs``: (N, classes) float32. ``top``: (N, 5) int64, the classes
        from the most likely down. ``rank``: `rank_true` (N,) int64, how many classes are above the true one, and
        `p_true` (N,) float32, its probability.
    progress : callable or bool, optional
        Told (phase, images done, images in all). By default a bar is shown in a terminal and in a notebook; False shows
        none.

    Returns
    -------
    Predicted

    Raises
    ------
    ModelError
        The model cannot be loaded, knows too few of the clean images, or does not fit the images or classes.
    PredictionError
        The folder holds predictions of something else.
    ParameterError
        It lies in a data set; or no kind is called so.
    UnknownCorruption, IncompleteBuild, VerificationError
        No set fits `sets`; the data set is not finished, or damaged.
    """
    if kind not in KINDS:
        raise ParameterError(f"kind is {kind!r}; expected one of {', '.join(KINDS)}.")
    started = time.monotonic()
    tell = progress_function(progress)
    folder = result_path(out)
    data = directory if isinstance(directory, DataSet) else DataSet(directory)
    chosen = choose(data, sets)
    tell("loading the model", 0, 0)
    loaded = _loaded(model, device, batch).for_classes([c.folder for c in data.classes])
    if "clean" in data and loaded.file.least_accuracy > 0:
        clean = data["clean"]
        places = np.unique(np.linspace(0, len(clean) - 1, min(len(clean), SHOWN_CLEAN)).astype(int)).tolist()
        shown = _stacked([clean.image(place) for place in places], clean.id, 0, loaded)
        loaded.check_accuracy(shown, clean.labels[places])
    _begin(folder, loaded, data, kind)
    total, done, made = sum(len(data[name]) for name in chosen), 0, 0
    accuracy, kept = dict[str, float](), list[str]()
    for name in chosen:
        images, file = data[name], folder / f"{name}.npz"
        arrays = _finished(file, kind, len(images), len(data.classes))
        if arrays is None:
            logits = np.empty((len(images), len(data.classes)), np.float32)
            for at, values in _logits(loaded, images):
                logits[at : at + len(values)] = values
                tell("predicting", done + at + len(values), total)
            arrays = _arrays(logits, images.labels, kind)
            written = io.BytesIO()
            np.savez(written, allow_pickle=False, **arrays)
            make_folder(folder, name.rpartition("/")[0])
            write_atomic(file, written.getbuffer())
            made += len(images)
        else:
            kept.append(name)
        done += len(images)
        tell("predicting", done, total)
        accuracy[name] = float(reduced(kind, arrays, images.labels, len(data.classes))[0].correct.mean())
    return Predicted(folder, loaded.name, data.digest, accuracy, tuple(kept), made, time.monotonic() - started)


def _loaded(model: str | Path | Surrogate, device: str, batch: int) -> Surrogate:
    if not isinstance(model, (str, Path)):
        if not hasattr(model, "record"):
            raise ModelError(
                f"The model is a {type(model).__name__}; expected a model file (docs/models.md says how it is "
                "written), or what load_surrogate returns."
            )
        return model
    from ..corruptions.models.surrogate import load_surrogate

    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return replace(load_surrogate(model, device=device, batch=batch), threads=processors)


def _begin(folder: Path, model: Surrogate, data: DataSet, kind: str) -> None:
    """Write predictions.json, or find that the one that is there says the same."""
    record = model.record()
    made_by = {key: record[key] for key in ("factory", "arguments") if key in record}
    head = {"model": model.name, "digest": data.digest, "kind": kind}
    head |= made_by | {key: record[key] for key in ("weights", "input", "outputs", "classes")}
    path = folder / HEAD
    if path.exists():
        there = made_by | read_head(path)  # older releases did not write these
        if there == head:
            return
        other = [
            f"{key} {there.get(key)!r} in place of {value!r}" for key, value in head.items() if there.get(key) != value
        ]
        raise PredictionError(
            f"{folder} holds other predictions: {'; '.join(other)}. Give another folder, or delete this one."
        )
    if next(folder.rglob("[!.]*.npz"), None) is not None:
        raise PredictionError(
            f"{folder} holds .npz files and no {HEAD}, so that nobody knows whose they are. Give another folder."
        )
    folder.mkdir(parents=True, exist_ok=True)
    write_atomic(path, (json.dumps(head, indent=1) + "\n").encode())


def _finished(file: Path, kind: str, count: int, classes: int) -> Arrays | None:
    """Return the arrays of a finished file; None where it does not fit."""
    try:
        # numpy leaves a damaged file open that it opened itself
        with open_regular(file) as opened, np.load(opened, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except (OSError, ValueError, EOFError, KeyError, NotImplementedError, BadZipFile):
        return None
    empty = _arrays(np.zeros((count, classes), np.float32), np.zeros(count, np.int64), kind)
    shapes = [{name: (a.shape, a.dtype) for name, a in one.items()} for one in (arrays, empty)]
    return arrays if shapes[0] == shapes[1] else None


def _logits(model: Surrogate, images: ImageSet) -> Iterator[tuple[int, NDArray[np.float32]]]:
    """Yield the logits of a set's images by batches, with each one's first number."""
    stream = images.images()
    for at in range(0, len(images), model.batch):
        logits = model.logits(_stacked(list(islice(stream, model.batch)), images.id, at, model))
        if not (finite := np.isfinite(logits).all(axis=1)).all():
            row = at + int(np.argmin(finite))
            raise ModelError(
                f"The model {model.name} gives values that are not finite for image {row} of set {images.id!r}."
            )
        yield at, logits


def _stacked(images: Sequence[NDArray[np.uint8]], set_id: str, first: int, model: Surrogate) -> NDArray[np.uint8]:
    (height, width), kinds = model.size, {1: "grey", 3: "RGB"}
    for row, image in enumerate(images, first):
        if image.shape != (height, width, model.channels):
            raise ModelError(
                f"The model {model.name} takes {kinds[model.channels]} images of {height}x{width} (height x width); "
                f"image {row} of set {set_id!r} is {kinds[image.shape[2]]}, {image.shape[0]}x{image.shape[1]}. Images "
                "are given to a model as they are stored: let its own forward() resize them, and write their size in "
                "its file."
            )
    return np.stack(images)


def _arrays(logits: NDArray[np.float32], labels: NDArray[np.int64], kind: str) -> Arrays:
    """Return what is kept of logits (N, K)."""
    if kind == "logits":
        return {"logits": logits}
    if kind == "top":
        return {"top": np.argsort(-logits, axis=1, kind="stable")[:, :TOP]}
    powers = np.exp(logits.astype(np.float64) - logits.max(axis=1, keepdims=True))
    probabilities = (powers / powers.sum(axis=1, keepdims=True)).astype(np.float32)
    if kind == "probs":
        return {"probs": probabilities}
    rows = np.arange(len(labels))
    above = (logits > logits[rows, labels][:, None]).sum(axis=1)
    return {"rank_true": above.astype(np.int64), "p_true": probabilities[rows, labels]}
