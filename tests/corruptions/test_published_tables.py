"""The shipped tables, cell by cell, against the published values, which stand here once more: read out of the released
code.

Released with Hendrycks and Dietterich, ICLR 2019: make_imagenet_c.py, make_imagenet_c_inception.py,
make_tinyimagenet_c.py, make_cifar_c.py; and with Mu and Gilmer 2019, MNIST-C: corruptions.py. Severities 1 to 5,
columns in the tables' order; frost's third is the factor on its textures' size. rotate's angles are MNIST-C's in every
table.
"""

from __future__ import annotations

import pytest

from corruptset.canonical import canonical_sha256
from corruptset.corruptions.calibrations import SHIPPED, shipped
from corruptset.corruptions.registry import get_corruption

PUBLISHED = {
    "imagenet": """
gaussian_noise: 0.08, 0.12, 0.18, 0.26, 0.38
shot_noise: 60, 25, 12, 5, 3
impulse_noise: 0.03, 0.06, 0.09, 0.17, 0.27
speckle_noise: 0.15, 0.2, 0.35, 0.45, 0.6
defocus_blur: 3 0.1, 4 0.5, 6 0.5, 8 0.5, 10 0.5
glass_blur: 0.7 1 2, 0.9 2 1, 1 2 3, 1.1 3 2, 1.5 4 2
motion_blur: 10 3, 15 5, 15 8, 15 12, 20 15
zoom_blur: 1.11 0.01, 1.16 0.01, 1.21 0.02, 1.26 0.02, 1.31 0.03
gaussian_blur: 1, 2, 3, 4, 6
snow: 0.1 0.3 3 0.5 10 4 0.8, 0.2 0.3 2 0.5 12 4 0.7, 0.55 0.3 4 0.9 12 8 0.7, 0.55 0.3 4.5 0.85 12 8 0.65, 0.55 0.3 2.5 0.85 12 12 0.55
frost: 1 0.4 1, 0.8 0.6 1, 0.7 0.7 1, 0.65 0.7 1, 0.6 0.75 1
fog: 1.5 2, 2 2, 2.5 1.7, 2.5 1.5, 3 1.4
brightness: 0.1, 0.2, 0.3, 0.4, 0.5
spatter: 0.65 0.3 4 0.69 0.6 0, 0.65 0.3 3 0.68 0.6 0, 0.65 0.3 2 0.68 0.5 0, 0.65 0.3 1 0.65 1.5 1, 0.67 0.4 1 0.65 1.5 1
contrast: 0.4, 0.3, 0.2, 0.1, 0.05
elastic_transform: 488 170.8 24.4, 488 19.52 48.8, 12.2 2.44 4.88, 17.08 2.44 4.88, 29.28 2.44 4.88
pixelate: 0.6, 0.5, 0.4, 0.3, 0.25
jpeg_compression: 25, 18, 15, 10, 7
saturate: 0.3 0, 0.1 0, 2 0, 5 0.1, 20 0.2
rotate: 11.459155902616466, 22.918311805232932, 34.37746770784939, 45.836623610465864, 57.29577951308232
""",  # noqa: E501
    "inception": """
gaussian_noise: 0.09, 0.13, 0.19, 0.27, 0.4
shot_noise: 50, 20, 10, 5, 3
impulse_noise: 0.04, 0.07, 0.1, 0.18, 0.28
speckle_noise: 0.16, 0.21, 0.36, 0.46, 0.61
defocus_blur: 4 0.1, 5 0.5, 7 0.5, 10 0.5, 12 0.5
glass_blur: 0.8 1 3, 1 3 1, 1.1 2 4, 1.2 4 2, 1.6 5 2
motion_blur: 12 4, 17 6, 17 9, 17 13, 22 16
zoom_blur: 1.11 0.01, 1.16 0.01, 1.21 0.02, 1.26 0.02, 1.31 0.03
gaussian_blur: 1.5, 2.5, 3.5, 4.5, 6.5
snow: 0.1 0.3 3 0.5 10 4 0.8, 0.2 0.3 2 0.5 12 4 0.7, 0.55 0.3 4 0.9 12 8 0.7, 0.55 0.3 4.5 0.85 12 8 0.65, 0.55 0.3 2.5 0.85 12 12 0.55
frost: 1 0.4 1, 0.8 0.6 1, 0.7 0.7 1, 0.65 0.7 1, 0.6 0.75 1
fog: 1.5 2, 2 2, 2.5 1.8, 2.5 1.6, 3 1.5
brightness: 0.1, 0.2, 0.3, 0.4, 0.5
spatter: 0.65 0.3 4 0.69 0.9 0, 0.65 0.3 3.5 0.68 0.9 0, 0.65 0.3 3 0.68 0.8 0, 0.65 0.3 1.2 0.65 1.8 1, 0.67 0.4 1.2 0.65 1.8 1
contrast: 0.4, 0.3, 0.2, 0.1, 0.05
elastic_transform: 720 252 36, 720 28.8 72, 18 3.6 7.2, 25.2 3.6 7.2, 43.2 3.6 7.2
pixelate: 0.5, 0.4, 0.3, 0.25, 0.2
jpeg_compression: 23, 16, 13, 8, 5
saturate: 0.3 0, 0.1 0, 2 0, 5 0.1, 20 0.2
rotate: 11.459155902616466, 22.918311805232932, 34.37746770784939, 45.836623610465864, 57.29577951308232
""",  # noqa: E501
    "tiny": """
gaussian_noise: 0.04, 0.08, 0.12, 0.15, 0.18
shot_noise: 250, 100, 50, 30, 15
impulse_noise: 0.01, 0.02, 0.05, 0.08, 0.14
speckle_noise: 0.15, 0.2, 0.25, 0.3, 0.35
defocus_blur: 0.5 0.6, 1 0.1, 1.5 0.1, 2.5 0.01, 3 0.1
glass_blur: 0.1 1 1, 0.5 1 1, 0.6 1 2, 0.7 2 1, 0.9 2 2
motion_blur: 10 1, 10 1.5, 10 2, 10 2.5, 12 3
zoom_blur: 1.06 0.01, 1.11 0.01, 1.16 0.01, 1.21 0.01, 1.26 0.01
gaussian_blur: 0.5, 0.75, 1, 1.25, 1.5
snow: 0.1 0.2 1 0.6 8 3 0.8, 0.1 0.2 1 0.5 10 4 0.8, 0.15 0.3 1.75 0.55 10 4 0.7, 0.25 0.3 2.25 0.6 12 6 0.65, 0.3 0.3 1.25 0.65 14 12 0.6
frost: 1 0.3 0.3, 0.9 0.4 0.3, 0.8 0.45 0.3, 0.75 0.5 0.3, 0.7 0.55 0.3
fog: 0.4 3, 0.7 3, 1 2.5, 1.5 2, 2 1.75
brightness: 0.1, 0.2, 0.3, 0.4, 0.5
spatter: 0.62 0.1 0.7 0.7 0.6 0, 0.65 0.1 0.8 0.7 0.6 0, 0.65 0.3 1 0.69 0.6 0, 0.65 0.1 0.7 0.68 0.6 1, 0.65 0.1 0.5 0.67 0.6 1
contrast: 0.4, 0.3, 0.2, 0.1, 0.05
elastic_transform: 0 0 5.12, 3.2 19.2 3.84, 6.4 5.12 3.84, 6.4 1.92 1.92, 10.24 1.92 1.28
pixelate: 0.9, 0.8, 0.7, 0.6, 0.5
jpeg_compression: 65, 58, 50, 40, 25
saturate: 0.3 0, 0.1 0, 2 0, 5 0.1, 30 0.2
rotate: 11.459155902616466, 22.918311805232932, 34.37746770784939, 45.836623610465864, 57.29577951308232
""",  # noqa: E501
    "cifar": """
gaussian_noise: 0.04, 0.06, 0.08, 0.09, 0.1
shot_noise: 500, 250, 100, 75, 50
impulse_noise: 0.01, 0.02, 0.03, 0.05, 0.07
speckle_noise: 0.06, 0.1, 0.12, 0.16, 0.2
defocus_blur: 0.3 0.4, 0.4 0.5, 0.5 0.6, 1 0.2, 1.5 0.1
glass_blur: 0.05 1 1, 0.25 1 1, 0.4 1 1, 0.25 1 2, 0.4 1 2
motion_blur: 6 1, 6 1.5, 6 2, 8 2, 9 2.5
zoom_blur: 1.06 0.01, 1.11 0.01, 1.16 0.01, 1.21 0.01, 1.26 0.01
gaussian_blur: 0.4, 0.6, 0.7, 0.8, 1
snow: 0.1 0.2 1 0.6 8 3 0.95, 0.1 0.2 1 0.5 10 4 0.9, 0.15 0.3 1.75 0.55 10 4 0.9, 0.25 0.3 2.25 0.6 12 6 0.85, 0.3 0.3 1.25 0.65 14 12 0.8
frost: 1 0.2 0.2, 1 0.3 0.2, 0.9 0.4 0.2, 0.85 0.4 0.2, 0.75 0.45 0.2
fog: 0.2 3, 0.5 3, 0.75 2.5, 1 2, 1.5 1.75
brightness: 0.05, 0.1, 0.15, 0.2, 0.3
spatter: 0.62 0.1 0.7 0.7 0.5 0, 0.65 0.1 0.8 0.7 0.5 0, 0.65 0.3 1 0.69 0.5 0, 0.65 0.1 0.7 0.69 0.6 1, 0.65 0.1 0.5 0.68 0.6 1
contrast: 0.75, 0.5, 0.4, 0.3, 0.15
elastic_transform: 0 0 2.56, 1.6 6.4 2.24, 2.56 1.92 1.92, 3.2 1.28 1.6, 3.2 0.96 0.96
pixelate: 0.95, 0.9, 0.85, 0.75, 0.65
jpeg_compression: 80, 65, 58, 50, 40
saturate: 0.3 0, 0.1 0, 1.5 0, 2 0.1, 2.5 0.2
rotate: 11.459155902616466, 22.918311805232932, 34.37746770784939, 45.836623610465864, 57.29577951308232
""",  # noqa: E501
    "mnist": """
gaussian_noise: 0.08, 0.12, 0.18, 0.26, 0.38
shot_noise: 60, 25, 12, 5, 3
impulse_noise: 0.03, 0.06, 0.09, 0.17, 0.27
speckle_noise: 0.15, 0.2, 0.35, 0.45, 0.6
gaussian_blur: 1, 2, 3, 4, 6
glass_blur: 0.7 1 2, 0.9 2 1, 1 2 3, 1.1 3 2, 1.5 4 2
defocus_blur: 3 0.1, 4 0.5, 6 0.5, 8 0.5, 10 0.5
motion_blur: 10 3, 15 5, 15 8, 15 12, 20 15
zoom_blur: 1.11 0.01, 1.16 0.01, 1.21 0.02, 1.26 0.02, 1.31 0.03
snow: 0.1 0.3 3 0.5 10 4 0.8, 0.2 0.3 2 0.5 12 4 0.7, 0.55 0.3 4 0.9 12 8 0.7, 0.55 0.3 4.5 0.85 12 8 0.65, 0.55 0.3 2.5 0.85 12 12 0.55
frost: 1 0.4 1, 0.8 0.6 1, 0.7 0.7 1, 0.65 0.7 1, 0.6 0.75 1
fog: 1.5 2, 2 2, 2.5 1.7, 2.5 1.5, 3 1.4
brightness: 0.1, 0.2, 0.3, 0.4, 0.5
spatter: 0.65 0.3 4 0.69 0.6 1, 0.65 0.3 3 0.68 0.6 1, 0.65 0.3 2 0.68 0.5 1, 0.65 0.3 1 0.65 1.5 1, 0.67 0.4 1 0.65 1.5 1
contrast: 0.4, 0.3, 0.2, 0.1, 0.05
elastic_transform: 56 19.6 2.8, 56 2.24 5.6, 1.4 0.28 0.56, 1.96 0.28 0.56, 3.36 0.28 0.56
pixelate: 0.6, 0.5, 0.4, 0.3, 0.25
jpeg_compression: 25, 18, 15, 10, 7
saturate: 0.3 0, 0.1 0, 2 0, 5 0.1, 20 0.2
quantize: 5, 4, 3, 2, 1
shear: 11.459155902616466, 22.918311805232932, 34.37746770784939, 45.836623610465864, 57.29577951308232
scale: 0.9, 0.8, 0.7, 0.6, 0.5
rotate: 11.459155902616466, 22.918311805232932, 34.37746770784939, 45.836623610465864, 57.29577951308232
translate: 1, 2, 3, 4, 5
line: 2.3
dotted_line: 2.3 2
zigzag: 2.3 2 2
stripe: 0.25
canny_edges: 1 0.1 0.2
""",  # noqa: E501
}


