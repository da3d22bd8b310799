"""What a corruption is: pixels in, pixels out.

Knows no file, no data set, no manifest.
"""
