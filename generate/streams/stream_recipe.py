"""Recipes of streams: which corruptions come and go, how fast, at what accuracy of a reference model."""

from __future__ import annotations

from importlib.resources import files
from itertools import permutations
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, ValidationError, model_validator

from ...corruptions.calibrations import Calibration, get_calibration
from ...corruptions.fractional import severity_number, severity_text
from ...corruptions.stages import Stage, resolve_stage, set_id
from ...error_lines import mistake_lines
from ...errors import CorruptsetError, RecipeError, mistakes, suggest
from ...files import read_text, reason
from ...toml import parse_toml
from ..pixels.encoding import JpegEncoding
from ..pixels.preprocessing import Preprocessing
from ..recipes.expectations import Expects
from ..recipes.file_models import CorruptionName, RecipeTable

Cell = tuple[str, float, str, float]
"""First corruption and its severity, second corruption and its severity; a severity of 0 is no stage."""


STEPS = (0.25, 0.5, 1.0)


def _step(value: float) -> float:
    if value not in STEPS:
        raise ValueError(f"is {value:g}; expected one of {', '.join(f'{step:g}' for step in STEPS)}")
    return value


class StreamTable(RecipeTable):
    """``[stream]``."""

    corruptions: Annotated[tuple[CorruptionName, ...], Field(min_length=2)]
    baseline: Annotated[float, Field(ge=0, le=100)]
    """Accuracy in per cent that the mean along every pair's path stays near to."""
    step: Annotated[float, AfterValidator(_step)] = 0.25
    """Between severities of the grid."""
    speed: Annotated[int, Field(strict=True, ge=1)] = 1000
    """Images before the severities change."""
    length: Annotated[int, Field(strict=True, ge=1, le=2**53 - 1)] = 7_500_000
    """Images."""
    crops: Literal["random", "preprocessing"] = "random"
    """``random``: every visit to an image flips and crops it anew, to the size of the preprocessing."""
    tar: Annotated[int, Field(strict=True, ge=1, le=1_000_000)] = 25_000
    """Images of one tar."""

    @model_validator(mode="after")
    def _each_once(self) -> StreamTable:
        if len(set(self.corruptions)) < len(self.corruptions):
            raise ValueError("corruptions names one twice")
        return self


class StreamRecipe(RecipeTable):
    """A recipe of a stream as its TOML file has it."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$", max_length=64)]
    version: Annotated[str, Field(pattern=r"^[0-9A-Za-z][0-9A-Za-z._+-]*$", max_length=64)]
    title: str = ""
    description: str = ""
    calibration: str
    scale: Literal["none", "side"] = "none"
    expects: Expects | None = None
    preprocessing: Preprocessing
    encoding: JpegEncoding = JpegEncoding(optimize=True)
    stream: StreamTable

    @model_validator(mode="after")
    def _one_size(self) -> StreamRecipe:
        if self.preprocessing.kind in ("none", "surrogate"):
            raise ValueError("preprocessing is one that keeps each image's size; expected resize-crop, central-resize, resize or pad")
        return self

    @property
    def folder(self) -> str:
        """What streams of this recipe lie in."""
        return f"{self.name}-{self.version}"

    @property
    def severities(self) -> list[float]:
        """Of the grid, from 0 to 5."""
        return [severity_number(k * self.stream.step) or 0 for k in range(round(5 / self.stream.step) + 1)]

    def table(self) -> Calibration:
        """Return the calibration that the recipe names."""
        return get_calibration(self.calibration)

    def stages(self, cell: Cell) -> tuple[Stage, ...]:
        """Return the stages of a cell of a pair's grid."""
        table = self.table()
        pairs = ((cell[0], cell[1]), (cell[2], cell[3]))
        return tuple(resolve_stage(name, table, severity=severity) for name, severity in pairs if severity)

    def check(self) -> None:
        """Raise `RecipeError` with everything that is wrong with the corruptions."""
        problems = []
        for name in self.stream.corruptions:
            for severity in self.severities[1:]:
                try:
                    resolve_stage(name, self.table(), severity=severity)
                except CorruptsetError as e:
                    problems.append(str(e))
                    break
        if problems:
            raise RecipeError(mistakes(f"The stream {self.name}", problems))

    def grid_recipe(self) -> str:
        """Return the text of a recipe of all sets whose accuracy the paths of the stream depend on."""
        names = ", ".join(f'"{name}"' for name in self.stream.corruptions)
        settings = [f"{key} = {_toml(value)}" for key, value in self.preprocessing.as_json().items()]
        severities = ", ".join(f"{s:g}" for s in self.severities[1:])
        return "\n".join(
            [
                f'name = "{self.name}-grid"',
                f'version = "{self.version}"',
                f'title = "What the paths of the stream {self.name} depend on"',
                f'calibration = "{self.calibration}"',
                f'scale = "{self.scale}"',
                "[preprocessing]",
                *settings,
                "[encoding]",
                'format = "jpeg"',
                f"quality = {self.encoding.quality}",
                "[[sets]]",
                f"corruptions = [{names}]",
                f"severities = [{severities}]",
                "[[pairs]]",
                f"first = [{names}]",
                f"second = [{names}]",
                f"severities = [{severities}]",
                'orders = "given"',
                "same = false",
                "",
            ]
        )

    def pairs(self) -> list[tuple[str, str]]:
        """Return the ordered pairs."""
        return list(permutations(self.stream.corruptions, 2))


