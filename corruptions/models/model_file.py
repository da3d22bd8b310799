"""The TOML file that describes a model.

It says what makes the model, what it takes, and what its outputs mean.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from ...canonical import canonical
from ...error_lines import mistake_lines
from ...errors import ModelError, RecipeError, mistakes, unread_settings
from ...files import parse_toml, read_text, reason

WEIGHT_SUFFIXES = (".safetensors", ".pt", ".pth")
_FACTORY = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


class _Table(BaseModel):
    """Base of what stands in a model file: strict about keys, immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


def _height_and_width(value: Any) -> Any:
    """Read ``size = 224`` as a square."""
    return (value, value) if type(value) is int else value


def _a_value_a_channel(value: Any) -> Any:
    """Read ``mean = 0.5`` as the mean of the one channel."""
    return (value,) if type(value) in (int, float) else value


Side = Annotated[int, Field(strict=True, ge=8, le=65536)]
ChannelValues = Annotated[tuple[float, ...], BeforeValidator(_a_value_a_channel), Field(min_length=1, max_length=3)]
Divisors = Annotated[
    tuple[Annotated[float, Field(gt=0)], ...],
    BeforeValidator(_a_value_a_channel),
    Field(min_length=1, max_length=3),
]


class ModelInput(_Table):
    """``input``: the images that a model takes.

    Pixels are divided by 255; then `mean` is subtracted, and `std` divides.
    """

    size: Annotated[tuple[Side, Side], BeforeValidator(_height_and_width)]
    """(height, width)"""
    mean: ChannelValues
    """In the model's order of channels."""
    std: Divisors
    channels: Literal["rgb", "bgr", "grey"] = "rgb"

    @model_validator(mode="after")
    def _a_mean_and_std_for_each_channel(self) -> ModelInput:
        count = 1 if self.channels == "grey" else 3
        for key in ("mean", "std"):
            got = len(getattr(self, key))
            if got != count:
                raise ValueError(
                    f"{key} has {got} value{'s' * (got != 1)}; {self.channels} has {count} channel{'s' * (count != 1)}"
                )
        if any(abs(mean) > 1 for mean in self.mean):
            raise ValueError("mean is beyond -1..1; pixels are divided by 255 first: divide mean and std by 255")
        return self


def _a_factory(value: str) -> str:
    if not _FACTORY.fullmatch(value):
        raise ValueError(f"is {value!r}; expected 'module:callable', such as 'torchvision.models:resnet50'")
    return value


def _plain_values(value: dict[str, Any]) -> dict[str, Any]:
    try:
        canonical(value)
    except (TypeError, ValueError) as e:
        raise ValueError(f"stands in the manifest, and JSON cannot have it: {e}") from None
    return value


class ModelFile(_Table):
    """A model as its file has it."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    factory: Annotated[str, AfterValidator(_a_factory)] | None = None
    """``module:callable``, which returns a `torch.nn.Module`."""
    program: Annotated[str, Field(min_length=1)] | None = None
    """A ``.pt2`` file, in place of factory and weights; its path is relative to this file's."""
    trust: Annotated[bool, Field(strict=True)] = False
    """That a program's code may run."""
    arguments: Annotated[dict[str, Any], AfterValidator(_plain_values)] = {}
    """Keyword arguments of the factory."""
    weights: Annotated[str, Field(min_length=1)] | None = None
    """``.safetensors``, ``.pt`` or ``.pth``; the path is relative to this file's."""
    input: ModelInput
    outputs: Literal["logits", "probabilities"] = "logits"
    classes: Annotated[str, Field(min_length=1)] = "index"
    """``index``: the outputs are in the data set's class order; or a file with the class folder of each output, a line
    each.
    """
    least_accuracy: Annotated[float, Field(ge=0, le=1)] = 0.0
    """On the clean images that the model is shown; below it the model is refused."""

    @model_validator(mode="after")
    def _one_way_to_make_it(self) -> ModelFile:
        if (self.factory is None) == (self.program is None):
            both = "factory and program" if self.factory else "neither factory nor program"
            raise ValueError(
                f"has {both}; expected one of them: factory = 'module:callable' with weights, or program = 'model.pt2'"
            )
        if self.program is not None and (self.weights is not None or self.arguments):
            raise ValueError(
                "has a program and weights or arguments; a program holds its weights and takes no arguments"
            )
        if self.program is not None and not self.program.endswith(".pt2"):
            raise ValueError(f"program is {self.program!r}; expected a .pt2 file, as torch.export.save writes it")
        if self.program is not None and not self.trust:
            raise ValueError(
                "a program is code, and loading it can do anything that you can do: write trust = true if you know "
                "where it comes from"
            )
        if self.factory is not None and self.weights is None:
            raise ValueError(
                "weights is missing: the file of the factory's state dict (.safetensors, or .pt of torch.save)"
            )
        if self.weights is not None and not self.weights.endswith(WEIGHT_SUFFIXES):
            raise ValueError(
                f"weights is {self.weights!r}; expected a file that ends in one of {', '.join(WEIGHT_SUFFIXES)}"
            )
        return self

    @property
    def weights_name(self) -> str:
        """The file that is hashed: the weights, or the program."""
        return self.weights or self.program or ""

    @property
    def channels(self) -> int:
        """1 for grey, 3 for colour."""
        return len(self.input.mean)


def read_model_file(path: Path) -> ModelFile:
    """Read a model file.

    Raises
    ------
    ModelError
        It cannot be read, is not TOML, or has mistakes: all of them, each with its key.
    """
    where = f"The model file {path}"
    try:
        values = parse_toml(read_text(path), where)
    except OSError as e:
        raise ModelError(f"{where} cannot be read: {reason(e)}.{unread_settings(where)}") from None
    except RecipeError as e:
        raise ModelError(str(e)) from None
    try:
        return ModelFile.model_validate(values)
    except ValidationError as e:
        raise ModelError(mistakes(where, mistake_lines(e, ModelFile))) from None


def class_folders(path: Path) -> tuple[str, ...]:
    """Read the class folder of each output, a line each; or raise `ModelError`."""
    try:
        lines = [line.strip() for line in read_text(path).split("\n")]
    except OSError as e:
        raise ModelError(f"The file of class folders {path} cannot be read: {reason(e)}.") from None
    folders = tuple(lines[:-1] if lines and not lines[-1] else lines)
    wrong = [repr(folder) for folder, count in Counter(folders).items() if not folder or count > 1]
    if wrong or not folders:
        has = f"has {', '.join(wrong[:4])}" if wrong else "is empty"
        raise ModelError(
            f"The file of class folders {path} {has}; expected a line for each output, none empty and none twice."
        )
    return folders
