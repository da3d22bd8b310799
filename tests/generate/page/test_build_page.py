"""Test that the page of a build shows every set, loads nothing, and escapes untrusted names."""

from __future__ import annotations

import base64
import io
import json
import re
import shutil
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import small_builds
from html_tree import Node, read_html
from PIL import Image

from corruptset.generate.build import Built
from corruptset.generate.page import thumbnails
from corruptset.generate.page.build_page import build_page
from corruptset.manifests.paths import PAGE
from corruptset.manifests.reader import Dataset

JPEG = re.compile(r"data:image/jpeg;base64,")


@cache
def read_page(directory: Path) -> Node:
    return read_html(directory / PAGE)


def figures(tree: Node) -> dict[str, Node]:
    """Return the figure of each set id."""
    figure_ids = ((node.attributes.get("id", ""), node) for node in tree.all("figure"))
    return {name.removeprefix("image-"): node for name, node in figure_ids if name.startswith("image-")}


def pixels(figure: Node) -> Image.Image:
    return Image.open(io.BytesIO(base64.b64decode(JPEG.sub("", figure.one("img").attributes["src"]))))


def assert_inert(tree: Node) -> None:
    """Fail if a page loads something, or runs code other than its own script."""
    assert len(list(tree.all("script"))) == 1
    for node in tree.all():
        assert node.tag not in ("iframe", "object", "embed", "base")
        assert not [name for name in node.attributes if name.startswith("on") or name == "style"], node.attributes
        for name in ("src", "href"):
            assert node.attributes.get(name, "#").startswith(("#", "data:image/jpeg;base64,", "data:,"))


@pytest.mark.parametrize("name", ["plain", "two_orders", "levels"])
def test_page_contains_every_set_and_essential_facts(name: str, request: pytest.FixtureRequest) -> None:
    directory: Path = request.getfixturevalue({"plain": "plain_build"}.get(name, name))
    tree, data = read_page(directory), Dataset(directory)
    manifest = data.manifest
    assert set(figures(tree)) == {
        s.id for s in manifest.sets if s.stages and s.stages[0].level in (None, 1, 7, 15, 22, 30)
    }
    tables = [t for t in tree.all("table") if t.attributes["class"] == "numbers" and "Sets of" in t.one("caption").text]
    assert sum(len(list(table.one("tbody").all("tr"))) for table in tables) == len(data.set_ids) - 1
    expected_texts = [manifest.digest, manifest.version, f"corruptset verify {directory.name}", str(manifest.seed)]
    expected_texts += [f"{library} {version}" for library, version in manifest.environment.items()]
    expected_texts += [parameter for s in manifest.sets for stage in s.stages for parameter in stage.parameters]
    assert [part for part in expected_texts if part not in tree.text] == []
    assert tree.one("h1").text == manifest.recipe["title"]
    # links lead somewhere, and pictures say what is seen; what else a screen reader needs is axe's to find
    ids = [node.attributes["id"] for node in tree.all() if "id" in node.attributes]
    links = {node.attributes["href"][1:] for node in tree.all("a", "use") if node.attributes["href"].startswith("#")}
    assert links <= set(ids)
    assert len(ids) == len(set(ids))
    for set_id, node in figures(tree).items():
        alt = node.one("img").attributes["alt"]
        assert alt.startswith(f"{set_id}: ")
        assert any(c.name in alt for c in manifest.classes)
    assert_inert(tree)


