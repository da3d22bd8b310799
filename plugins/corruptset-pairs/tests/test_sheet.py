"""A sheet as a whole: the same for the same seed, where it lies, what its study id covers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from corruptset_pairs.sheet import Sheet, pairs_sheet
from corruptset_pairs.sheet_page import PACKAGE

from corruptset.errors import PredictionError, ScoreError, StudyError, UnknownCorruption
from corruptset.manifests.reader import DataSet
from corruptset.pages.document import text_file


def made(data: DataSet, folder: Path, **options: Any) -> tuple[bytes, bytes]:
    """Return the bytes of a page and of its key."""
    sheet = pairs_sheet(data, folder / "pairs.html", n=6, **options)
    found = sheet.page.read_bytes(), sheet.key_file.read_bytes()
    assert sheet.bytes == len(found[0])
    assert sorted(path.name for path in folder.iterdir()) == ["pairs-key.json", "pairs.html"]
    for path in folder.iterdir():
        path.unlink()
    return found


@pytest.mark.parametrize("kind", ["regions", "levels"])
def test_a_seed_gives_the_same_bytes_and_another_seed_other_ones(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    data = request.getfixturevalue(kind)
    first, again, other = made(data, tmp_path), made(data, tmp_path), made(data, tmp_path, seed=1)
    assert first == again
    assert first[0] != other[0]
    assert first[1] != other[1]


def test_the_study_id_covers_what_people_see_and_nothing_else(
    regions: DataSet, predictions: Path, tmp_path: Path
) -> None:
    text = tmp_path / "text.txt"
    own = text_file("instructions.txt", PACKAGE)
    text.write_text(own.replace("send the file", "mail the file"), encoding="utf-8")
    names = {str(c.folder): f"class {c.name}" for c in regions.classes}
    variants: list[dict[str, Any]] = [
        {},
        {"seed": 1},
        {"text": text},
        {"enlargement": 3},
        {"smooth": True},
        {"categories": names},
        {"sizes": ["s12"]},
    ]
    studies = [
        pairs_sheet(regions, tmp_path / f"{i}.html", n=6, **options).key.study for i, options in enumerate(variants)
    ]
    assert len(set(studies)) == len(variants)
    assert pairs_sheet(regions, tmp_path / "elsewhere.html", n=6).key.study == studies[0]


def test_a_sheet_that_people_may_have_answered_is_not_overwritten(regions: DataSet, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "pairs.html"
    pairs_sheet(regions, out, n=3)
    pairs_sheet(regions, out, n=3)
    before = {path: path.read_bytes() for path in out.parent.iterdir()}
    with pytest.raises(StudyError, match=r"pairs-key.json is there already, and is another one"):
        pairs_sheet(regions, out, n=4)
    assert {path: path.read_bytes() for path in out.parent.iterdir()} == before


def test_places_and_numbers_that_cannot_be_are_refused(regions: DataSet, tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="lies in the data set, where `corruptset verify` would find a file too many"):
        pairs_sheet(regions, regions.path / "pairs.html", n=3)
    with pytest.raises(StudyError, match=r"name that ends in .html"):
        pairs_sheet(regions, tmp_path / "pairs.pdf", n=3)
    for mistake in ({"n": 0}, {"seed": -1}, {"enlargement": 0}):
        with pytest.raises(StudyError, match="whole numbers"):
            pairs_sheet(regions, tmp_path / "pairs.html", **mistake)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_a_set_of_another_data_set_and_its_predictions_are_refused(
    regions: DataSet, levels: DataSet, predictions: Path, tmp_path: Path
) -> None:
    with pytest.raises(UnknownCorruption, match="'fog/1' matches no set"):
        pairs_sheet(regions, tmp_path / "p.html", n=3, sets=["fog/1"])
    (tmp_path / "net").mkdir()
    (tmp_path / "net/clean.npz").write_bytes((predictions / "clean.npz").read_bytes())
    (tmp_path / "net/predictions.json").write_text('{"model": "net", "digest": "sha256:' + "0" * 64 + '"}')
    with pytest.raises(PredictionError, match="of another data set"):
        pairs_sheet(regions, tmp_path / "p.html", n=3, predictions=tmp_path / "net")
    with pytest.raises(ScoreError, match="cannot be read"):
        pairs_sheet(levels, tmp_path / "p.html", n=3, scores=tmp_path / "none.json")


def test_the_key_says_what_was_shown(pairs_of_model: Sheet, regions: DataSet, predictions: Path) -> None:
    key = pairs_of_model.key
    assert (key.kind, key.digest, key.model, key.seed) == ("pairs", regions.digest, predictions.name, 0)
    assert (key.enlargement, key.smooth) == (16, False)
    assert key.categories == [c.name for c in regions.classes]
    assert key.model_accuracy == {}
