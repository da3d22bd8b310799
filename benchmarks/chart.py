"""A picture of where a build's time goes: ``python -m benchmarks.chart docs/records/performance.json docs/pictures/performance.svg``.

`FIGURES.json` is what ``python -m benchmarks.pipeline --json FIGURES.json`` wrote. Bars are of processor time an output, as parts of the
build's floor; the line at 1 is the floor.
"""

from __future__ import annotations

import argparse
import json
from html import escape
from pathlib import Path
from typing import Any

from corruptset.webpage.sheets.letters import width
from corruptset.webpage.sheets.style import INK, PAPER

from .pipeline import grouped

# Colours that also differ in lightness; what the floor has too is grey.
GROUPS = {
    "read, decode, resize": ("#6b6b6b", ("read, decode", "resize")),
    "encode": ("#949494", ("encode",)),
    "write": ("#bdbdbd", ("write files", "hash, write shards", "write arrays", "lay out shards")),
    "corrupt": ("#d1603d", ("corrupt",)),
    "digests": ("#3a6ea5", ("digest",)),
    "metrics": ("#7fb069", ("metrics",)),
}
LAST = ("start, records, the rest", "#e6c229")
FONT = "system-ui, 'DejaVu Sans', sans-serif"
WIDTH, LEFT, BAR, GAP = 900, 190, 26, 16


def draw(figures: dict[str, Any]) -> str:
    """Return the picture as SVG."""
    builds = figures["builds"]
    longest = max(build["ratio"] for build in builds.values())
    unit = (WIDTH - LEFT - 70) / longest
    bottom = 70 + len(builds) * (BAR + GAP)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 40}" font-family="{FONT}" font-size="13" fill="{INK}">',
        f'<rect width="{WIDTH}" height="{bottom + 40}" fill="{PAPER}"/>',
        '<text x="10" y="22" font-size="16">Whole builds, one process, as multiples of their floors</text>',
    ]
    x = 10.0
    for label, colour in [*((name, colour) for name, (colour, _) in GROUPS.items()), LAST]:
        out.append(f'<rect x="{x:.0f}" y="36" width="12" height="12" fill="{colour}"/><text x="{x + 17:.0f}" y="47">{escape(label)}</text>')
        x += 34 + width(label)
    for i, (name, build) in enumerate(builds.items()):
        y = 70 + i * (BAR + GAP)
        out.append(f'<text x="{LEFT - 8}" y="{y + 18}" text-anchor="end">{escape(name)}</text>')
        stages = grouped(build["stages"])
        unit_width = build["ratio"] / sum(stages.values()) * unit
        pieces = [(colour, sum(stages.pop(stage, 0.0) for stage in members)) for colour, members in GROUPS.values()]
        x = float(LEFT)
        for colour, seconds in [*pieces, (LAST[1], sum(stages.values()))]:
            out.append(f'<rect x="{x:.1f}" y="{y}" width="{seconds * unit_width:.1f}" height="{BAR}" fill="{colour}"/>')
            x += seconds * unit_width
        out.append(f'<text x="{x + 6:.1f}" y="{y + 18}">{build["ratio"]:.2f}</text>')
    for step in range(int(longest) + 1):
        out.append(f'<text x="{LEFT + step * unit:.1f}" y="{bottom + 16}" text-anchor="middle">{step}</text>')
    x = LEFT + unit
    out.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="62" y2="{bottom}" stroke="{INK}" stroke-dasharray="4 3"/>')
    return "\n".join([*out, "</svg>", ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figures", type=Path)
    parser.add_argument("picture", type=Path)
    arguments = parser.parse_args()
    arguments.picture.write_text(draw(json.loads(arguments.figures.read_text(encoding="utf-8"))), encoding="utf-8")


if __name__ == "__main__":
    main()