def test_images_cover_all_classes_and_psnr_curves_share_axis(plain_build: Path, levels: Path) -> None:
    data = Dataset(plain_build)
    image = np.array(pixels(figures(read_page(plain_build))["contrast/3"])).astype(int)
    assert image.shape == (4 * 32, 32, 3)
    for number in range(4):
        stored = data["contrast/3"].image(number * len(data["clean"]) // 4).astype(int)
        assert np.abs(image[32 * number : 32 * number + 32] - stored).mean() < 6
    for directory in (plain_build, levels):
        charts = [node for node in read_page(directory).all("svg") if node.attributes.get("class") == "curve"]
        psnr = [node for node in charts if node.attributes["aria-label"].startswith("PSNR")]
        ruled = [[t for t in node.all("text") if t.attributes["class"] == "y"] for node in psnr]
        assert len(psnr) > 1
        assert len({tuple((t.text, t.attributes["y"]) for t in axis) for axis in ruled}) == 1


def test_grid_shows_both_orders_and_levels_show_five_images_with_curve(two_orders: Path, levels: Path) -> None:
    matrices = [table for table in read_page(two_orders).all("table") if table.attributes.get("class") == "matrix"]
    assert [[[cell.text for cell in row.all("th", "td")] for row in matrix.all("tr")] for matrix in matrices] == [
        [["first", "alone", b], ["clean", "clean", ""], [a, a.replace("-", "/"), f"{a}+{b}"]]
        for a, b in (("brightness-2", "contrast-3"), ("contrast-3", "brightness-2"))
    ]
    for name in ("fade_black", "black_lines"):
        block = read_page(levels).one("section", data_corruption=name)
        captions = [n.one("figcaption").text for n in block.all("figure") if "data-severity" in n.attributes]
        assert captions == [f"level {level}" for level in (1, 7, 15, 22, 30)]
        lines = [n for n in block.all("path") if n.attributes.get("class") == "line"]
        assert [n.attributes["d"].count("L") for n in lines] == [29] * max(3, len(lines))
    assert pixels(figures(read_page(levels))["fade_black/07"]).mode == "L"


def test_regions_are_shown_with_neighbours(region_build: Built, table_build: Built) -> None:
    for build_result, message in (
        (region_build, "Each sample is a region of an image."),
        (table_build, "The samples are whole images, "),
    ):
        page = read_page(build_result.directory)
        regions, load = page.one("section", id="regions"), page.one("section", id="load")
        assert message in regions.text
        assert "returns the crops of the image with the id ID" in load.text
        alts = [n.attributes["alt"] for n in regions.all("img")]
        for words in ("eight neighbours", "nine regions inside"):
            assert any(words in alt for alt in alts)
    # the table is of few clean images alone
    assert re.search(r": 1 set of \d+ samples in 2 classes, \d+ images of [\d.]+ kB in total", page.one("header").text)
    assert "Corruptions" not in page.one("section", id="made").text


def test_page_reports_quirks(plain_dataset: Dataset, shared_data: small_builds.SharedData) -> None:
    """The page lists excluded images, textures, sets that follow a model, and missing clean images."""
    record = plain_dataset.manifest.as_json()
    record["excluded"] = [{"path": "broken.png", "reason": "is cut off"}]
    record["textures"] = [{"name": "frost-1", "sha256": f"sha256:{'0' * 64}"}]
    record["sets"] = [s | {"reproducible": s["id"] != "contrast/5"} for s in record["sets"]]
    plain_dataset.manifest = type(plain_dataset.manifest).model_validate(record)
    tree = read_html(build_page(plain_dataset))
    odd = tree.one("section", id="limitations").text
    assert [part for part in ("broken.png: is cut off", "frost-1", "contrast/5") if part not in odd] == []
    assert len(figures(tree)) == len(record["sets"]) - 1 + 5  # of all sets of its block
    difference = figures(tree)["difference-contrast/5"]
    words = r"difference of contrast/5 from the clean images, (\d+) times"
    factor = int(re.search(words, difference.one("img").attributes["alt"])[1])
    first, clean = (plain_dataset[name].image(0).astype(int) for name in ("contrast/5", "clean"))
    displayed_pixels = np.array(pixels(difference)).astype(int)[: len(first)]
    assert np.abs(displayed_pixels - np.clip(128 + factor * (first - clean), 0, 255)).mean() < 6
    directory = shared_data.build(crops={"classes": 2}, sets=["contrast/*"], storage="folder", page=True)
    alone = read_html(build_page(Dataset(directory)))  # its own was made with the source
    displayed_pixels = [
        [n for n in t.all("figure") if n.attributes.get("class") == "clean"] for t in (read_page(directory), alone)
    ]
    assert list(map(bool, displayed_pixels)) == [True, False]
    assert "It has no clean images" in alone.text


PAYLOADS = [
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "javascript:alert(1)",
    "</title></style><svg onload=alert(1)>",
    "<!--<script>",
    "]]>&lt;b&gt;&#60;i&#62;",
    "{{ 7 * 7 }}{% raw %}{# #}",
    "right\u202eto left\u2066",
    "nul\x00 bell\x07 escape\x1b[31m",
    "a\u2028b\u2029c\ufeff",
    "http://example.invalid/x.js",
]


def hostile(directory: Path, copy: Path, payload: str) -> bytes:
    """Return the page of a build whose manifest and samples contain a payload in every text field."""
    shutil.copytree(directory, copy, ignore=shutil.ignore_patterns("images", PAGE))
    data = Dataset(copy)
    record = data.manifest.as_json()
    record["recipe"] |= {"title": payload, "description": payload}
    record["source"] |= {"name": payload, "license": payload}
    record["environment"] |= {payload: payload, "corruptset": payload}
    record["preprocessing"] |= {payload: payload}
    record["revisions"] |= {payload: 1}
    record["excluded"] = [{"path": payload, "reason": payload}]
    record["textures"] = [{"name": payload, "sha256": f"sha256:{'0' * 64}"}]
    record["surrogates"] = [{"name": payload, "weights": payload}]
    for entry in record["classes"]:
        entry |= {"name": payload, "folder": payload}
    for entry in record["sets"]:
        entry["aliases"] = [payload]
        for stage in entry["stages"]:
            stage["parameters"] |= {payload: payload}
            if "+" in entry["id"]:
                stage["corruption"] = payload
    data.manifest = type(data.manifest).model_validate(record)
    lines = (directory / "samples.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) | {"class": payload, "id": f"{payload}{n}"} for n, line in enumerate(lines)]
    (copy / "samples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return build_page(data)


def outline(tree: Node) -> list[tuple[str, list[str], str]]:
    """Return every element with its id and the names of its attributes."""
    nodes = [n for n in tree.all() if n.tag != "wbr"]
    return [(n.tag, sorted(n.attributes), n.attributes.get("id", "")) for n in nodes]


def test_foreign_text_is_escaped(plain_build: Path, tmp_path: Path) -> None:
    harmless = outline(read_html(hostile(plain_build, tmp_path / "harmless", "payload")))
    printable = " ".join(filter(str.isprintable, PAYLOADS))
    for number, payload in enumerate([printable, "".join(PAYLOADS)]):
        page = hostile(plain_build, tmp_path / str(number), payload)
        tree = read_html(page)
        assert outline(tree) == harmless
        assert_inert(tree)
        assert not [c for c in page.decode() if not c.isprintable() and c != "\n"]
        if payload == printable:
            assert tree.one("h1").text == " ".join(payload.split())


def test_page_of_many_sets_has_fewer_and_smaller_images(
    plain_dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    all_figures = figures(read_html(build_page(plain_dataset)))
    monkeypatch.setattr(thumbnails, "thumbnail_side", lambda images, *, small: 16)
    smaller = figures(read_html(build_page(plain_dataset)))
    assert smaller.keys() == all_figures.keys()
    assert [pixels(some["contrast/3"]).size for some in (all_figures, smaller)] == [(32, 128), (16, 16)]
