"""The JSON Schemas, held by an independent validator to what the models accept and refuse."""

from __future__ import annotations

import copy
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pydantic import ValidationError

from corruptset.manifests.records import models
from corruptset.manifests.records.schema import NAMES, make_schema

Make = Callable[..., Path]


def load_schema(name: str) -> Any:
    """Return a shipped schema."""
    return json.loads(files("corruptset.manifests").joinpath(f"schema/{name}.json").read_text("utf-8"))


def validator(name: str) -> Any:
    return jsonschema.Draft202012Validator(load_schema(name))


REGION = {
    "source": "0_käfer/zwei", "group": "p20", "fraction": 0.2, "side": 75, "y": 3, "x": 0, "role": "shrink", "row": 1,
    "col": 1,
    "anchor": False,
}  # fmt: skip
REGION_ROW = {
    "sample": "0_käfer/zwei", "group": "s12", "fraction": None, "side": 12, "role": "base", "y0": 3, "x0": 0, "ny": 3,
    "nx": 4, "step": 1,
    "margin": 1, "fit": "resize", "out": 32, "interpolation": "bilinear", "channels": "rgb",
}  # fmt: skip


def records(root: Path, name: str) -> list[Any]:
    if name == "region-row":
        return [REGION_ROW]
    if name == "manifest":
        return [json.loads((root / "manifest.json").read_text("utf-8"))]
    paths = [root / "samples.jsonl"] if name == "sample" else sorted((root / "sets").rglob("*.jsonl"))
    return [json.loads(line) for path in paths for line in path.read_text("utf-8").splitlines()]


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_is_a_schema(name: str) -> None:
    schema = load_schema(name)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema.Draft202012Validator.check_schema(schema)


def bare(schema: Any) -> Any:
    """Return a schema without its prose, which differs between versions of pydantic."""
    if isinstance(schema, dict):
        return {k: bare(v) for k, v in schema.items() if not (k in ("title", "description") and isinstance(v, str))}
    return [bare(v) for v in schema] if isinstance(schema, list) else schema


@pytest.mark.parametrize("name", NAMES)
def test_the_shipped_schemas_are_those_of_the_models(name: str) -> None:
    assert bare(load_schema(name)) == bare(make_schema(name)), (
        "run: python -m corruptset.manifests.schema manifests/schema"
    )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("encoding_format", ["png", "jpeg"])
def test_real_records_are_valid(templates: Make, name: str, encoding_format: str) -> None:
    for record in records(templates(encoding_format=encoding_format), name):
        assert list(validator(name).iter_errors(record)) == []


VALUES = [
    None,
    True,
    0,
    -1,
    1.5,
    2**60,
    "",
    "x",
    "../x",
    "/x",
    "a//b",
    "C:/x",
    "sha256:" + "0" * 64,
    "blake3:" + "0" * 64,
    [],
    ["x"],
    {},
    {"x": 1},
]


def mutants(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield copies of a JSON value with one thing changed at every depth: a field dropped, added, or of another
    value.
    """

    def places(node: Any, path: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
        yield path
        # of a list, the first entry stands for all
        keys = node if isinstance(node, dict) else range(min(len(node), 1)) if isinstance(node, list) else ()
        for key in keys:
            yield from places(node[key], (*path, key))

    for path in places(value, ()):
        for new in [*VALUES, "drop", "add"]:
            copied = copy.deepcopy({"root": value})
            holder: Any = copied
            for key in ("root", *path)[:-1]:
                holder = holder[key]
            last = ("root", *path)[-1]
            if new == "drop" and path and isinstance(holder, dict):
                del holder[last]
            elif new == "add" and isinstance(holder[last], dict):
                holder[last]["added"] = 1
            elif new not in ("drop", "add"):
                holder[last] = new
            yield f"{path} {new!r}", copied["root"]


@pytest.mark.parametrize("name", NAMES)
def test_schema_and_models_accept_and_refuse_the_same(templates: Make, name: str) -> None:
    check, model = validator(name), getattr(models, NAMES[name])
    refused = accepted = 0
    # of the manifest, the last set has stages and metrics
    record = records(templates(encoding_format="jpeg"), name)[-1]
    if name == "sample":
        record["region"] = REGION
    if name == "manifest":
        record["sets"] = record["sets"][-1:]
        record["textures"] = [{"name": "frost1", "sha256": "sha256:" + "0" * 64}]
    for what, mutant in mutants(record):
        try:
            model.model_validate_json(json.dumps(mutant), strict=True)
            by_model = True
        except ValidationError:
            by_model = False
        assert check.is_valid(mutant) == by_model, what
        refused += not by_model
        accepted += by_model
    assert refused > accepted > 0


def test_the_command_writes_the_shipped_files(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "corruptset.manifests.schema", str(tmp_path)], check=True)
    for name in NAMES:
        assert bare(json.loads((tmp_path / f"{name}.json").read_bytes())) == bare(load_schema(name))
    shutil.rmtree(tmp_path)
    ended = subprocess.run(
        [sys.executable, "-m", "corruptset.manifests.schema", str(tmp_path)], capture_output=True, check=False
    )
    assert ended.returncode == 1
    assert b"usage" in ended.stderr
