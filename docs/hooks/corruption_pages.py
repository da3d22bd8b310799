"""Site hook: the pages of the corruptions, made from the registry."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from mkdocs.structure.files import File, Files
from PIL import Image, ImageDraw, ImageFont

import corruptset
from corruptset.corruptions.registry import FAMILIES, Corruption, corruption_names, get_corruption
from corruptset.generate.pixels.preprocessing import preprocess
from corruptset.generate.recipes.recipe import load_recipe
from corruptset.generate.show import of_severities
from corruptset.generate.sources.source import open_source

TITLES = {
    "gradual": "Gradual degradations",
    "adversarial": "Led by a model",
    "shape": "Shape and MNIST-C",
}
ROLES = {"test": "to test on", "validation": "validation: not in the benchmark's mean", "train": "to train with"}
LEVELS = (1, 5, 10, 20, 30)
UNTABLED = {"salt_pepper": [("density", density) for density in (0.02, 0.05, 0.1, 0.15, 0.2)]}
"""What pictures show of corruptions without published severities."""
SECTION = re.compile(r"^(\w+)\n-+\n", re.MULTILINE)


def on_files(files: Files, config: Any, **_: Any) -> None:
    """Add a page for each family, the table of all corruptions, and their pictures."""
    gallery = (Path(config.docs_dir) / "gallery.md").read_text("utf-8")
    sentences = re.findall(r"^\* (\*\*[^:]+\*\*.*?)(?=^\* |^$|\Z)", gallery, re.M | re.S)
    seen = {name: text for text in reversed(sentences) for name in _names(text)}
    seen |= {name: "" for name in corruption_names() if name not in seen}
    declared = {name: get_corruption(name) for name in corruption_names()}
    for family in FAMILIES:
        parts = [f"# {_title(family)}\n"]
        for name, known in declared.items():
            if known.family == family:
                record = corruptset.show(name).record
                pictures = dict(_pictures(known, record.get("tables", {})))
                for file, picture in pictures.items():
                    files.append(File.generated(config, f"corruptions/pictures/{file}", content=picture))
                parts += _entry(known, record, list(pictures), _sentence(seen[name]))
        files.append(File.generated(config, f"corruptions/{family}.md", content="\n".join(parts)))
    files.append(File.generated(config, "corruptions/index.md", content=_index(declared)))


def _names(text: str) -> list[str]:
    """Return the corruptions that a sentence of the gallery is about."""
    return re.findall(r"\*\*([a-z_]+)\*\*", text.partition(":")[0])


def _sentence(text: str) -> str:
    """Return what the gallery saw, without the names before it."""
    said = " ".join(text.partition(":")[2].split())
    return re.sub(r"\]\((?!https?:)", "](../", said[:1].upper() + said[1:])


def _title(family: str) -> str:
    return TITLES.get(family, family.capitalize())


def _index(declared: Mapping[str, Corruption]) -> str:
    """Return the page that lists all corruptions."""
    text = [
        f"# Corruptions\n\nAll {len(declared)}, by family. A name leads to its pictures, tables, parameters, oddities "
        "and source.\n"
    ]
    for family in FAMILIES:
        text += [
            f"## {_title(family)}\n",
            "| corruption | role | draws at random | what it does |",
            "|---|---|---|---|",
        ]
        for name, known in declared.items():
            if known.family == family:
                drawn = (
                    "nothing"
                    if known.deterministic
                    else ", ".join(f"`{d.name}`" for d in known.draws) or "values for each pixel"
                )
                about = (known.function.__doc__ or "").strip().partition("\n")[0]
                text.append(f"| [{name}]({family}.md#{name}) | {known.role} | {drawn} | {about} |")
        text.append("")
    return "\n".join(text)


def _entry(known: Corruption, record: Mapping[str, Any], pictures: list[str], seen: str) -> Iterator[str]:
    """Yield the parts of one corruption's section."""
    written, *rest = SECTION.split(record["documentation"])
    sections = dict(zip(rest[::2], rest[1::2], strict=True))
    yield f"## `{known.name}` {{ #{known.name} }}\n\n{written.strip()}\n"
    if pictures:
        yield f'<div class="tiles">{"".join(map(_tile, pictures))}</div>\n'
    if known.needs_model:
        yield "![Clean, attacked, and what changed](../pictures/adversarial.png)\n"
    if seen:
        yield f"**Seen.** {seen}\n"
    yield from _tables(record)
    yield from _parameters(known)
    if notes := sections.get("Notes"):
        yield f"**Oddities and notes.** {notes.strip()}\n"
    drawn = "nothing is drawn" if known.deterministic else "draws at random"
    moves = "pixels stay in place" if known.preserves_geometry else "pixels move"
    yield f"**Facts.** {known.family}, {ROLES[known.role]}; revision {known.revision}; {drawn}; {moves}.\n"
    yield f"**Source.** {' '.join([f'{known.reference}.', *sections.get('References', '').split()])}\n"
    for source in record["sources"]:
        which = of_severities(record["source_rows"][source], record["tables"]) if "tables" in record else ""
        yield f"* Its table{', ' if which else ': '}{which}{source}\n"


