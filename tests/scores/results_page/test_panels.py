"""The panels: the same image under every degradation, at the level where a model falls below."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from html_tree import Node, read_html
from result_pages import full, picture, scored, section

import corruptset
from corruptset.errors import ParameterError
from corruptset.manifests.reader import DataSet
from corruptset.scores.records import Scores


def test_panels_show_the_image_at_the_level_of_the_profile(
    everything: tuple[Node, list[Scores]], data: DataSet
) -> None:
    page, scores = everything
    panels = section(page, "panels")
    captions = [node.one("figcaption").text for node in panels.all("figure")]
    expected = []
    for threshold in ("0.9", "0.5", "0.1"):
        for name, profile in ((name, profile) for one in scores for name, profile in one.profiles.items()):
            below = profile.first_below[threshold]
            if below is not None:
                accuracy = f"accuracy {100 * profile.accuracy[below.level]:.1f} %"
                changed = f"{100 * (below.changed or 0):.0f} % of pixels changed"
                expected.append(f"{name}, level {below.level}: {below.change}, {changed}; {accuracy}")
    assert captions == expected
    pictured = [node for node in panels.all("figure") if list(node.all("use"))]
    assert len(pictured) == sum(caption.startswith(("black_lines", "fade_black")) for caption in captions)
    for figure in pictured:
        name, level = re.match(r"(\w+), level (\d+):", figure.one("figcaption").text).groups()  # type: ignore[union-attr]
        shown = picture(page, figure).astype(float)
        distances = {n: np.abs(shown - data[f"{name}/{n:02d}" if n else "clean"].image(0)).mean() for n in range(31)}
        assert min(distances, key=lambda n: distances[n]) == int(level)
        assert f"level {level}" in figure.one("svg").attributes["aria-label"]
    never = [p.text for p in panels.all("p") if p.text.startswith("Never below")]
    assert len(never) == sum(
        any(p.first_below[t] is None for p in one.profiles.values()) for one in scores for t in ("0.9", "0.5", "0.1")
    )


def test_the_sample_of_the_panels(data: DataSet, tmp_path: Path) -> None:
    scores = full(data, "net-a")
    wanted = data.samples[7].id
    corruptset.report(data, scores, tmp_path / "r.html", sample=wanted)
    page = read_html(tmp_path / "r.html")
    assert f"One image ({wanted}, class" in section(page, "panels").text
    figure = next(
        node for node in section(page, "panels").all("figure") if node.one("figcaption").text.startswith("fade_black")
    )
    level = re.search(r"level (\d+)", figure.one("figcaption").text).group(1)  # type: ignore[union-attr]
    assert np.abs(picture(page, figure).astype(float) - data[f"fade_black/{int(level):02d}"].image(7)).mean() < 4
    with pytest.raises(ParameterError, match="has no sample '00_class/im'"):
        corruptset.report(data, scores, tmp_path / "none.html", sample="00_class/im")
    assert not (tmp_path / "none.html").exists()
    scores, predictions = scored(data, "net-a", "net-b", best=0.5)
    corruptset.report(data, scores, tmp_path / "r.html", predictions=predictions)
    right = np.all([one.outcomes["clean"].correct for one in predictions], axis=0)
    assert not right[0]
    assert f"One image ({data.samples[int(np.flatnonzero(right)[0])].id}, class" in read_html(tmp_path / "r.html").text


def test_images_that_were_not_unpacked_are_left_out(data: DataSet, tmp_path: Path) -> None:
    directory = tmp_path / "d"
    shutil.copytree(data.path, directory)
    there = [name for name in data.set_ids if not name.startswith("fade_black")]
    partial = {"schema_version": 1, "digest": data.digest, "manifest": data.digest, "sets": there, "pieces": {}}
    (directory / "PARTIAL.json").write_text(json.dumps(partial), "utf-8")
    corruptset.report(directory, full(data, "net-a"), tmp_path / "r.html")
    panels = section(read_html(tmp_path / "r.html"), "panels")
    shown = {
        node.one("figcaption").text.partition(",")[0]: bool(list(node.all("use"))) for node in panels.all("figure")
    }
    assert (shown["black_lines"], shown["fade_black"]) == (True, False)
    assert "The data set does not have this image." in panels.text
