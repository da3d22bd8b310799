"""`predict`: run a model on every image of a dataset and write its predictions."""

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
from ..manifests.reader import Dataset
from ..manifests.reading.image_set import ImageSet
from ..progress import progress_function, shows_progress
from .prediction_files.reading import HEAD, read_head
from .prediction_files.reduction import KINDS, Kind, reduce_predictions
from .set_choice import choose_scored_sets

if TYPE_CHECKING:
    from ..corruptions.models.surrogate import Surrogate

TOP = 5
"""The number of classes that ``top`` stores."""
SHOWN_CLEAN = 256
"""The maximum number of clean images on which a model's `least_accuracy` is checked in advance."""

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Predicted:
    """The result of `predict`."""

    directory: Path
    model: str
    digest: str
    """The digest of the dataset."""
    accuracy: dict[str, float]
    """The accuracy on each set, from 0 to 1."""
    kept: tuple[str, ...]
    """The sets whose files existed before."""
    images: int
    """The number of images for which this call computed predictions."""
    seconds: float

    def __repr__(self) -> str:
        mean = f", mean accuracy {np.mean([*self.accuracy.values()]):.4f}" if self.accuracy else ""
        done = f"{len(self.accuracy)} sets ({len(self.kept)} kept), {self.images:,} images in {self.seconds:.1f} s"
        return f"<Predicted by {self.model} in {self.directory}: {done}{mean}>"


@shows_progress("predict")
def predict(
    directory: str | Path | Dataset,
    model: str | Path | Surrogate,
    out: str | Path,
    *,
    sets: Sequence[str] | None = None,
    device: str = "cpu",
    batch: int = 64,
    kind: Kind = "logits",
    progress: Callable[[str, int, int], None] | bool | None = None,
) -> Predicted:
    """Run a model on every image of a dataset and write its predictions as ``<set id>.npz`` for each set.

    The names of the model and the dataset are written to ``predictions.json``. To resume after an interruption, call
    the function again with the same arguments. Existing files are kept if their arrays have the expected types and
    shapes.

    Parameters
    ----------
    directory : str, Path or Dataset
        A finished dataset.
    model : str, Path or Surrogate
        A model file, or a loaded model, which keeps its own device, batch size and threads. The stored images must have
        the size and the channels that the model expects.
    out : str or Path
        The folder of the predictions.
    sets : sequence of str, optional
        Ids, aliases or patterns of the sets to predict. By default all sets are predicted.
    device : str
        ``cpu`` or ``cuda``.
    batch : int
        The batch size.
    kind : {"logits", "probs", "top", "rank"}
        The values to store. ``logits`` and ``probs`` are (N, classes) float32. ``top`` is (N, 5) int64 and contains the
        five most likely classes in descending order. ``rank`` stores two arrays: `rank_true` (N,) int64, the number of
        classes that score higher than the true one, and `p_true` (N,) float32, the probability of the true class.
    progress : callable or bool, optional
        A function that is called with (phase, images done, total number of images). By default a progress bar is shown
        in terminals and notebooks, and False disables it.

    Returns
    -------
    Predicted

    Raises
    ------
    ModelError
        If the model cannot be loaded, recognises too few of the clean images, or does not fit the images or classes.
    PredictionError
        If the folder contains different predictions.
    ParameterError
        If the folder is inside a dataset, or if `kind` is unknown.
    UnknownCorruption, IncompleteBuild, VerificationError
        If no set matches `sets`, or if the dataset is unfinished or damaged.
    """
    if kind not in KINDS:
        raise ParameterError(f"kind is {kind!r}; expected one of {', '.join(KINDS)}.")
    started = time.monotonic()
    tell = progress_function(progress)
    folder = result_path(out)
    data = directory if isinstance(directory, Dataset) else Dataset(directory)
    chosen = choose_scored_sets(data, sets)
    tell("loading the model", 0, 0)
    loaded = _load_model(model, device, batch).for_classes([c.folder for c in data.classes])
    if "clean" in data and loaded.file.least_accuracy > 0:
        clean = data["clean"]
        places = np.unique(np.linspace(0, len(clean) - 1, min(len(clean), SHOWN_CLEAN)).astype(int)).tolist()
        shown = _stack([clean.image(place) for place in places], clean.id, 0, loaded)
        loaded.check_accuracy(shown, clean.labels[places])
    _begin(folder, loaded, data, kind)
    total, done, made = sum(len(data[name]) for name in chosen), 0, 0
    accuracy, kept = dict[str, float](), list[str]()
    for name in chosen:
        images, file = data[name], folder / f"{name}.npz"
        arrays = _load_existing(file, kind, len(images), len(data.classes))
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
        accuracy[name] = float(reduce_predictions(kind, arrays, images.labels, len(data.classes))[0].correct.mean())
    return Predicted(folder, loaded.name, data.digest, accuracy, tuple(kept), made, time.monotonic() - started)


