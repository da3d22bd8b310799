"""The page: right answers are not in it, pictures lose nothing, and text of strangers stays text."""

from __future__ import annotations

import base64
import hashlib
import html
import io
import re
from pathlib import Path

import numpy as np
import pytest
from corruptset_pairs.sheet import Sheet, pairs_sheet
from PIL import Image
from studies import HOSTILE, data_of

from corruptset.errors import StudyError
from corruptset.manifests.reader import DataSet


@pytest.mark.parametrize("sheet", ["pairs_of_model", "levels_sheet"])
def test_nothing_in_the_page_tells_the_right_answers(sheet: str, request: pytest.FixtureRequest) -> None:
    made: Sheet = request.getfixturevalue(sheet)
    page = made.page.read_text("utf-8")
    data = data_of(page)
    assert set(data) == {"schema_version", "study", "enlargement", "categories", "labels", "trials"}
    without_pictures = re.sub(r'"[A-Za-z0-9+/=]{80,}"', '""', page)
    for trial in made.key.trials:
        assert trial.sample not in page
        assert trial.set == "clean" or trial.set not in page
        assert without_pictures.count(trial.id) == 1
    for word in (
        "anchor",
        "partner",
        "shrink",
        "black_lines",
        '"right"',
        '"category"',
        made.key.digest,
        str(made.key.model),
    ):
        assert word not in without_pictures, word
    for group, shown in data["trials"].items():
        # in the order of their names, which are hashes
        assert [trial for trial, _ in shown] == sorted(t.id for t in made.key.trials if t.group == group)
        for _, picture in shown:
            raw = base64.b64decode(picture)
            chunks, at = [], 8
            while at < len(raw):
                chunks.append(raw[at + 4 : at + 8])
                at += 12 + int.from_bytes(raw[at : at + 4])
            assert set(chunks) == {b"IHDR", b"IDAT", b"IEND"}


@pytest.mark.parametrize(("sheet", "data"), [("pairs_of_model", "regions"), ("levels_sheet", "levels")])
def test_pictures_are_those_of_the_data_set_to_the_last_bit(
    sheet: str, data: str, request: pytest.FixtureRequest
) -> None:
    made: Sheet = request.getfixturevalue(sheet)
    images: DataSet = request.getfixturevalue(data)
    index = {sample.id: sample.index for sample in images.samples}
    shown = {trial: raw for group in data_of(made.page.read_text("utf-8"))["trials"].values() for trial, raw in group}
    for trial in made.key.trials:
        picture = np.array(Image.open(io.BytesIO(base64.b64decode(shown[trial.id]))))
        assert np.array_equal(picture, images[trial.set].image(index[trial.sample]))


def test_only_the_page_s_own_script_and_style_may_run(pairs_of_model: Sheet) -> None:
    page = pairs_of_model.page.read_text("utf-8")
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="(.*?)"', page)
    for kind, text in (
        ("script", re.findall(r"<script>(.*?)</script>", page, re.DOTALL)),
        ("style", re.findall(r"<style>(.*?)</style>", page, re.DOTALL)),
    ):
        (inline,) = text
        digest = base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in html.unescape(policy)
    assert html.unescape(policy).startswith("default-src 'none'; img-src data:; ")
    assert "unsafe" not in policy
    assert not re.search(
        r"https?:|src=\"(?!data:)|\sstyle=|\son\w+=",
        re.sub(r"<script.*?</script>|<style.*?</style>", "", page, flags=re.DOTALL),
    )


def test_text_of_strangers_stays_text(regions: DataSet, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("\n\n".join(HOSTILE) + "\n---\n" + HOSTILE[1], encoding="utf-8")
    names = {c.folder: name for c, name in zip(regions.classes, HOSTILE, strict=True)}
    sheet = pairs_sheet(regions, tmp_path / "p.html", n=5, categories=names, text=text)
    page = sheet.page.read_text("utf-8")
    assert sheet.key.categories == HOSTILE
    assert data_of(page)["categories"] == HOSTILE
    assert data_of(page)["labels"][3] == "\\u202etxt.exe"
    assert page.count("<script") == page.count("</script>") == 2
    assert not re.search(r"<(img|svg|b)\b", page)
    assert "\u202e" not in page
    assert "\x1b" not in page
    assert "{{ 7*7 }}" in html.unescape(page)


def test_the_text_is_one_s_own(regions: DataSet, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_bytes("\ufeffWas ist das?\r\n\r\nErster\r\nAbsatz.\r\n\r\nZweiter.\r\n---\r\nSchluss.\r\n".encode())
    page = pairs_sheet(regions, tmp_path / "p.html", n=3, text=text).page.read_text("utf-8")
    before, after = page.split('id="end"')
    assert "<title>Was ist das?</title>" in before
    assert "<p>Erster Absatz.</p>" in before
    assert "<p>Zweiter.</p>" in before
    assert "<p>Schluss.</p>" in after
    assert "Schluss" not in before
    text.write_text("---\nno title", encoding="utf-8")
    with pytest.raises(StudyError, match="has no title"):
        pairs_sheet(regions, tmp_path / "q.html", n=3, text=text)
    with pytest.raises(StudyError, match="cannot be read: No such file"):
        pairs_sheet(regions, tmp_path / "q.html", n=3, text=tmp_path / "none.txt")


def test_how_pictures_are_shown_is_said(regions: DataSet, tmp_path: Path) -> None:
    said = {}
    for options in ({}, {"enlargement": 1}, {"enlargement": 20, "smooth": True}):
        page = pairs_sheet(regions, tmp_path / f"{len(said)}.html", n=3, **options).page.read_text("utf-8")  # type: ignore[arg-type]
        said[len(said)] = (
            re.findall(r"<li>(The pictures have .*?)</li>", page),
            re.findall(r'<figure id="picture" class="(\w+)">', page),
            data_of(page)["enlargement"],
        )
    assert said[0] == (
        ["The pictures have 16 x 16 pixels, and are shown 16 times as large, each pixel as a square."],
        ["pixels"],
        16,
    )
    assert said[1] == (["The pictures have 16 x 16 pixels, and are shown at that size."], ["pixels"], 1)
    assert said[2] == (
        ["The pictures have 16 x 16 pixels, and are shown 20 times as large, and smoothed."],
        ["smooth"],
        20,
    )


def luminance(colour: str) -> float:
    """Return the relative luminance of #rgb or #rrggbb, as WCAG defines it."""
    digits = colour[1:] if len(colour) == 7 else "".join(c * 2 for c in colour[1:])
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_text_stands_out_from_its_ground(pairs_of_model: Sheet) -> None:
    palettes = re.findall(r":root \{[^}]*?(--paper[^}]*)\}", pairs_of_model.page.read_text("utf-8"))
    assert len(palettes) == 2
    for palette in palettes:
        colours = dict(re.findall(r"--(\w+): (#\w+)", palette))
        for text, ground in (
            ("ink", "paper"),
            ("soft", "paper"),
            ("soft", "shade"),
            ("ink", "shade"),
            ("mark", "paper"),
            ("paper", "link"),
        ):
            light, dark = sorted((luminance(colours[text]), luminance(colours[ground])), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 4.5, (text, ground)
