"""Run the command line with `python -m corruptset`, for environments in which `corruptset` is not on the PATH."""

from __future__ import annotations

import importlib

importlib.import_module(".cli", __package__).main()
