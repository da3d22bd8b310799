"""Generate the schema of a scores file: ``python -m corruptset.scores.schema FOLDER``."""

import sys
from pathlib import Path

from ...manifests.records.schema import schema_bytes
from . import NAME, make_scores_schema

if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
    sys.exit("usage: python -m corruptset.scores.schema FOLDER   (in a checkout: scores/schema)")
(Path(sys.argv[1]) / f"{NAME}.json").write_bytes(schema_bytes(make_scores_schema()))
