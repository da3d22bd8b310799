"""The tests, as a package, so that ``python -m tests.golden`` finds this folder and not another package ``tests``."""
