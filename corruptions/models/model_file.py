"""The model file, a TOML file that describes the factory, weights, input and outputs of a PyTorch model."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from ...canonical import canonical
from ...error_lines import error_lines
from ...errors import ModelError, RecipeError, problems_message
from ...files import parse_toml, read_text, reason

WEIGHT_SUFFIXES = (".safetensors", ".pt", ".pth")
_FACTORY = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


def _height_and_width(value: Any) -> Any:
    return (value, value) if type(value) is int else value


def _value_of_one_channel(value: Any) -> Any:
    return (value,) if type(value) in (int, float) else value


Name = Annotated[str, Field(min_length=1)]
Side = Annotated[int, Field(strict=True, ge=8, le=65536)]
PerChannel = (BeforeValidator(_value_of_one_channel), Field(min_length=1, max_length=3))


class ModelInput(_Table):
    """The table ``input``, which describes the images that a model expects.

    Pixels are divided by 255, `mean` is subtracted, and the result is divided by `std`.
    """

    size: Annotated[tuple[Side, Side], BeforeValidator(_height_and_width)]
    """The height and width. A single number stands for a square."""
    mean: Annotated[tuple[float, ...], *PerChannel]
    """One value per channel, in the channel order of the model."""
    std: Annotated[tuple[Annotated[float, Field(gt=0)], ...], *PerChannel]
    channels: Literal["rgb", "bgr", "grey"] = "rgb"

    @model_validator(mode="after")
    def _check_channels(self) -> ModelInput:
        count = 1 if self.channels == "grey" else 3
        for key in ("mean", "std"):
            given = len(getattr(self, key))
            if given != count:
                raise ValueError(
                    f"{key} has {given} value{'s' * (given != 1)}; {self.channels} has {count} "
                    f"channel{'s' * (count != 1)}"
                )
        if any(abs(mean) > 1 for mean in self.mean):
            raise ValueError("mean is outside -1..1; divide mean and std by 255, because pixels are divided by 255")
        return self


def _check_factory(value: str) -> str:
    if not _FACTORY.fullmatch(value):
        raise ValueError(f"is {value!r}; expected 'module:callable', such as 'torchvision.models:resnet50'")
    return value


def _check_arguments(value: dict[str, Any]) -> dict[str, Any]:
    try:
        canonical(value)
    except (TypeError, ValueError) as e:
        raise ValueError(f"cannot be stored in the manifest, which is JSON: {e}") from None
    return value


class ModelFile(_Table):
    """The contents of a model file. Paths are relative to the folder of the file."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    factory: Annotated[str, AfterValidator(_check_factory)] | None = None
    """``module:callable``, which returns a `torch.nn.Module`."""
    arguments: Annotated[dict[str, Any], AfterValidator(_check_arguments)] = {}
    """Keyword arguments of the factory."""
    weights: Name | None = None
    """The file with the state dict. Its name ends in ``.safetensors``, ``.pt`` or ``.pth``."""
    program: Name | None = None
    """A ``.pt2`` file written by `torch.export.save`, which replaces a factory and weights."""
    trust: Annotated[bool, Field(strict=True)] = False
    """Whether the code in the program may be executed."""
    input: ModelInput
    outputs: Literal["logits", "probabilities"] = "logits"
    classes: Name = "index"
    """``index`` for outputs in the dataset's class order, or a file that lists the class folder of each output."""
    least_accuracy: Annotated[float, Field(ge=0, le=1)] = 0.0
    """The minimum accuracy on clean images. A model with a lower accuracy is refused."""

    @model_validator(mode="after")
    def _check_source(self) -> ModelFile:
        if (self.factory is None) == (self.program is None):
            both = "factory and program" if self.factory else "neither factory nor program"
            raise ValueError(
                f"has {both}; expected one of them: factory = 'module:callable' with weights, or program = 'model.pt2'"
            )
        if self.program is not None:
            if self.weights is not None or self.arguments:
                raise ValueError(
                    "has a program and weights or arguments; remove these, because a program contains its weights"
                )
            if not self.program.endswith(".pt2"):
                raise ValueError(f"program is {self.program!r}; expected a .pt2 file, as torch.export.save writes it")
            if not self.trust:
                raise ValueError(
                    "a program contains code that is executed with your permissions; write trust = true if you trust "
                    "its origin"
                )
        elif self.weights is None:
            raise ValueError(
                "weights is missing; expected the file of the factory's state dict (.safetensors, or .pt of torch.save)"
            )
        elif not self.weights.endswith(WEIGHT_SUFFIXES):
            raise ValueError(
                f"weights is {self.weights!r}; expected a file that ends in one of {', '.join(WEIGHT_SUFFIXES)}"
            )
        return self

    @property
    def weights_name(self) -> str:
        """The name of the file with the weights or the program, whose hash identifies the model."""
        return self.weights or self.program or ""

    @property
    def channels(self) -> int:
        """The number of channels, which is 1 for grey and 3 for colour."""
        return len(self.input.mean)


def read_model_file(path: Path) -> ModelFile:
    """Read a model file, or raise `ModelError` with a list of all errors."""
    where = f"The model file {path}"
    try:
        return ModelFile.model_validate(parse_toml(read_text(path), where))
    except OSError as e:
        raise ModelError(f"{where} cannot be read: {reason(e)}.") from None
    except RecipeError as e:
        raise ModelError(str(e)) from None
    except ValidationError as e:
        raise ModelError(problems_message(where, error_lines(e))) from None


def class_folders(path: Path) -> tuple[str, ...]:
    """Read a file with the class folder of each output, one per line, or raise `ModelError`."""
    try:
        lines = [line.strip() for line in read_text(path).split("\n")]
    except OSError as e:
        raise ModelError(f"The list of class folders in {path} cannot be read: {reason(e)}.") from None
    folders = tuple(lines if lines[-1] else lines[:-1])
    wrong = [repr(folder) for folder, count in Counter(folders).items() if not folder or count > 1]
    if wrong or not folders:
        has = f"has {', '.join(wrong[:4])}" if wrong else "is empty"
        raise ModelError(
            f"The list of class folders in {path} {has}; expected one line per output, without empty or repeated lines."
        )
    return folders
