"""The class `Surrogate`, which represents a model from a model file, and the function that loads it."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...canonical import canonical_sha256
from ...digests import digest_of
from ...errors import ModelError, format_list
from ...files import open_regular, reason
from ..keys import Int64Array
from .model_file import ModelFile, class_folders, read_model_file
from .protocol import Model, check_logits
from .torch_model import TorchModel, import_torch, load_module, set_up

MAX_LISTED = 8
"""The maximum number of class folders or labels that an error message lists."""
KINDS = {1: "grey", 3: "RGB"}


@dataclass(frozen=True)
class Surrogate:
    """A model for predictions and gradients, which `load_surrogate` has loaded from a model file.

    A surrogate is pickled without its network. The process that unpickles the surrogate loads the network when it is
    first needed, and raises `ModelError` if the weights have changed.
    """

    path: Path
    """The model file."""
    file: ModelFile = field(repr=False)
    sha256: str
    """The digest ``sha256:<hex>`` of the file with the weights or the program."""
    device: str
    batch: int
    """The batch size."""
    outputs: int
    """The number of outputs of the network."""
    folders: tuple[str, ...] | None = field(default=None, repr=False)
    """The class folder of each output, or None if the outputs are in the dataset's order."""
    threads: int = 1
    """The number of CPU threads that PyTorch uses, on which the results depend."""
    columns: tuple[int, ...] | None = field(default=None, repr=False)
    """The output of each class of a dataset, or None if labels are indices of the outputs."""

    @property
    def name(self) -> str:
        return self.file.name

    @property
    def size(self) -> tuple[int, int]:
        """The height and width of the images that the model expects."""
        return self.file.input.size

    @property
    def channels(self) -> int:
        """The number of channels, which is 1 for grey and 3 for colour. Images are RGB even if the network uses BGR."""
        return self.file.channels

    def record(self) -> dict[str, Any]:
        """Return the record of the model for a manifest."""
        factory = {"factory": self.file.factory, "arguments": self.file.arguments}
        return {
            "name": self.name,
            **({"program": self.file.program} if self.file.program else factory),
            "weights": self.sha256,
            "input": self.file.input.model_dump(mode="json"),
            "outputs": self.file.outputs,
            "classes": "index" if self.folders is None else canonical_sha256(list(self.folders)),
            "torch": str(import_torch().__version__),
            "device": self.device,
            "batch": self.batch,
            "threads": self.threads,
        }

    def for_classes(self, folders: Sequence[str]) -> Surrogate:
        """Return the same model for a dataset, with labels and logits in the order of its class folders.

        Raises
        ------
        ModelError
            If a class has no output. With ``classes = "index"``, it is also an error if the numbers of outputs and
            classes differ.
        """
        if self.folders is None:
            if len(folders) != self.outputs:
                raise ModelError(
                    f"The model {self.name} has {self.outputs} outputs, but the dataset has {len(folders)} classes. "
                    "With classes = 'index', there must be one output per class, in the same order. Write a file with "
                    f"the class folder of each output, one per line, and set classes in {self.path} to its name."
                )
            return replace(self, columns=tuple(range(self.outputs)))
        outputs = {folder: output for output, folder in enumerate(self.folders)}
        if missing := [folder for folder in folders if folder not in outputs]:
            raise ModelError(
                f"The model {self.name} has no output for {len(missing)} of the {len(folders)} classes of the dataset. "
                f"The file that lists its class folders ({self.file.classes}) does not contain:\n"
                f"{format_list(missing, MAX_LISTED)}"
            )
        return replace(self, columns=tuple(outputs[folder] for folder in folders))

    def logits(self, images: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return the logits of images, as `protocol.Model` describes them.

        There is one column per output, or, after `for_classes`, one column per class of the dataset.
        """
        self._check_images(images)
        logits = self._network.logits(images) if len(images) else np.empty((0, self.outputs), np.float32)
        return logits if self.columns is None else logits[:, self.columns]

    def gradient(self, images: NDArray[Any], labels: Int64Array) -> NDArray[np.float32]:
        """Return the gradient of each image's loss with respect to its pixels, as `protocol.Model` describes it.

        Raises
        ------
        ModelError
            If the images do not have the size and channels of the model, or if a label has no output.
        """
        self._check_images(images)
        outputs = self._outputs_of(labels)
        return self._network.gradient(images, outputs)

    @property
    def memory(self) -> int:
        """The estimated memory in bytes that a process needs for gradients, in addition to PyTorch itself."""
        return self._network.memory(np.zeros((self.batch, *self.size, self.channels), np.float32))

    def check_accuracy(self, images: NDArray[np.uint8], labels: Int64Array) -> float:
        """Return the accuracy on clean images, or raise `ModelError` if it is below the file's `least_accuracy`."""
        outputs = self._outputs_of(labels)
        accuracy = float((self._network.logits(images).argmax(axis=1) == outputs).mean())
        if accuracy < self.file.least_accuracy:
            raise ModelError(
                f"The model {self.name} classifies {accuracy:.1%} of {len(labels)} clean images correctly, but "
                f"{self.path} requires at least {self.file.least_accuracy:.1%} (least_accuracy). Check mean, std and "
                "channels of its input, the weights, and the order of its classes. If the order differs from that of "
                "the dataset, set classes to a file with the class folder of each output, one per line."
            )
        return accuracy

    @functools.cached_property
    def _network(self) -> TorchModel:
        module = _load_network(self.path, self.file.model_dump_json(), self.sha256, self.device)
        return TorchModel(module, self.file, device=self.device, batch=self.batch, threads=self.threads)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_network"}

    def _outputs_of(self, labels: Int64Array) -> Int64Array:
        """Return the index of the model output that belongs to each label."""
        columns = np.arange(self.outputs) if self.columns is None else np.array(self.columns, np.int64)
        beyond = np.unique(labels[(labels < 0) | (labels >= len(columns))]).tolist()
        if beyond:
            raise ModelError(
                f"The model {self.name} has classes 0 to {len(columns) - 1}, but some labels are outside this range: "
                f"{', '.join(map(str, beyond[:MAX_LISTED]))}{', ...' * (len(beyond) > MAX_LISTED)}."
            )
        return columns[labels]

    def _check_images(self, images: NDArray[Any]) -> None:
        (height, width), shape = self.size, images.shape
        if shape[1:] != (height, width, self.channels):
            raise ModelError(
                f"The model {self.name} expects {KINDS[self.channels]} images of {height}x{width} (height x width), "
                f"but these are {KINDS[shape[3]]}, {shape[1]}x{shape[2]}. Resize the images, or use a model with their "
                f"size and channels (input in {self.path})."
            )


@functools.lru_cache(maxsize=2)
def _load_network(path: Path, values: str, sha256: str, device: str) -> Any:
    """Load a network once per process, or raise `ModelError` if its weights have a different hash."""
    file = ModelFile.model_validate_json(values)
    data, found = _read_weights(path.parent / file.weights_name)
    if found != sha256:
        raise ModelError(
            f"The weights {path.parent / file.weights_name} have changed. Their digest is {found}, but {sha256} was "
            "expected. Restore the original file, or start from the beginning."
        )
    set_up(device)
    return load_module(file, path.parent, data, device)


def _read_weights(path: Path) -> tuple[bytes, str]:
    """Return the contents of a weights file and their digest ``sha256:<hex>``."""
    try:
        with open_regular(path) as file:
            data = file.read()
    except OSError as e:
        raise ModelError(f"The weights {path} cannot be read: {reason(e)}.") from None
    return data, digest_of(hashlib.sha256(data))


def load_surrogate(path: str | Path, *, device: str = "cpu", batch: int = 1) -> Surrogate:
    """Load a PyTorch model from its model file.

    After this call, PyTorch uses deterministic algorithms in this process and, on the CPU, one thread.

    Parameters
    ----------
    path : str or Path
        The model file, which docs/models.md describes.
    device : str
        ``cpu``, ``cuda`` or ``cuda:1``. Results differ a little between devices.
    batch : int
        The batch size. If it is 1, the result for an image does not depend on the other images.

    Returns
    -------
    Surrogate

    Raises
    ------
    ModelError
        If PyTorch or the device is missing, if the file contains errors, if the factory or the weights cannot be used,
        or if the network does not return finite logits for images of its size.
    """
    if isinstance(batch, bool) or not isinstance(batch, (int, np.integer)) or batch < 1:
        raise ModelError(f"batch is {batch!r}; expected a whole number from 1 upwards.")
    location = Path(path).absolute()
    file = read_model_file(location)
    set_up(device)
    sha256 = _read_weights(location.parent / file.weights_name)[1]
    folders = None if file.classes == "index" else class_folders(location.parent / file.classes)
    model = Surrogate(location, file, sha256, device, int(batch), 0, folders)
    noise = np.random.default_rng(0).integers(0, 256, (int(batch), *model.size, model.channels), dtype=np.uint8)
    outputs = check_logits(model.logits(noise), file.name, len(noise))
    if folders is not None and len(folders) != outputs:
        raise ModelError(
            f"The model {file.name} has {outputs} outputs, but {file.classes} has {len(folders)} class folders; "
            "expected one per output."
        )
    return replace(model, outputs=outputs)


def given_model(given: Any) -> Model:
    """Return the model for a call, from a model file or an object that implements `protocol.Model`."""
    if isinstance(given, (str, Path)):
        return load_surrogate(given)
    if not isinstance(given, Model):
        raise ModelError(
            f"The model is a {type(given).__name__}; expected a model file (docs/models.md), the result of "
            "load_surrogate, or an object with the methods logits and gradient."
        )
    return given