def _load_model(model: str | Path | Surrogate, device: str, batch: int) -> Surrogate:
    if not isinstance(model, (str, Path)):
        if not hasattr(model, "record"):
            raise ModelError(
                f"The model is a {type(model).__name__}; expected a model file (docs/models.md) or the result of "
                "load_surrogate."
            )
        return model
    from ..corruptions.models.surrogate import load_surrogate

    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return replace(load_surrogate(model, device=device, batch=batch), threads=processors)


def _begin(folder: Path, model: Surrogate, data: Dataset, kind: str) -> None:
    """Write predictions.json. If the file exists, check that it has the same content."""
    record = model.record()
    made_by = {key: record[key] for key in ("factory", "arguments") if key in record}
    head = {"model": model.name, "digest": data.digest, "kind": kind}
    head |= made_by | {key: record[key] for key in ("weights", "input", "outputs", "classes")}
    path = folder / HEAD
    if path.exists():
        existing = read_head(path)
        if existing == head:
            return
        other = [f"{k} {existing.get(k)!r} instead of {v!r}" for k, v in head.items() if existing.get(k) != v]
        raise PredictionError(
            f"{folder} contains different predictions: {'; '.join(other)}. Choose another folder, or delete this one."
        )
    if next(folder.rglob("[!.]*.npz"), None) is not None:
        raise PredictionError(
            f"{folder} contains .npz files but no {HEAD}, so their model is unknown. Choose another folder."
        )
    folder.mkdir(parents=True, exist_ok=True)
    write_atomic(path, (json.dumps(head, indent=1) + "\n").encode())


def _load_existing(file: Path, kind: str, count: int, classes: int) -> Arrays | None:
    """Return the arrays in an existing predictions file, or None if the file must be written again.

    It must be written again if it is missing, is damaged, or has arrays of unexpected types or shapes.
    """
    try:
        # If NumPy opened a damaged file itself, the file would stay open.
        with open_regular(file) as opened, np.load(opened, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except (OSError, ValueError, EOFError, KeyError, NotImplementedError, BadZipFile):
        return None
    empty = _arrays(np.zeros((count, classes), np.float32), np.zeros(count, np.int64), kind)
    shapes = [{name: (a.shape, a.dtype) for name, a in one.items()} for one in (arrays, empty)]
    return arrays if shapes[0] == shapes[1] else None


def _logits(model: Surrogate, images: ImageSet) -> Iterator[tuple[int, NDArray[np.float32]]]:
    """Yield the logits for a set in batches, each with the index of its first image."""
    stream = images.images()
    for at in range(0, len(images), model.batch):
        logits = model.logits(_stack(list(islice(stream, model.batch)), images.id, at, model))
        if not (finite := np.isfinite(logits).all(axis=1)).all():
            row = at + int(np.argmin(finite))
            raise ModelError(
                f"The model {model.name} returns NaN or infinite values for image {row} of the set {images.id!r}."
            )
        yield at, logits


def _stack(images: Sequence[NDArray[np.uint8]], set_id: str, first: int, model: Surrogate) -> NDArray[np.uint8]:
    (height, width), kinds = model.size, {1: "grey", 3: "RGB"}
    for row, image in enumerate(images, first):
        if image.shape != (height, width, model.channels):
            raise ModelError(
                f"The model {model.name} expects {kinds[model.channels]} images of {height}x{width} (height x width), "
                f"but image {row} of the set {set_id!r} is {kinds[image.shape[2]]}, {image.shape[0]}x{image.shape[1]}. "
                "Write the size of the stored images in the model file and resize them in its forward()."
            )
    return np.stack(images)


def _arrays(logits: NDArray[np.float32], labels: NDArray[np.int64], kind: str) -> Arrays:
    """Return the arrays that a kind of predictions stores for logits (N, K)."""
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
