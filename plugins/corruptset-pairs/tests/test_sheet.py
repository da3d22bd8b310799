"""Test that pages are lossless and hide the right answers, and that the study id covers everything on the page."""

from __future__ import annotations

import base64
import hashlib
import html
import io
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from corruptset_pairs.answer_choices import answer_choices
from corruptset_pairs.sheet import Sheet, pairs_sheet
from corruptset_pairs.sheet_page import PACKAGE
from PIL import Image
from studies import HOSTILE, page_data

from corruptset.errors import PredictionError, ScoreError, StudyError, UnknownCorruption
from corruptset.manifests.reader import Dataset
from corruptset.manifests.records.models import ClassRecord
from corruptset.pages.document import text_file


@pytest.mark.parametrize(("sheet", "data"), [("pairs_of_model", "regions"), ("levels_sheet", "levels")])
def test_page_has_exact_images_and_no_correct_answer(sheet: str, data: str, request: pytest.FixtureRequest) -> None:
    result: Sheet = request.getfixturevalue(sheet)
    images: Dataset = request.getfixturevalue(data)
    page = result.page.read_text("utf-8")
    study = page_data(page)
    assert set(study) == {"schema_version", "study", "enlargement", "categories", "labels", "trials"}
    index = {sample.id: sample.index for sample in images.samples}
    group_images = {trial: base64.b64decode(raw) for group in study["trials"].values() for trial, raw in group}
    without_images = re.sub(r'"[A-Za-z0-9+/=]{80,}"', '""', page)
    for trial in result.key.trials:
        assert trial.sample not in page
        assert trial.set == "clean" or trial.set not in page
        assert without_images.count(trial.id) == 1
        image = Image.open(io.BytesIO(group_images[trial.id]))
        assert image.info == {}
        assert np.array_equal(np.array(image), images[trial.set].image(index[trial.sample]))
    for word in (
        "anchor",
        "partner",
        "shrink",
        "black_lines",
        '"right"',
        '"category"',
        result.key.digest,
        str(result.key.model),
    ):
        assert word not in without_images, word
    for group, group_images in study["trials"].items():
        # The images are sorted by their names, which are hashes.
        assert [trial for trial, _ in group_images] == sorted(t.id for t in result.key.trials if t.group == group)


def test_page_allows_only_its_own_script_and_style(pairs_of_model: Sheet) -> None:
    page = pairs_of_model.page.read_text("utf-8")
    (escaped,) = re.findall(r'http-equiv="Content-Security-Policy" content="(.*?)"', page)
    policy = html.unescape(escaped)
    for kind in ("script", "style"):
        (inline,) = re.findall(rf"<{kind}>(.*?)</{kind}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'; img-src data:; ")
    assert "unsafe" not in policy
    markup = re.sub(r"<script.*?</script>|<style.*?</style>", "", page, flags=re.DOTALL)
    assert not re.search(r"https?:|src=\"(?!data:)|\sstyle=|\son\w+=", markup)