def _tile(file: str) -> str:
    words = file.rpartition(".")[0].partition("-")[2].replace("-", " ")
    return (
        f'<figure><img src="../pictures/{file}" alt="{words}" loading="lazy"><figcaption>{words}</figcaption></figure>'
    )


def _tables(record: Mapping[str, Any]) -> Iterator[str]:
    """Yield the parameters at each severity, by calibration, or of each ladder."""
    tables = {f"calibration `{name}`": ("severity", rows) for name, rows in record.get("tables", {}).items()}
    if "ladders" in record:
        tables = {f"levels 1 to {record['levels']}": ("ladder", record["ladders"])}
    for heading, (first, rows) in tables.items():
        columns = list(dict.fromkeys(column for row in rows.values() for column in row))
        if columns:
            yield f'???{"+" if "`imagenet`" in heading else ""} note "Parameters, {heading}"\n'
            yield f"    | {first} | {' | '.join(columns)} |\n    |{'---|' * (len(columns) + 1)}"
            for number, row in rows.items():
                yield f"    | {number} | {' | '.join(_value(row.get(column, '')) for column in columns)} |"
            yield ""


def _parameters(known: Corruption) -> Iterator[str]:
    """Yield the table of what can be given."""
    if not (known.parameters or known.draws):
        return
    yield "| parameter | values | meaning |\n|---|---|---|"
    for p in known.parameters:
        bounds = p.kind.__name__ + "".join(
            f", {word} {bound:g}" for word, bound in (("from", p.low), ("to", p.high)) if bound is not None
        )
        values = " or ".join(f"`{word}`" for word in p.choices) or bounds
        default = f"; default `{p.default}`" if p.option else ""
        scales = '; grows with the image under `scale="side"`' if p.length else ""
        yield f"| `{p.name}` | {values}{default} | {p.about}{scales} |"
    for d in known.draws:
        yield f"| `{d.name}` | a draw: random unless given | {d.about.replace('|', '&#124;')} |"
    yield ""


def _value(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _pictures(known: Corruption, tables: Mapping[str, Any]) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a corruption's pictures.

    They are made by `corruptset.corrupt`; those of a model are not made here.
    """
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
    """Return the sample source's first photograph, as `imagenet-c` crops it."""
    source = open_source("sample")
    return preprocess(source.load(source.samples[0]).image, load_recipe("imagenet-c").preprocessing)


def _numeral() -> Any:
    """Return a digit of 28x28, as MNIST's are: white on black, 20 pixels tall."""
    picture = Image.new("L", (28, 28))
    ImageDraw.Draw(picture).text((14, 14), "5", 255, font=ImageFont.load_default(26), anchor="mm")
    return np.asarray(picture)
