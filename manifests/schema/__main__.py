"""``python -m corruptset.manifests.schema FOLDER``: write the JSON Schemas of the models to a folder."""

import sys
from pathlib import Path

from ..records.schema import NAMES, make_schema, schema_bytes

if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
    sys.exit("usage: python -m corruptset.manifests.schema FOLDER   (in a checkout: manifests/schema)")
for name in NAMES:
    (Path(sys.argv[1]) / f"{name}.json").write_bytes(schema_bytes(make_schema(name)))