def cell_id(cell: Cell) -> str:
    """Return the id of the set that a cell of a pair's grid is.

    Examples
    --------
    >>> cell_id(("fog", 0.25, "snow", 3)), cell_id(("fog", 0, "snow", 3))
    ('fog-0p25+snow-3', 'snow/3')
    """
    first, s1, second, s2 = cell
    if s1 and s2:
        return f"{first}-{severity_text(s1)}+{second}-{severity_text(s2)}"
    return f"{first}/{severity_text(s1)}" if s1 else f"{second}/{severity_text(s2)}" if s2 else set_id(())


def _toml(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else f"{value:g}"


def stream_names() -> tuple[str, ...]:
    """Return the names of the streams that come with the package."""
    return tuple(sorted(f.name.removesuffix(".toml") for f in files(__package__).iterdir() if f.name.endswith(".toml")))


def load_stream(recipe: str | Path | StreamRecipe) -> StreamRecipe:
    """Return a stream's recipe by name, or from a user's own file (a path ending in ``.toml``).

    Raises
    ------
    RecipeError
        There is no such recipe, or it has mistakes: all of them.
    """
    if isinstance(recipe, StreamRecipe):
        return recipe
    if isinstance(recipe, Path) or recipe.endswith(".toml"):
        try:
            return parse_stream(read_text(Path(recipe)), f"The recipe file {recipe}", folder=Path(recipe).parent)
        except OSError as e:
            raise RecipeError(f"The recipe file {recipe} cannot be read: {reason(e)}.") from None
    if recipe not in stream_names():
        raise RecipeError(
            f"There is no stream {recipe!r}.{suggest(recipe, stream_names())} Known: {', '.join(stream_names())}; the path of a recipe "
            "file ends in .toml."
        )
    return parse_stream((files(__package__) / f"{recipe}.toml").read_text(encoding="utf-8"), f"The shipped stream {recipe}")


def parse_stream(text: str, where: str, *, folder: Path | None = None) -> StreamRecipe:
    """Read a stream's recipe from TOML, or raise `RecipeError` with every mistake."""
    data = parse_toml(text, where)
    calibration = data.get("calibration")
    if isinstance(calibration, str) and calibration.endswith(".toml") and folder is not None:
        data["calibration"] = str(folder / calibration)
    try:
        recipe = StreamRecipe.model_validate(data)
    except ValidationError as e:
        raise RecipeError(mistakes(where, mistake_lines(e, StreamRecipe))) from None
    recipe.check()
    return recipe
