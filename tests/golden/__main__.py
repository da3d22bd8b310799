"""``python -m tests.golden``: compare the golden digests, or record them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from digests import main

sys.exit(main())
