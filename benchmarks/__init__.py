"""Benchmarks of corruptset: speed relative to lower limits and to other packages, estimates, and the audit."""
