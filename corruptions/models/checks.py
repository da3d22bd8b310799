"""What a model must do before it is used: take its images, repeat itself, have a gradient, and know what it is shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import ModelError, listed
from .loading import fault
from .model_file import ModelFile, ModelInput
from .network import Network
from .pytorch import import_torch

CLOSE_TO_ONE = 1e-3
"""How far sums of probabilities may be from 1."""
GUESSED_FROM = 64
"""Images on which other settings are tried for a model that is not accurate enough."""
IMAGENET = {"mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)}


def check_network(network: Network, file: ModelFile, batch: int) -> int:
    """Return how many outputs a network has, or raise `ModelError`: two passes forward and one back, on noise.

    PyTorch's random numbers begin elsewhere in each pass, so that a network which draws some is found out.
    """
    torch = import_torch()
    height, width = file.input.size
    images = np.random.default_rng(0).integers(0, 256, (batch, height, width, file.channels), dtype=np.uint8)
    shape = f"({batch}, {file.channels}, {height}, {width})"
    who = f"The model {file.name}"
    program = ", and the batch: a program is exported with a dynamic batch, or takes the one it was exported with" if file.program else ""
    try:
        torch.manual_seed(1)
        raw = network.raw_outputs(images)
    except Exception as e:
        raise ModelError(
            f"{who} cannot take a batch of shape {shape}: {fault(e.__cause__ or e)}. Check input (size and channels){program}."
        ) from e
    count = _checked_outputs(raw, file, who, shape, batch)
    logits = network.logits(images)
    if not np.isfinite(logits).all():
        raise ModelError(f"{who} gives values that are not finite on noise. Check the weights, and mean and std of its input.")
    torch.manual_seed(2)
    if not np.array_equal(logits, network.logits(images)):
        raise ModelError(
            f"{who} gives other outputs when it sees the same images again: it draws something at random, or keeps a state. "
            "A factory's model must do neither in eval() mode."
        )
    try:
        # of the least likely class, for the gradient of a class that is certain is 0
        _, gradient = network.gradient(images, logits.argmin(axis=1))
    except Exception as e:
        raise ModelError(f"{who} has no gradient by its pixels: {fault(e.__cause__ or e)}.") from e
    check_gradient(gradient, who)
    if not gradient.reshape(batch, -1).any(axis=1).all():
        raise ModelError(
            f"The gradient of {file.name} by its pixels is 0 everywhere: something in it has no gradient (rounding, argmax, detach), "
            "or its outputs are probabilities of 0 and 1: return logits."
        )
    return count


def _checked_outputs(raw: Any, file: ModelFile, who: str, shape: str, batch: int) -> int:
    torch = import_torch()
    if not isinstance(raw, torch.Tensor):
        raise ModelError(
            f"{who} returns a {type(raw).__name__} for a batch; expected a tensor (N, classes). "
            "Give a factory whose model returns that tensor alone."
        )
    if raw.ndim != 2 or raw.shape[0] != batch or raw.shape[1] < 2 or not raw.is_floating_point():
        raise ModelError(
            f"{who} returns {str(raw.dtype).removeprefix('torch.')} {tuple(raw.shape)} for a batch of shape {shape}; "
            f"expected floats ({batch}, classes), with two classes or more."
        )
    if raw.layout != torch.strided or raw.is_meta:
        kind = "a tensor without values (of the device meta)" if raw.is_meta else f"a {str(raw.layout).removeprefix('torch.')} tensor"
        raise ModelError(f"{who} returns {kind} for a batch; expected a dense tensor (N, classes), as .to_dense() gives it.")
    values = raw.double().cpu().numpy()
    are_probabilities = bool((values >= 0).all() and (np.abs(values.sum(axis=1) - 1) <= CLOSE_TO_ONE).all())
    if file.outputs == "probabilities" and not are_probabilities:
        span = f"from {values.min():.3g} to {values.max():.3g}, with sums from {values.sum(axis=1).min():.3g}"
        raise ModelError(
            f"outputs is 'probabilities', and {who[0].lower() + who[1:]} gives values {span}: expected 0 to 1 that sum to 1. "
            "Is it 'logits'?"
        )
    if file.outputs == "logits" and are_probabilities:
        raise ModelError(
            f"outputs is 'logits', and {who[0].lower() + who[1:]} gives values of 0 and more that sum to 1: "
            "write outputs = 'probabilities'."
        )
    return int(raw.shape[1])


def check_gradient(gradient: NDArray[np.float32], who: str) -> None:
    """Raise `ModelError` where a gradient (N, H, W, C) has values that are not finite."""
    finite = np.isfinite(gradient)
    if not finite.all():
        bad = ~finite.reshape(len(gradient), -1).all(axis=1)
        raise ModelError(
            f"{who} has a gradient with values that are not finite (NaN or infinity), for {int(bad.sum())} of {len(gradient)} images. "
            "Its own code divides by 0, or takes a root or logarithm of 0."
        )


def inaccurate(
    file: ModelFile, logits: NDArray[np.float32], labels: NDArray[np.int64], ask: Callable[[ModelFile], NDArray[np.float32]]
) -> ModelError:
    """Return the error of a model whose accuracy is below `least_accuracy`, with what would make it better.

    Parameters
    ----------
    file : ModelFile
    logits : (N, K) ndarray
        Of clean images.
    labels : (N,) ndarray
        Columns of `logits` that are true.
    ask : callable
        A model file with another input -> logits of the first `GUESSED_FROM` images.
    """
    accuracy = _accuracy(logits, labels)
    few, so_far = labels[:GUESSED_FROM], _accuracy(logits[:GUESSED_FROM], labels[:GUESSED_FROM])
    guesses = []
    for change, other in _other_inputs(file.input).items():
        better = _accuracy(ask(file.model_copy(update={"input": other})), few)
        if _is_much_better(better, so_far, file.least_accuracy):
            guesses.append(
                f"with {change} it has {better:.0%} of {len(few)} images right: are mean, std and channels those of its training?"
            )
    reordered = None if guesses else _accuracy_in_another_order(logits, labels)
    if reordered is not None and _is_much_better(reordered, accuracy, file.least_accuracy):
        guesses.append(
            f"with its outputs in another order it has {reordered:.0%} right: the classes are not in the data set's order. "
            "Write a file with the class folder of each output, a line each, and name it in classes"
        )
    if not guesses:
        guesses.append("check mean and std of its input, rgb or bgr, the order of its classes, and whether these are its trained weights")
    return ModelError(
        f"The model {file.name} has {accuracy:.1%} of {len(labels)} clean images right; its file asks for {file.least_accuracy:.1%} "
        f"or more (least_accuracy).\n{listed(guesses)}"
    )


def _accuracy(logits: NDArray[np.float32], labels: NDArray[np.int64]) -> float:
    return float((logits.argmax(axis=1) == labels).mean())


def _is_much_better(accuracy: float, now: float, least: float) -> bool:
    """Whether an accuracy is more than half the way from what it is now to what it should be at least."""
    return accuracy > (now + least) / 2


def _other_inputs(given: ModelInput) -> dict[str, ModelInput]:
    """Return what may have been meant, by what to write."""
    count = len(given.mean)
    ways: dict[str, dict[str, Any]] = {
        "mean 0 and std 1 (pixels in 0..1)": {"mean": (0.0,) * count, "std": (1.0,) * count},
        "mean 0.5 and std 0.5 (pixels in -1..1)": {"mean": (0.5,) * count, "std": (0.5,) * count},
        "mean 0 and std 1/255 (pixels in 0..255)": {"mean": (0.0,) * count, "std": (1 / 255,) * count},
    }
    if count == 3:
        swapped = "rgb" if given.channels == "bgr" else "bgr"
        ways["ImageNet's mean and std"] = IMAGENET
        ways[f"channels = {swapped!r}"] = {"channels": swapped, "mean": given.mean[::-1], "std": given.std[::-1]}
    return {change: given.model_copy(update=values) for change, values in ways.items()}


def _accuracy_in_another_order(logits: NDArray[np.float32], labels: NDArray[np.int64]) -> float | None:
    """Return the accuracy if each class had the output that its images get most; None where too few images could tell.

    The output is found on one half of the images, and judged on the other. Two classes cannot have the same.
    """
    predicted = logits.argmax(axis=1)
    right = judged = 0
    taken: set[int] = set()
    for label in np.unique(labels):
        outputs = predicted[labels == label]
        if len(outputs) >= 4:
            most = int(np.bincount(outputs[::2]).argmax())
            right += int((outputs[1::2] == most).sum()) if most not in taken else 0
            judged += len(outputs[1::2])
            taken.add(most)
    return right / judged if judged >= 8 else None