# sha256 of each table's values and options, however the file is laid out: compared with the released generators' once
TABLES = {
    "imagenet": "sha256:7a7460c15ba90a9eea04bc8b8f1627e792053172734d569e3d943690e2ca9c84",
    "inception": "sha256:f4e3254b75dda01df140ad29406ff125e4984a6e34fd96cbab31651f0e2c3610",
    "tiny": "sha256:5787f1523e95263a6289a35a1178d05e9a7501b67ee4f521b51003e2a9f4170a",
    "cifar": "sha256:b35b8eb0c022416f89b2ad09543ea9345bfa9257fd6559da9bd28fcf63f97e72",
    "mnist": "sha256:48d99d910eeb78ba60e89c541255cf334e6ca2e13d3db290af66ad6441b3a6b0",
}


def test_all_shipped_tables_stand_here():
    assert sorted(PUBLISHED) == sorted(SHIPPED)


def published_values(calibration):
    """Return corruption -> its published rows, in the table's order of columns."""
    lines = [line.split(": ") for line in PUBLISHED[calibration].strip().splitlines()]
    values = {name: [[float(value) for value in row.split()] for row in rows.split(", ")] for name, rows in lines}
    return values | ({"inverse": [[]]} if calibration == "mnist" else {})  # nothing to choose


@pytest.mark.parametrize("calibration", SHIPPED)
def test_every_cell_is_the_published_one(calibration):
    table = shipped(calibration)
    for name, rows in published_values(calibration).items():
        assert sorted(table.rows[name]) == list(range(1, len(rows) + 1)), name
        for severity, row in enumerate(rows, 1):
            parameters = table.row(name, severity).parameters
            got = [parameters[column.name] for column in get_corruption(name).columns]
            assert got == pytest.approx(row, rel=1e-12), f"{name}/{severity}"
            assert table.row(name, severity).source


@pytest.mark.parametrize("calibration", SHIPPED)
def test_no_published_value_or_option_has_moved(calibration):
    table = shipped(calibration)
    values = {
        name: {str(s): dict(row.parameters) for s, row in table.rows[name].items()}
        for name in published_values(calibration)
    }
    assert canonical_sha256({"side": table.side, "rows": values}) == TABLES[calibration]
