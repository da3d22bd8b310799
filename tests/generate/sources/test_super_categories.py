"""Super-categories: the first so many samples of classes put together."""

from __future__ import annotations

from pathlib import Path

import archives as a
import pytest

from corruptset.errors import SourceError
from corruptset.generate.plan.options import BuildOptions
from corruptset.generate.sources.selection import select, selection_record
from corruptset.generate.sources.source import Sample, open_source
from corruptset.generate.sources.super_categories import read_super_categories
from corruptset.manifests.records.models import ClassRecord

CLASSES = [ClassRecord(index=i, name=f"name {i}", folder=f"n{i:02d}") for i in range(6)]
SAMPLES = [Sample(i, f"val_{i:04d}", i % 6) for i in range(60)]


def write(folder: Path, text: str) -> Path:
    path = folder / "groups.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_first_of_every_super_category(tmp_path: Path) -> None:
    path = write(tmp_path, 'images = 4\n[categories]\nbird = ["n00", "n03"]\n"land vehicle" = ["name 5"]\n')
    chosen = select(SAMPLES, per_super_category=path, classes=CLASSES)
    assert [s.index for s in chosen] == [0, 3, 5, 6, 9, 11, 17, 23]
    assert [s.index for s in select(SAMPLES, per_super_category=path, per_class=1, classes=CLASSES)] == [0, 3, 5]
    assert len(select(SAMPLES[:8], per_super_category=path, classes=CLASSES)) == 4  # all that there are
    record = selection_record(SAMPLES, chosen, per_super_category=path)
    assert (record["chosen"], record["per_super_category"]["categories"], record["per_super_category"]["images"]) == (
        8,
        ["bird", "land vehicle"],
        4,
    )
    assert str(tmp_path) not in str(record)
    assert "per_super_category" not in selection_record(SAMPLES, chosen)


def test_all_mistakes_of_a_file_are_listed(tmp_path: Path) -> None:
    path = write(tmp_path, 'images = 0\nimage = 3\n[categories]\na = ["n00", "n01"]\nb = []\nc = "n02"\n')
    with pytest.raises(SourceError) as error:
        read_super_categories(path)
    for line in (
        "image: there is no such key. Did you mean 'images'? Known here: images, categories",
        "images is 0; expected a number from 1 upwards",
        "categories, b is []; expected something in it",
        "categories, c is 'n02'; expected a list in square brackets",
    ):
        assert line in str(error.value)
    with pytest.raises(SourceError, match="the class 'n01' stands in it 2 times"):
        read_super_categories(write(tmp_path, 'images = 1\n[categories]\na = ["n00", "n01"]\nb = ["n01"]\n'))
    with pytest.raises(SourceError, match="names 2 classes that the source does not have"):
        select(
            SAMPLES,
            per_super_category=write(tmp_path, 'images = 1\n[categories]\na = ["n00", "n07", "n08"]\n'),
            classes=CLASSES,
        )
    with pytest.raises(SourceError, match=r"cannot be read.*Did you mean 'fragile-imagenet'"):
        read_super_categories("fragile-imagenett")
    with pytest.raises(SourceError, match="categories is missing"):
        read_super_categories(write(tmp_path, "images = 3\n"))


def test_the_shipped_file_has_ten_of_wnids() -> None:
    shipped = read_super_categories("fragile-imagenet")
    assert (shipped.images, len(set(shipped.category_of.values()))) == (50, 10)
    assert len(shipped.category_of) == 10 * 4 + 7 + 10 + 8 + 10 + 4 + 7
    assert all(wnid[0] == "n" and len(wnid) == 9 and wnid[1:].isdigit() for wnid in shipped.category_of)
    assert shipped.category_of["n02099601"] == "dog"


def test_an_imagenet_folder(tmp_path: Path) -> None:
    source = open_source(f"imagenet:{a.write(tmp_path, a.wnid_folders())}")
    folders = [c.folder for c in source.classes]
    path = write(tmp_path, f'images = 1\n[categories]\none = ["{folders[0]}"]\ntwo = ["{folders[1]}"]\n')
    options = BuildOptions(per_super_category=path)
    assert [s.label for s in select(source.samples, **options.selection, classes=source.classes)] in ([0, 1], [1, 0])
