"""Benchmarks that compare the speed of corruptset with its floor and with other packages, as ratios."""
