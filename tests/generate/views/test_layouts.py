"""The views there are."""

from __future__ import annotations

from pathlib import Path

import pytest
from layouts import export

from corruptset.errors import BuildError
from corruptset.generate.views.layouts import LAYOUTS


def test_unknown_views_and_sets_are_named(png: Path, tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="Did you mean 'imagenet-c'"):
        export("imagenet_c", png, tmp_path / "x")
    with pytest.raises(BuildError, match=r"'fogg/\*' matches no set"):
        export("imagefolder", png, tmp_path / "x", sets=["fogg/*"])


def test_every_view_is_documented() -> None:
    docs = Path(__file__).parents[3] / "docs"
    for page in ("command-line.md", "use-it-with.md"):
        text = (docs / page).read_text("utf-8")
        assert [v for v in LAYOUTS if f"`{v}`" not in text and f"export {v} " not in text] == [], page
