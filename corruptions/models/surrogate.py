"""A model that is asked for outputs and gradients.

`load_surrogate` reads one from its file, and checks it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...canonical import canonical, canonical_sha256
from ...errors import ModelError, listed
from ...plain_arguments import plain_arguments
from ..keys import Wholes
from .loading import check_device, import_torch, load_network, model_called, read_weights, repeatable
from .model_file import ModelFile, class_folders, read_model_file
from .network import Network, check_gradient, check_network

MOST_LISTED = 8
"""Class folders that an error lists."""


@dataclass(frozen=True)
class Surrogate:
    """A model whose gradient makes sets, or whose predictions are wanted.

    It is made by `load_surrogate`. It is pickled as its file's values, the path and the sha256 of its weights: where it
    is unpickled, they are loaded again when they are first needed, and refused if they changed.
    """

    path: Path
    """Of the model file."""
    file: ModelFile = field(repr=False)
    sha256: str
    """``sha256:<hex>`` of the file of the weights, or of the program."""
    device: str
    batch: int
    """Images that go through the network at once."""
    outputs: int
    """How many outputs it has."""
    order: tuple[str, ...] | None = field(default=None, repr=False)
    """The class folder of each output; None where they are in the data set's order."""
    threads: int = 1
    """Of PyTorch, on the CPU. With more, what the network computes depends on how many there are."""
    of_labels: tuple[int, ...] | None = field(default=None, repr=False)
    """The output of each class of a data set, whose indices labels are; None where labels are indices of the outputs.
    """

    @property
    def name(self) -> str:
        return self.file.name

    @property
    def size(self) -> tuple[int, int]:
        """Height and width of the images that it takes."""
        return self.file.input.size

    @property
    def channels(self) -> int:
        """1 for grey, 3 for RGB (whatever the order in which the network has them)."""
        return self.file.channels

    def record(self) -> dict[str, Any]:
        """Return what a manifest says of it."""
        made_by = (
            {"program": self.file.program}
            if self.file.program
            else {"factory": self.file.factory, "arguments": self.file.arguments}
        )
        return {
            "name": self.name,
            **made_by,
            "weights": self.sha256,
            "input": self.file.input.model_dump(mode="json"),
            "outputs": self.file.outputs,
            "classes": "index" if self.order is None else canonical_sha256(list(self.order)),
            "torch": str(import_torch().__version__),
            "device": self.device,
            "batch": self.batch,
            "threads": self.threads,
        }

    def for_classes(self, folders: Sequence[str]) -> Surrogate:
        """Return the same model for a data set.

        Labels, and the columns of `logits`, are indices of its class folders.

        Raises
        ------
        ModelError
            Classes have no output; or outputs are taken in the data set's order (``classes = "index"``), and are not as
            many.
        """
        if self.order is None:
            if len(folders) != self.outputs:
                raise ModelError(
                    f"The model {self.name} has {self.outputs} outputs, and the data set has {len(folders)} classes; "
                    "with classes = 'index' they are the same, in the same order. Write a file with the class folder "
                    f"of each output, a line each, and name it in classes of {self.path}."
                )
            return replace(self, of_labels=tuple(range(self.outputs)))
        places = {folder: output for output, folder in enumerate(self.order)}
        if missing := [folder for folder in folders if folder not in places]:
            raise ModelError(
                f"The model {self.name} has no output for {len(missing)} of the data set's {len(folders)} classes: "
                f"its file of class folders ({self.file.classes}) does not have\n{listed(missing, MOST_LISTED)}"
            )
        return replace(self, of_labels=tuple(places[folder] for folder in folders))

    def logits(self, images: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return logits of images; of a model that gives probabilities, their logarithms.

        Parameters
        ----------
        images : (N, H, W, C) ndarray of uint8
            RGB or grey, of the model's size.

        Returns
        -------
        (N, K) ndarray of float32
            A column an output; after `for_classes`, a column a class of the data set.
        """
        self._check_images(images)
        with self.running() as network:
            parts = [network.logits(images[at : at + self.batch]) for at in range(0, len(images), self.batch)]
        logits = np.concatenate(parts) if parts else np.empty((0, self.outputs), np.float32)
        return logits if self.of_labels is None else logits[:, self.of_labels]

    def gradient(self, images: NDArray[Any], labels: Wholes) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the loss of each image, and its gradient by the pixels.

        One pass forward and one back.

        Parameters
        ----------
        images : (N, H, W, C) ndarray of float32 or float64
            In 0..255, RGB or grey, of the model's size.
        labels : (N,) ndarray of int64

        Returns
        -------
        loss : (N,) ndarray of float32
            The cross-entropy of the labels.
        gradient : (N, H, W, C) ndarray of float32
            Of an image's loss by its pixels.

        Raises
        ------
        ModelError
            Images or labels are not the model's, or a gradient is not finite.
        """
        self._check_images(images)
        outputs = self._outputs_of(labels, len(images))
        with self.running() as network:
            losses, gradient = np.empty(len(images), np.float32), np.empty(images.shape, np.float32)
            for at in range(0, len(images), self.batch):
                part = slice(at, at + self.batch)
                losses[part], gradient[part] = network.gradient(images[part], outputs[part])
        check_gradient(gradient, f"The model {self.name}")
        return losses, gradient

    @property
    def memory(self) -> int:
        """The estimated bytes that a process needs to ask it for gradients, beside PyTorch."""
        with self.running() as network:
            return network.memory(np.zeros((self.batch, *self.size, self.channels), np.float32))

    def check_accuracy(self, images: NDArray[np.uint8], labels: Wholes) -> float:
        """Return the model's accuracy on clean images.

        Or raise `ModelError` where it is below the file's `least_accuracy`.
        """
        outputs = self._outputs_of(labels, len(images))
        if not len(images):
            raise ModelError(f"The model {self.name} was shown no images to measure its accuracy on.")
        accuracy = float((replace(self, of_labels=None).logits(images).argmax(axis=1) == outputs).mean())
        if accuracy < self.file.least_accuracy:
            raise ModelError(
                f"The model {self.name} has {accuracy:.1%} of {len(labels)} clean images right; {self.path} asks for "
                f"{self.file.least_accuracy:.1%} or more (least_accuracy). Check mean, std and channels of its input, "
                "the weights, and the order of its classes (classes may name a file with the class folder of each "
                "output, a line each)."
            )
        return accuracy

    @contextmanager
    def running(self) -> Iterator[Network]:
        """Hold PyTorch to `threads` and deterministic algorithms.

        Several passes in one such block save the switch for each.
        """
        with repeatable(self.device, self.threads):
            yield self._network

    @functools.cached_property
    def _network(self) -> Network:
        return _loaded(self.path, canonical(self.file.model_dump(mode="json")), self.sha256, self.device)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_network"}

    def _outputs_of(self, labels: Wholes, count: int) -> Wholes:
        labels = np.asarray(labels)
        if labels.shape != (count,) or labels.dtype.kind not in "iu":
            raise ModelError(
                f"labels is {labels.dtype} of shape {labels.shape}; expected int64 of shape ({count},): a class for "
                "each image."
            )
        most = self.outputs if self.of_labels is None else len(self.of_labels)
        fits = (labels >= 0) & (labels < most)
        if not fits.all():
            beyond = np.unique(labels[~fits]).tolist()
            raise ModelError(
                f"The model {self.name} has classes 0 to {most - 1}, and there are labels beyond: "
                f"{', '.join(map(str, beyond[:MOST_LISTED]))}{', ...' * (len(beyond) > MOST_LISTED)}."
            )
        return labels.astype(np.int64) if self.of_labels is None else np.array(self.of_labels, np.int64)[labels]

    def _check_images(self, images: NDArray[Any]) -> None:
        (height, width), kinds = self.size, {1: "grey", 3: "RGB"}
        if images.shape[1:] != (height, width, self.channels):
            raise ModelError(
                f"The model {self.name} takes {kinds[self.channels]} images of {height}x{width} (height x width), and "
                f"these are {kinds[images.shape[3]]}, {images.shape[1]}x{images.shape[2]}. Resize the images, or give "
                f"a model of their size and channels. (input of {self.path} says what it takes.)"
            )


@functools.lru_cache(maxsize=2)
def _loaded(path: Path, values: bytes, sha256: str, device: str) -> Network:
    """Return a network, loaded once a process; its weights must be those with this hash."""
    file = ModelFile.model_validate_json(values)
    data, actual = read_weights(path.parent / file.weights_name)
    if actual != sha256:
        raise ModelError(
            f"The weights {path.parent / file.weights_name} changed: they are {actual}, and {sha256} was expected. "
            "Give the file that was used before, or start again."
        )
    with model_called(file.name):
        return Network(load_network(file, path.parent, data), file, check_device(device))


@plain_arguments
def load_surrogate(path: str | Path, *, device: str = "cpu", batch: int = 1) -> Surrogate:
    """Load a model from its file, and check it.

    Parameters
    ----------
    path : str or Path
        A TOML file: docs/models.md describes it.
    device : str
        ``cpu``, ``cuda``, ``cuda:1``. What a network computes differs a little between devices.
    batch : int
        Images that go through the network at once, 1 upwards. With 1, an image's result does not depend on the others.

    Returns
    -------
    Surrogate

    Raises
    ------
    ModelError
        PyTorch or the device is not there; the file has mistakes; the factory or the weights cannot be used; the
        network does not take images of its size, does not repeat itself, or has no gradient.
    """
    if isinstance(batch, bool) or not isinstance(batch, (int, np.integer)) or batch < 1:
        raise ModelError(f"batch is {batch!r}; expected a whole number from 1 upwards.")
    location = Path(path).absolute()
    file = read_model_file(location)
    check_device(device)
    actual = read_weights(location.parent / file.weights_name)[1]
    order = None if file.classes == "index" else class_folders(location.parent / file.classes)
    loaded = Surrogate(location, file, actual, device, int(batch), 0, order)
    with loaded.running() as network:
        count = check_network(network, file, int(batch))
    if order is not None and len(order) != count:
        raise ModelError(
            f"The model {file.name} has {count} outputs, and {file.classes} has {len(order)} class folders; expected "
            "one for each output."
        )
    return replace(loaded, outputs=count)


def given_surrogate(given: Any, **options: Any) -> Surrogate:
    """Return a model that is given as its file or as itself; `options` are those of `load_surrogate`."""
    if isinstance(given, (str, Path)):
        return load_surrogate(given, **options)
    if not hasattr(given, "running"):
        raise ModelError(
            f"The model is a {type(given).__name__}; expected a model file (docs/models.md says how it is written), or "
            "what load_surrogate returns."
        )
    model: Surrogate = given
    return model
