"""Define the command `medmnist-score`: compute the scores of MedMNIST-C from probabilities."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from corruptset.cli.options import AsJson, FinishedBuild
from corruptset.cli.output import progress_of, put, put_json
from corruptset.cli.records import put_table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def balanced_accuracy(labels: NDArray[np.integer], predicted: NDArray[np.integer | np.bool_]) -> float:
    """Return the fraction of images that are predicted correctly, computed for each class and averaged over classes.

    Examples
    --------
    >>> import numpy as np
    >>> balanced_accuracy(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1]))
    0.8333333333333333
    """
    import numpy as np

    return float(np.mean([np.mean(predicted[labels == label] == label) for label in np.unique(labels)]))


def area_under_curve(labels: NDArray[np.integer], probabilities: NDArray[np.floating]) -> float | None:
    """Return the area under the ROC curve, or None if all labels are equal.

    Examples
    --------
    >>> import numpy as np
    >>> area_under_curve(np.array([0, 0, 1, 1]), np.array([0.1, 0.4, 0.35, 0.8]))
    0.75
    """
    from scipy.stats import rankdata

    positive = int(labels.sum())
    negative = len(labels) - positive
    if not positive or not negative:
        return None
    wins = rankdata(probabilities)[labels == 1].sum() - positive * (positive + 1) / 2
    return float(wins / (positive * negative))


def score(directory: str | Path, predictions: str | Path, *, threshold: float = 0.5) -> dict[str, Any]:
    """Compute the scores of a model on a MedMNIST-C dataset.

    Parameters
    ----------
    directory : path
        The dataset.
    predictions : path
        The folder with a file ``<set>.npz`` for each set. Each file contains the array ``probs`` (N, classes). If
        images have several labels, the array has a column for each label.
    threshold : float
        The probability above which a label is predicted. It is used for two classes, or for several labels per image.

    Returns
    -------
    dict
        ``clean`` and ``clean_auc`` are the scores on the clean images, and ``corruptions`` contains the scores of each
        corruption. The other keys are means over the corruptions. The score ``error`` is the balanced error. ``auc``
        is the mean area under the ROC curve, if images have several labels. ``be`` is the error divided by AlexNet's
        error. ``rbe`` is the increase over the clean error, divided by AlexNet's increase.

    Raises
    ------
    BuildError
        If the dataset lacks sets, if a predictions file is missing, or if its array has a different shape.

    References
    ----------
    Di Salvo, Doerrich & Ledig 2024, MedMNIST-C; released medmnistc 0.1.0, eval.py and utils/baselines.py.
    """
    import numpy as np

    from corruptset.errors import BuildError
    from corruptset.manifests.reader import Dataset

    from .files import by_corruption, label_rows

    data = Dataset(directory)
    sets, labels = by_corruption(data, list(data)), label_rows(data)
    baseline = tomllib.loads((files(__package__) / "baselines.toml").read_text("utf-8")).get(
        data.manifest.name.removesuffix("-c"), {}
    )

    def measured(name: str) -> tuple[float, float | None]:
        path = Path(predictions, f"{name}.npz")
        if not path.is_file():
            raise BuildError(f"{path} does not exist. Write the array probs of each set into <set>.npz.")
        with np.load(path) as file:
            probabilities = file["probs"] if "probs" in file else np.empty(0)
        columns = len(data.classes) if labels.shape[1] == 1 else labels.shape[1]
        if probabilities.shape != (len(labels), columns):
            raise BuildError(
                f"{path} has probabilities of shape {probabilities.shape}; expected probs of shape "
                f"{(len(labels), columns)}."
            )
        if labels.shape[1] > 1:
            pairs = [(labels[:, column], probabilities[:, column]) for column in range(columns)]
            accuracies = [balanced_accuracy(label, one > threshold) for label, one in pairs]
            areas = [area for label, one in pairs if (area := area_under_curve(label, one)) is not None]
            return 1.0 - float(np.mean(accuracies)), float(np.mean(areas)) if areas else None
        chosen = probabilities[:, 1] > threshold if columns == 2 else probabilities.argmax(axis=1)
        return 1.0 - balanced_accuracy(labels[:, 0], chosen), None

    clean, clean_auc = measured("clean")
    rows: dict[str, dict[str, float]] = {}
    for name, ids in sets.items():
        errors, areas = zip(*map(measured, ids), strict=True)
        rows[name] = row = {"error": float(np.mean(errors))}
        if clean_auc is not None and None not in areas:
            row["auc"] = float(np.mean(areas))
        if name in baseline:
            row["be"] = row["error"] / baseline[name]
            row["rbe"] = (row["error"] - clean) / (baseline[name] - baseline["clean"])
    scores = {key: float(np.mean([row[key] for row in rows.values()])) for key in next(iter(rows.values()))}
    return {"clean": clean, "clean_auc": clean_auc, "corruptions": rows, **scores}


def medmnist_score(
    directory: FinishedBuild,
    predictions: Annotated[
        Path, typer.Argument(metavar="PREDICTIONS", help="Folder with <set>.npz for each set, with the array probs.")
    ],
    threshold: Annotated[
        float, typer.Option(help="Probability above which a label is predicted, for two classes or several labels.")
    ] = 0.5,
    as_json: AsJson = False,
) -> None:
    """Compute the scores of MedMNIST-C from the probabilities of a model.

    The error is one minus the balanced accuracy. BE is the error of a corruption divided by the error of AlexNet. RBE
    is the increase over the clean error, divided by the increase of AlexNet. For images with several labels, the area
    under the ROC curve is computed too.
    """
    with progress_of("medmnist-score"):
        scored = score(directory, predictions, threshold=threshold)
    if as_json:
        return put_json(scored)
    rows = {"clean": {"error": scored["clean"], "auc": scored["clean_auc"]}, **scored["corruptions"], "mean": scored}
    columns = [key for key in ("error", "auc", "be", "rbe") if scored.get(key) is not None]
    cells = (
        [name, *("" if row.get(key) is None else f"{row[key]:.3f}" for key in columns)] for name, row in rows.items()
    )
    put_table(["set", *columns], cells, right=columns)
    put("Errors are one minus the balanced accuracy. be and rbe are relative to AlexNet (medmnistc 0.1.0).")
