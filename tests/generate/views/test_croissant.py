"""The view croissant and the croissant.json of packed archives: every tar by name and hash, no name another build's."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import layouts
from layouts import export, members

import corruptset
from corruptset.generate.views.export import export as strict_export
from corruptset.manifests.release.pack import pack

NOISE = '[[sets]]\ncorruptions = ["gaussian_noise"]\nseverities = [3]\n'
KINDS: dict[str, dict[str, Any]] = {
    "": {}, " by set": {"by": "set"}, " split": {"max_bytes": 90_000}, " records": {"manifest_only": True},
}  # fmt: skip
"""Ways to pack."""


def test_croissant_names_every_tar_with_its_hash(png: Path, tmp_path: Path) -> None:
    top = export("croissant", png, tmp_path / "c").top
    record = json.loads((top / "croissant.json").read_text("utf-8"))
    assert record["conformsTo"] == "http://mlcommons.org/croissant/1.0"
    objects = {o["contentUrl"]: o["sha256"] for o in record["distribution"] if o["@type"] == "cr:FileObject"}
    assert objects == {
        p.relative_to(top).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest() for p in top.rglob("*.tar")
    }
    assert [r["@id"] for r in record["recordSet"]] == corruptset.open(png).set_ids


def test_croissant_reads_index_label_class_and_path_from_a_member_in_the_order_of_the_samples(
    named: Path, named_views: Callable[[str], Path]
) -> None:
    data, top = corruptset.open(named), named_views("croissant") / "small-c-1.0.0"
    record = json.loads((top / "croissant.json").read_text("utf-8"))
    tars = {o["@id"]: o["contentUrl"] for o in record["distribution"] if o["@type"] == "cr:FileObject"}
    for one in record["recordSet"]:
        regexes = {f["name"].rpartition("/")[2]: f["source"].get("transform", {}).get("regex") for f in one["field"]}
        assert list(regexes) == ["image", "index", "label", "class", "path"]
        files = members(top / tars[f"{one['@id']}.tar"])
        # mlcroissant sorts what it extracted by path, and matches from a path's beginning
        found = [{n: re.match(r, name)[1] for n, r in regexes.items() if r} for name in sorted(files)]  # type: ignore[index]
        assert found == [
            {
                "index": f"{s.index:02d}",
                "label": str(s.label),
                "class": data.classes[s.label].folder,
                "path": f"{data.classes[s.label].folder}/{s.id}.JPEG",
            }
            for s in data.samples
        ]
        for (_, content), row in zip(sorted(files.items()), data[one["@id"]].rows, strict=True):
            assert content == (named / row.files[0].path).read_bytes()


def test_no_archive_is_called_as_one_of_other_content(tmp_path: Path) -> None:
    """mlcroissant looks up what it extracted by `contentUrl` alone."""
    crops, others = (layouts.write_crops(tmp_path / f"{side}", classes=4, each=1, side=side) for side in (32, 40))
    png, jpeg = (layouts.write_recipe(tmp_path, encoding=e, more=NOISE) for e in ("png", "jpeg"))
    worse = tmp_path / "worse.toml"
    worse.write_text(jpeg.read_text("utf-8").replace('format = "jpeg"', 'format = "jpeg"\nquality = 40'))
    builds = {
        "it": layouts.make(png, crops, tmp_path / "it"),
        "seed": layouts.make(png, crops, tmp_path / "seed", seed=1),
        "source": layouts.make(png, others, tmp_path / "source"),
        "jpeg": layouts.make(jpeg, crops, tmp_path / "jpeg"),
        "quality": layouts.make(worse, crops, tmp_path / "quality"),
    }
    made: dict[str, set[str]] = {}
    for name, directory in builds.items():
        strict_export("croissant", directory, tmp_path / f"view-{name}")
        made[f"view {name}"] = urls(next((tmp_path / f"view-{name}").glob("*/croissant.json")))
        for kind, options in KINDS.items():
            out = tmp_path / f"pack-{name}{kind}"
            pack(directory, out, family_of=lambda name: name, **options)
            made[f"pack {name}{kind}"] = urls(out / "croissant.json")
    listed = [u for found in made.values() for u in found]
    assert len(listed) == len(set(listed)), made
    # the same again has the same names, wherever and whenever
    again = layouts.make(png, crops, tmp_path / "again")
    strict_export("croissant", again, tmp_path / "view-again")
    assert urls(next((tmp_path / "view-again").glob("*/croissant.json"))) == made["view it"]
    pack(again, tmp_path / "pack-again", family_of=lambda name: name)
    assert urls(tmp_path / "pack-again/croissant.json") == made["pack it"]


def urls(croissant: Path) -> set[str]:
    record = json.loads(croissant.read_bytes())
    return {o["contentUrl"] for o in record["distribution"] if o["encodingFormat"] == "application/x-tar"}


def test_packed_samples_keep_ids_and_class_names_of_digits(tmp_path: Path) -> None:
    """A table that guesses types makes 3 of the name "03"."""
    crops = layouts.write_crops(tmp_path / "crops", classes=2, each=2)
    for c in range(2):
        (crops / f"{c:02d}_class").rename(crops / f"{c:02d}")
    built = layouts.make(layouts.write_recipe(tmp_path, more="[[sets]]\nclean = true\n"), crops, tmp_path / "out")
    pack(built, tmp_path / "packed", family_of=lambda name: name)
    record = json.loads((tmp_path / "packed/croissant.json").read_bytes())
    samples = next(r for r in record["recordSet"] if r["@id"] == "samples")
    table = json.loads((tmp_path / "packed/croissant-samples.json").read_bytes())
    assert {f["source"]["extract"]["jsonPath"] for f in samples["field"]} == {f"$.{name}[*]" for name in table}
    assert (table["class"], table["folder"]) == (["00", "00", "01", "01"],) * 2
    assert (table["id"], table["label"]) == ([s.id for s in corruptset.open(built).samples], [0, 0, 1, 1])
    assert record["citeAs"].endswith(corruptset.open(built).digest)
