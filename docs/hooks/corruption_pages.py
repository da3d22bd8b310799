"""Site hook that generates the pages of the corruptions from the registry and the templates in this folder."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
from mkdocs.structure.files import File, Files
from PIL import Image, ImageDraw, ImageFont

import corruptset
from corruptset.corruptions.index import FAMILIES
from corruptset.corruptions.registry import Corruption, corruption_names, get_corruption
from corruptset.generate.pixels.preprocessing import preprocess
from corruptset.generate.recipes.recipe import load_recipe
from corruptset.generate.show import of_severities
from corruptset.generate.sources.source import open_source

TITLES = {
    "gradual": "Gradual degradations",
    "adversarial": "Adversarial corruptions",
    "shape": "Shape and MNIST-C",
}
ROLES = {"test": "for testing", "validation": "for validation, excluded from the mean", "train": "for training"}
LEVELS = (1, 5, 10, 20, 30)
UNTABLED = {"salt_pepper": [("density", density) for density in (0.02, 0.05, 0.1, 0.15, 0.2)]}
"""The parameters of the example images of corruptions without published severities."""
SECTION = re.compile(r"^(\w+)\n-+\n", re.MULTILINE)


def on_files(files: Files, config: Any, **_: Any) -> None:
    """Add a page for each family, the table of all corruptions, and their example images."""
    seen = _gallery(Path(config.docs_dir, "gallery.md").read_text("utf-8"))
    declared = [get_corruption(name) for name in corruption_names()]
    families = {family: [known for known in declared if known.family == family] for family in FAMILIES}
    words = {"titles": TITLES, "roles": ROLES, "declared": declared, "families": families}
    for family, members in families.items():
        entries = []
        for known in members:
            record = corruptset.show(known.name).record
            images = dict(_images(known, record.get("tables", {})))
            for file, image in images.items():
                files.append(File.generated(config, f"corruptions/images/{file}", content=image))
            sections = dict(zip(*[iter(["", *SECTION.split(record["documentation"])])] * 2, strict=True))
            sections.setdefault("References", "")
            entries.append((known, record, list(images), sections, seen.get(known.name)))
        title = TITLES.get(family, family.capitalize())
        text = _template("family").render(words, title=title, entries=entries)
        files.append(File.generated(config, f"corruptions/{family}.md", content=text))
    text = _template("families").render(words)
    files.append(File.generated(config, "corruptions/index.md", content=text))


def _template(name: str) -> jinja2.Template:
    """Return a template in the folder of this file."""
    pages = jinja2.Environment(loader=jinja2.FileSystemLoader(Path(__file__).parent), trim_blocks=True)
    filters = (_tables, _columns, _value, _bounds, _drawn, _severities_of)
    pages.filters |= {use.__name__.removeprefix("_"): use for use in filters}
    return pages.get_template(f"{name}.md.jinja")


def _gallery(text: str) -> dict[str, str]:
    """Return the description of each corruption in gallery.md, without the names in front of it."""
    seen: dict[str, str] = {}
    for sentence in re.findall(r"^\* (\*\*[^:]+\*\*.*?)(?=^\* |^$|\Z)", text, re.M | re.S):
        names, _, description = sentence.partition(":")
        description = " ".join(description.split())
        for name in re.findall(r"\*\*([a-z_]+)\*\*", names):
            seen.setdefault(name, re.sub(r"\]\((?!https?:)", "](../", description[:1].upper() + description[1:]))
    return seen


def _tables(record: Mapping[str, Any]) -> list[tuple[str, str, Mapping[str, Any]]]:
    """Return the heading, the first column and the rows of each table of parameters."""
    tables = [(f"calibration `{name}`", "severity", rows) for name, rows in record.get("tables", {}).items()]
    if "ladders" in record:
        tables = [(f"levels 1 to {record['levels']}", "ladder", record["ladders"])]
    return [table for table in tables if _columns(table[2])]


def _columns(rows: Mapping[str, Any]) -> list[str]:
    return list(dict.fromkeys(column for row in rows.values() for column in row))


def _value(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _bounds(p: Any) -> str:
    """Return a description of the values that a parameter accepts."""
    limits = [f", {word} {limit:g}" for word, limit in (("from", p.low), ("to", p.high)) if limit is not None]
    return " or ".join(f"`{word}`" for word in p.choices) or p.kind.__name__ + "".join(limits)


def _drawn(known: Corruption) -> str:
    names = ", ".join(f"`{d.name}`" for d in known.draws)
    return "nothing" if known.deterministic else names or "values for each pixel"


def _severities_of(record: Mapping[str, Any], source: str) -> str:
    which = of_severities(record["source_rows"][source], record["tables"]) if "tables" in record else ""
    return f", {which}" if which else ": "


def _images(known: Corruption, tables: Mapping[str, Any]) -> Iterator[tuple[str, bytes]]:
    """Yield the names and contents of the example images of a corruption, except of those that need a model."""
    small = list(tables) == ["mnist"]
    clean = _numeral() if small else _photograph()
    given: dict[str, Any] = {}
    if known.needs_model:
        strengths: list[tuple[str, Any]] = []
    elif known.gradual is not None:
        strengths = [("level", level) for level in LEVELS]
    elif not tables:
        strengths = UNTABLED[known.name]
    else:
        table = "mnist" if small else "imagenet" if "imagenet" in tables else next(iter(tables))
        strengths = [("severity", int(severity)) for severity in tables[table]]
        given["calibration"] = table
    for word, value in strengths:
        made = Image.fromarray(corruptset.corrupt(clean, known.name, key="docs", **{word: value}, **given).squeeze())
        buffer = io.BytesIO()
        if small:
            made.resize((224, 224), Image.Resampling.NEAREST).save(buffer, "PNG")
        else:
            made.save(buffer, "JPEG", quality=88)
        yield f"{known.name}-{word}-{value}.{'png' if small else 'jpg'}", buffer.getvalue()


def _photograph() -> Any:
    """Return the first photograph of the source ``sample``, cropped as in `imagenet-c`."""
    source = open_source("sample")
    return preprocess(source.load(source.samples[0]).image, load_recipe("imagenet-c").preprocessing)


def _numeral() -> Any:
    """Return a digit like those of MNIST: 28x28, white on black, 20 pixels tall."""
    image = Image.new("L", (28, 28))
    ImageDraw.Draw(image).text((14, 14), "5", 255, font=ImageFont.load_default(26), anchor="mm")
    return np.asarray(image)
