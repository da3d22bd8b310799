"""How torchvision and timm number class folders."""

from __future__ import annotations

import pytest

from corruptset.generate.views.class_numbers import numbering_notes


@pytest.mark.parametrize(
    ("folders", "start"),
    [
        (["n01440764", "n01532829", "n02123045"], None),
        (["airplane", "dog"], None),
        (["01_cat", "02_dog", "10_eel"], None),
        (["10_eel", "1_cat", "2_dog"], "timm numbers"),
        (["1_cat", "2_dog", "10_eel"], "torchvision numbers"),
        (["Dog", "cat"], "timm numbers"),
        (["02", "2"], "timm numbers"),
        (["b", "a"], "The class folders do not sort"),
    ],
)
def test_loaders_that_number_classes_otherwise_are_named(folders: list[str], start: str | None) -> None:
    notes = numbering_notes((f"{folder}/ILSVRC2012_val_{i:08d}.JPEG", i) for i, folder in enumerate(folders))
    assert [note.startswith(start or "-") for note in notes] == [True] * (start is not None)


def test_timm_takes_the_last_folder_for_the_class() -> None:
    paths = [("cat/test/00001.png", 0), ("dog/test/00002.png", 1)]
    (note,) = numbering_notes(paths)
    assert note.startswith("timm numbers")
    assert numbering_notes([(path.replace("/test", ""), label) for path, label in paths]) == []
