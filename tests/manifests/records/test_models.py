"""Records with invalid values are refused, and the JSON Schemas refuse the same records."""

import copy
import json
import subprocess
import sys
from importlib.resources import files

import jsonschema
import pytest
from pydantic import ValidationError

from corruptset.manifests.records import models
from corruptset.manifests.records.fields import safe_path
from corruptset.manifests.records.models import FileRecord, SetRecord
from corruptset.manifests.records.schema import NAMES

ZERO, ZERO3 = "sha256:" + "0" * 64, "blake3:" + "0" * 64
REGION = {"source": "0_käfer/zwei", "group": "p20", "fraction": 0.2, "side": 75, "y": 3, "x": 0, "role": "shrink"}
REGION |= {"row": 1, "col": 1, "anchor": False}
REGION_ROW = {"sample": "0_käfer/zwei", "group": "s12", "fraction": None, "side": 12, "role": "base", "y0": 3, "x0": 0}
REGION_ROW |= {"ny": 3, "nx": 4, "step": 1, "margin": 1, "fit": "resize", "out": 32, "interpolation": "bilinear"}
REGION_ROW |= {"channels": "rgb"}


def check_invalid(model, value):
    with pytest.raises(ValidationError):
        model.model_validate(value)


def test_paths_hashes_and_ids_are_validated():
    file = {"path": "a", "bytes": 0, "sha256": ZERO}
    for path in ("a", "a/b c/ü.png", "images/fog/3/x.JPEG", ".hidden", "a..b/c", "...", "a/b:c", "~", "a\nb"):
        assert safe_path(path) == path
    for path in ("", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/../b", "./a", "a\\b", "a\0", "C:", "C:/a", "c:a"):
        check_invalid(FileRecord, file | {"path": path})
    for sha256 in ("0" * 64, ZERO[:-1], "sha256:" + "A" * 64, ZERO3, ZERO + "\n"):
        check_invalid(FileRecord, file | {"sha256": sha256})
    options = {"aliases": [], "stages": [], "role": "test", "count": 0, "files": 0, "bytes": 0, "metrics": None}
    options["pixel_digest"] = ZERO3
    assert SetRecord.model_validate(options | {"id": "fog-3+snow/1_a"}).reproducible
    for set_id in ("", "Fog/3", "fog/3/", "/fog", "fog//3", "fog.3", "fog/../3", "fog 3", "ü", "fog/3\n"):
        check_invalid(SetRecord, options | {"id": set_id})


def load_schema(name):
    """Return a shipped schema."""
    return json.loads(files("corruptset.manifests").joinpath(f"schema/{name}.json").read_text("utf-8"))


def records(root, name):
    if name == "region-row":
        return [REGION_ROW]
    if name == "manifest":
        return [json.loads((root / "manifest.json").read_text("utf-8"))]
    paths = [root / "samples.jsonl"] if name == "sample" else sorted((root / "sets").rglob("*.jsonl"))
    return [json.loads(line) for path in paths for line in path.read_text("utf-8").splitlines()]


def strip_annotations(schema):
    """Return a schema without descriptions and titles, which differ between versions of pydantic."""
    if isinstance(schema, dict):
        prose = ("title", "description")
        return {k: strip_annotations(v) for k, v in schema.items() if not (k in prose and isinstance(v, str))}
    return [strip_annotations(v) for v in schema] if isinstance(schema, list) else schema


def test_command_writes_shipped_schemas_that_accept_real_records(templates, tmp_path):
    command = [sys.executable, "-m", "corruptset.manifests.schema", str(tmp_path)]
    subprocess.run(command, check=True)
    for name in NAMES:
        schema = load_schema(name)
        jsonschema.Draft202012Validator.check_schema(schema)
        content = json.loads((tmp_path / f"{name}.json").read_bytes())
        assert strip_annotations(content) == strip_annotations(schema), f"run {command[1:3]} manifests/schema"
        for form in ("png", "jpeg"):
            for record in records(templates(encoding_format=form), name):
                jsonschema.Draft202012Validator(schema).validate(record)


VALUES = [None, True, 0, -1, 1.5, 2**60, "", "../x", ZERO, ZERO3, [], ["x"], {}, {"x": 1}]


def mutate(value):
    """Yield copies of a JSON value in which one field, at any depth, is removed, added or replaced."""

    def places(node, path):
        yield path
        # of each list, only the first entry is changed
        keys = node if isinstance(node, dict) else range(min(len(node), 1)) if isinstance(node, list) else ()
        for key in keys:
            yield from places(node[key], (*path, key))

    for path in places(value, ("root",)):
        for new in [*VALUES, "drop", "add"]:
            holder = (copied := copy.deepcopy({"root": value}))
            for key in path[:-1]:
                holder = holder[key]
            if new == "drop" and len(path) > 1 and isinstance(holder, dict):
                del holder[path[-1]]
            elif new == "add" and isinstance(holder[path[-1]], dict):
                holder[path[-1]]["added"] = 1
            elif new not in ("drop", "add"):
                holder[path[-1]] = new
            yield f"{path} {new!r}", copied["root"]


@pytest.mark.parametrize("name", NAMES)
def test_schema_and_models_accept_and_reject_same_records(templates, name):
    check, model = jsonschema.Draft202012Validator(load_schema(name)), getattr(models, NAMES[name])
    refused = accepted = 0
    # the last set of the manifest has stages and metrics
    record = records(templates(encoding_format="jpeg"), name)[-1]
    if name == "sample":
        record |= {"region": REGION, "group": "g"}
    if name == "manifest":
        record["sets"], record["files"] = record["sets"][-1:], record["files"][:1]
        record["textures"] = [{"name": "frost1", "sha256": ZERO}]
    for what, mutant in mutate(record):
        try:
            model.model_validate_json(json.dumps(mutant), strict=True)
            by_model = True
        except ValidationError:
            by_model = False
        assert check.is_valid(mutant) == by_model, what
        refused += not by_model
        accepted += by_model
    assert refused > accepted > 0