def test_custom_instructions_are_escaped(regions: Dataset, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("\n\n".join(HOSTILE) + "\n---\n" + HOSTILE[1], encoding="utf-8")
    names = {c.folder: name for c, name in zip(regions.classes, HOSTILE, strict=True)}
    sheet = pairs_sheet(regions, tmp_path / "p.html", n=5, categories=names, text=text)
    page = sheet.page.read_text("utf-8")
    assert sheet.key.categories == page_data(page)["categories"] == HOSTILE
    assert page_data(page)["labels"][3] == "\\u202etxt.exe"
    assert page.count("<script") == page.count("</script>") == 2
    assert not re.search("<(img|svg|b)\\b|\u202e|\x1b", page)
    assert "{{ 7*7 }}" in html.unescape(page)
    text.write_bytes("\ufeffWas ist das?\r\n\r\nErster\r\nAbsatz.\r\n\r\nZweiter.\r\n---\r\nSchluss.\r\n".encode())
    before, after = pairs_sheet(regions, tmp_path / "q.html", n=3, text=text).page.read_text("utf-8").split('id="end"')
    for words in ("<title>Was ist das?</title>", "<p>Erster Absatz.</p>", "<p>Zweiter.</p>"):
        assert words in before
    assert "<p>Schluss.</p>" in after
    assert "Schluss" not in before
    text.write_text("---\nno title", encoding="utf-8")
    for file, message in ((text, "have no title"), (tmp_path / "none.txt", "cannot be read: No such file")):
        with pytest.raises(StudyError, match=message):
            pairs_sheet(regions, tmp_path / "r.html", n=3, text=file)


def test_page_states_image_size(regions: Dataset, tmp_path: Path) -> None:
    cases: list[tuple[dict[str, Any], str, str]] = [
        ({}, "are shown 16 times as large, with each pixel as a square.", "pixels"),
        ({"enlargement": 1}, "are shown at that size.", "pixels"),
        ({"enlargement": 20, "smooth": True}, "are shown 20 times as large, with smoothing.", "smooth"),
    ]
    for number, (options, message, kind) in enumerate(cases):
        page = pairs_sheet(regions, tmp_path / f"{number}.html", n=3, **options).page.read_text("utf-8")
        assert f"<li>They have 16 x 16 pixels and {message}</li>" in page
        assert f'<figure id="picture" class="{kind}">' in page
        assert page_data(page)["enlargement"] == options.get("enlargement", 16)


def test_seed_determines_bytes_and_study_id_covers_visible_content(
    regions: Dataset, levels: Dataset, tmp_path: Path
) -> None:
    for data in (regions, levels):
        first = pairs_sheet(data, tmp_path / "a/pairs.html", n=6)
        repeated = pairs_sheet(data, tmp_path / "b/pairs.html", n=6)
        assert sorted(path.name for path in first.page.parent.iterdir()) == ["pairs-key.json", "pairs.html"]
        for file in ("page", "key_file"):
            assert getattr(first, file).read_bytes() == getattr(repeated, file).read_bytes()
            getattr(first, file).unlink()
            getattr(repeated, file).unlink()
        assert first.bytes == repeated.bytes
    text = tmp_path / "text.txt"
    text.write_text(text_file("instructions.txt", PACKAGE).replace("send the file", "mail the file"), encoding="utf-8")
    names = {str(c.folder): f"class {c.name}" for c in regions.classes}
    variants: list[dict[str, Any]] = [
        {"text": text}, {"categories": names}, {"sizes": ["s12"]}, {}, {"seed": 1}, {"enlargement": 3}, {"smooth": True}
    ]  # fmt: skip
    keys = [pairs_sheet(regions, tmp_path / f"{i}.html", n=6, **options).key for i, options in enumerate(variants)]
    assert len({key.study for key in keys}) == len(variants)
    key = keys[3]
    assert (key.kind, key.digest, key.seed, key.enlargement) == ("pairs", regions.digest, 0, 16)
    assert key.categories == [c.name for c in regions.classes]


def test_sheet_with_possible_answers_is_not_overwritten(regions: Dataset, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "pairs.html"
    pairs_sheet(regions, out, n=3)
    pairs_sheet(regions, out, n=3)
    before = {path: path.read_bytes() for path in out.parent.iterdir()}
    with pytest.raises(StudyError, match=r"pairs-key.json already exists with different contents"):
        pairs_sheet(regions, out, n=4)
    assert {path: path.read_bytes() for path in out.parent.iterdir()} == before


def test_unsuitable_options_are_rejected(regions: Dataset, levels: Dataset, predictions: Path, tmp_path: Path) -> None:
    net = tmp_path / "net"
    net.mkdir()
    (net / "clean.npz").write_bytes((predictions / "clean.npz").read_bytes())
    (net / "predictions.json").write_text('{"model": "net", "digest": "sha256:' + "0" * 64 + '"}')
    out = tmp_path / "p.html"
    cases: list[tuple[Dataset, Path, dict[str, Any], type[Exception], str]] = [
        (regions, regions.path / "p.html", {}, StudyError, "inside the dataset, where `corruptset verify` would"),
        (regions, tmp_path / "p.pdf", {}, StudyError, "does not end in .html"),
        (regions, out, {"n": 0}, StudyError, "--n is 0"),
        (regions, out, {"seed": -1}, StudyError, "--seed is -1"),
        (regions, out, {"enlargement": 0}, StudyError, "--enlarge is 0"),
        (regions, out, {"sets": ["fog/1"]}, UnknownCorruption, "'fog/1' matches no set"),
        (regions, out, {"predictions": net}, PredictionError, "belong to another dataset"),
        (levels, out, {"scores": tmp_path / "none.json"}, ScoreError, "cannot be read"),
    ]
    for data, file, options, error, message in cases:
        with pytest.raises(error, match=message):
            pairs_sheet(data, file, **{"n": 3} | options)
    assert [path.name for path in tmp_path.iterdir()] == ["net"]


def classes_of(names: list[str], selection: dict[str, Any] | None = None) -> Any:
    """Return an object with the attributes of a dataset that `answer_choices` uses."""
    classes = [ClassRecord(index=i, name=name, folder=f"n{i:08d}") for i, name in enumerate(names)]
    return SimpleNamespace(path=Path("data"), classes=classes, manifest=SimpleNamespace(selection=selection or {}))


def test_answers_are_classes_or_categories() -> None:
    ten = ["b", "a", *map(str, range(8))]
    assert list(answer_choices(classes_of(ten), None).items()) == list(enumerate(ten))
    options = {"n00000003": "cat", "class 7": "dog", "n00000029": "cat", "nothing": "dog"}
    choices = answer_choices(classes_of([f"class {i}" for i in range(30)]), options)
    assert list(choices.items()) == [(3, "cat"), (29, "cat"), (7, "dog")]
    selected = {"per_super_category": {"categories": ["cat", "dog"], "images": 50, "sha256": "sha256:1"}}
    cases: list[tuple[Any, dict[str, str] | None, str]] = [
        (
            classes_of(list("abcdefghijk"), selected),
            None,
            r"11 classes.*--categories FILE.*cat, dog, so the file",
        ),
        (classes_of(["a"]), None, "has 1 classes, but a study needs from 2 to 10"),
        (
            classes_of(list("abcdefghijkl")),
            {c: f"k{c}" for c in "abcdefghijk"},
            "has 11 answers, but a study needs from 2 to 10",
        ),
        (
            classes_of(["a", "b"]),
            {"a": "x", "c": "y", "d": "z"},
            "2 of the 3 categories have no class of data:\n  y\n  z",
        ),
    ]
    for data, categories, message in cases:
        with pytest.raises(StudyError, match=message):
            answer_choices(data, categories)
