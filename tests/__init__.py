"""The tests: a package, so that ``python -m tests.golden`` means this folder wherever another package is called
``tests``.
"""
