"""`python -m corruptset`: the command line, where the command itself is not on the path."""

from __future__ import annotations

import importlib

importlib.import_module(".cli", __package__).main()
