"""pairs-sheet and pairs-score: what the commands hand on and say, from a data set to people's gap."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from corruptset_pairs import sheet as home
from corruptset_pairs.answer_files import read_key
from corruptset_pairs.command import answer_categories
from slow_regions import small_images, write_recipe, write_rows
from studies import save, sheet_of

from corruptset.generate.build import build
from corruptset.generate.sources.super_categories import read_super_categories
from corruptset.manifests.reader import DataSet


@pytest.fixture(scope="module")
def regions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Regions of ten images of ten classes."""
    folder = tmp_path_factory.mktemp("regions")
    recipe = write_recipe(folder / "recipe", "sides = [12]\nblocks = 1\nout = 16")
    return build(
        recipe, write_rows(folder / "rows", small_images(10)), folder / "out", jobs=1, metrics=0, format="hdf5"
    ).directory


def test_from_a_data_set_to_the_gap(run: Any, regions: Path, tmp_path: Path) -> None:
    made = run("pairs-sheet", regions, "--n", 8, "--out", "study/pairs.html")
    assert made.code == 0, made.err
    assert made.out.startswith("8 pairs; 10 answers\n")
    assert "for people of group A pairs.html#A, of group B pairs.html#B" in made.out
    assert "study/pairs-key.json (keep it to yourself" in made.out
    again = run("pairs-sheet", regions, "--n", 8, "--out", "study/pairs.html", "--json").json
    key = read_key(tmp_path / "study")
    assert (again["study"], again["kind"], again["n"], again["page"], again["key"]) == (
        key.study, "pairs", 8, "study/pairs.html", "study/pairs-key.json",
    )  # fmt: skip
    assert again["bytes"] == (tmp_path / "study/pairs.html").stat().st_size
    for group in "AABB":
        person = f"{group}{len(list(tmp_path.rglob('answers/*')))}"
        save(tmp_path / "answers", sheet_of(key, person, group, lambda t: t.category if t.member == "anchor" else None))
    (tmp_path / "answers/broken.json").write_text("{")
    done = run("pairs-score", "study", "answers")
    assert done.code == 0, done.err
    for words in (
        "4 people (2 of group A, 2 of group B), 32 answers; chance is 10%",
        "100.0% to 100.0%",
        "+100.0 to +100.0",
        "broken.json",
    ):
        assert words in done.out, done.out
    assert "Intervals: resamples of people and images, each drawn anew and independently of the other" in done.out
    assert "Note: 4 people are few" in done.out
    scored = run("pairs-score", "study/pairs-key.json", "answers", "--json").json
    assert (scored["gap"]["difference"], scored["people"]) == (1, {"A": 2, "B": 2})
    assert [one["file"] for one in scored["refused"]] == ["answers/broken.json"]


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; from corruptset.cli.app import run\n"
        "try: run()\n"
        "finally: print([name for name in 'numba numpy pydantic PIL cv2 scipy'.split() if name in sys.modules])"
    )
    for arguments in ([], ["pairs-sheet"], ["pairs-score"]):
        done = subprocess.run([sys.executable, "-c", code, *arguments, "--help"], capture_output=True, text=True)
        assert "pairs-s" in done.stdout
        assert done.stdout.splitlines()[-1] == "[]"


def test_every_option_is_handed_on(run: Any, regions: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
    real = home.pairs_sheet

    def noted(*args: Any, **kwargs: Any) -> Any:
        calls.append((args, kwargs))
        return real(regions, "made.html", n=3)

    monkeypatch.setattr(home, "pairs_sheet", noted)
    (tmp_path / "c.toml").write_text('images = 1\n[categories]\nfirst = ["0", "1"]\nsecond = ["2"]\n')
    options = [
        "--out",
        "x.html",
        "--n",
        7,
        "--seed",
        5,
        "--predictions",
        "p",
        "--scores",
        "s",
        "--sets",
        "a,b",
        "--change",
        "shift",
    ]
    options += [
        "--sizes",
        "s12,s14",
        "--levels",
        "0,2-4",
        "--correct",
        "top5",
        "--categories",
        "c.toml",
        "--text",
        "t.txt",
    ]
    assert run("pairs-sheet", regions, *options, "--enlarge", 9, "--smooth").code == 0
    assert run("pairs-sheet", regions).code == 0
    (args, given), (plain, defaults) = calls
    assert isinstance(args[0], DataSet)
    assert (args[1], plain[1]) == (Path("x.html"), Path("pairs.html"))
    assert callable(given.pop("progress"))
    assert given == {
        "n": 7, "seed": 5, "predictions": Path("p"), "scores": Path("s"), "sets": ["a", "b"], "change": "shift",
        "sizes": ["s12", "s14"],
        "levels": [0, 2, 3, 4], "top5": True, "categories": {"0": "first", "1": "first", "2": "second"},
        "text": Path("t.txt"),
        "enlargement": 9, "smooth": True,
    }  # fmt: skip
    assert (defaults["n"], defaults["seed"], defaults["change"], defaults["top5"], defaults["categories"]) == (
        40,
        0,
        "both",
        False,
        None,
    )


def test_the_categories_of_the_selection_are_the_answers_where_they_come_with_the_package() -> None:
    shipped = read_super_categories("fragile-imagenet")

    def of(selected: Any) -> Any:
        data: Any = SimpleNamespace(
            manifest=SimpleNamespace(selection={"per_super_category": selected} if selected else {})
        )
        return answer_categories(data, None)

    assert of(shipped.record) == shipped.category_of
    assert len(set(of(shipped.record).values())) == 10
    assert of(shipped.record | {"sha256": "sha256:" + "0" * 64}) is None
    assert of(None) is None


def test_mistakes_are_told_without_a_traceback(run: Any, regions: Path, built: Path, tmp_path: Path) -> None:
    many = run("pairs-sheet", regions, "--n", 11)
    assert (many.code, many.out) == (2, "")
    assert "10 source images, and 10 of them have a pair; 11 pairs were asked for" in many.err
    other = run("pairs-sheet", built, "--n", 2)
    assert other.code == 2
    assert "has neither regions nor levels of a gradual degradation" in other.err
    none = run("pairs-score", tmp_path, tmp_path)
    assert none.code == 2
    assert "has 0 files *-key.json: name the key" in none.err
    assert not list(tmp_path.iterdir())
