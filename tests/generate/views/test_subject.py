"""What a view knows of a set: its severity or level, and the labels of its images."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

from layouts import CHOSEN, export

from corruptset.corruptions.stages import Stage
from corruptset.generate.views.contents import ViewSet


def test_metadata_tells_severities_levels_and_the_rest_apart(chains: Path, tmp_path: Path) -> None:
    top = export("imagefolder", chains, tmp_path / "h", sets=CHOSEN).top
    rows = [json.loads(line) for line in (top / "metadata.jsonl").read_text("utf-8").splitlines()]
    found = {row["set"]: (row["corruption"], row["severity"], row["level"]) for row in rows}
    assert found["contrast/3"] == ("contrast", 3, 0)
    assert found["dull"] == ("contrast", 2, 0)
    assert found["black_lines/07"] == ("black_lines", 0, 7)
    for name in ("clean", "sp010", "sp010+ro-30", "contrast-3+brightness-5"):
        assert found[name] == (name, 0, 0)
    top = export("webdataset", chains, tmp_path / "w", sets=CHOSEN).top
    for name, expected in found.items():
        with tarfile.open(top / name / "000000.tar") as archive:
            about = json.load(archive.extractfile("00000003.json"))  # type: ignore[arg-type]
        assert (about["corruption"], about["severity"], about["level"]) == expected
    # where no set has a level there is no such column
    top = export("imagefolder", chains, tmp_path / "plain", sets=["sp010*", "contrast/*"]).top
    assert {"level" in json.loads(line) for line in (top / "metadata.jsonl").read_text("utf-8").splitlines()} == {False}


def test_a_number_is_a_severity_or_a_level_as_the_stage_says_and_only_in_a_set_called_by_it() -> None:
    at_three, at_seven = Stage("fog", 1, severity=3), Stage("black_lines", 1, level=7)
    assert (ViewSet.of("fog/3", [], [at_three]).severity, ViewSet.of("fog/3", [], [at_three]).level) == (3, None)
    assert (
        ViewSet.of("black_lines/07", [], [at_seven]).severity,
        ViewSet.of("black_lines/07", [], [at_seven]).level,
    ) == (None, 7)
    assert ViewSet.of("misty", ["fog/3"], [at_three]).severity == 3
    # the same severity with an option of its own, under a name of its own
    assert ViewSet.of("misty", [], [at_three]).severity is None
    assert ViewSet.of("thick", [], [at_seven]).level is None
    assert ViewSet.of("fog-3+black_lines-07", [], [at_three, at_seven]).severity is None
