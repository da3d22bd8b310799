"""Generate the JSON Schemas (2020-12) of manifest.json and of the rows of JSON Lines files from the models.

``python -m corruptset.manifests.schema FOLDER`` writes the schemas. A test fails if they differ from the models.
"""

from __future__ import annotations

import ast
import inspect
import json
from itertools import pairwise
from types import ModuleType
from typing import Any

NAMES = {"manifest": "Manifest", "sample": "SampleRecord", "set-row": "ImageRecord", "region-row": "RegionRow"}
"""Name of a schema -> name of its model."""


def make_schema(name: str) -> dict[str, Any]:
    """Return the schema with the given name."""
    from . import models

    return schema_of(models, NAMES[name], f"{models.SCHEMA_VERSION}:{name}")


def schema_of(module: ModuleType, model: str, name: str) -> dict[str, Any]:
    """Return the schema of a model, with the string below each field as its description."""
    _describe(module)
    schema: dict[str, Any] = getattr(module, model).model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": f"urn:corruptset:schema:{name}", **schema}


def _describe(module: ModuleType) -> None:
    """Set the description of each field of a module's models to the string below the field."""
    for node in (n for n in ast.parse(inspect.getsource(module)).body if isinstance(n, ast.ClassDef)):
        model = getattr(module, node.name)
        for field, below in pairwise(node.body):
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(below, ast.Expr)
                and isinstance(below.value, ast.Constant)
            ):
                model.model_fields[ast.unparse(field.target)].description = inspect.cleandoc(str(below.value.value))
        model.model_rebuild(force=True)


def schema_bytes(schema: dict[str, Any]) -> bytes:
    """Return the bytes of a schema file."""
    return json.dumps(schema, ensure_ascii=False, indent=2).encode() + b"\n"
