"""A picture of where a build's time goes: ``python -m benchmarks.chart FIGURES.json docs/performance.svg``.

`FIGURES.json` is what ``python -m benchmarks.pipeline --json FIGURES.json`` wrote. Bars are of processor time an output, as parts of the
build's floor; the line at 1 is the floor.
"""

from __future__ import annotations

import argparse
import json
from html import escape
from pathlib import Path
from typing import Any

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
WIDTH, LEFT, BAR, GAP = 900, 190, 26, 16


def bars(figures: dict[str, Any]) -> list[tuple[str, float, list[tuple[str, float]]]]:
    """Return (build, its ratio to the floor, (colour, part of the floor) of every group)."""
    found = []
    for name, build in figures["builds"].items():
        stages = grouped(build["stages"])
        total = sum(stages.values())
        scale = build["ratio"] / total
        pieces = [(colour, sum(stages.pop(stage, 0.0) for stage in members) * scale) for colour, members in GROUPS.values()]
        found.append((name, build["ratio"], [*pieces, (LAST[1], sum(stages.values()) * scale)]))
    return found


def draw(figures: dict[str, Any]) -> str:
    """Return the picture as SVG."""
    rows = bars(figures)
    longest = max(ratio for _, ratio, _ in rows)
    unit = (WIDTH - LEFT - 70) / longest
    height = 70 + len(rows) * (BAR + GAP) + 40
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="13">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        '<text x="10" y="22" font-size="16">Whole builds, one process, as multiples of their floors</text>',
    ]
    x = 10.0
    for label, colour in [*((name, colour) for name, (colour, _) in GROUPS.items()), LAST]:
        out.append(f'<rect x="{x:.0f}" y="36" width="12" height="12" fill="{colour}"/><text x="{x + 17:.0f}" y="47">{escape(label)}</text>')
        x += 32 + 7.2 * len(label)
    for i, (name, ratio, pieces) in enumerate(rows):
        y = 70 + i * (BAR + GAP)
        out.append(f'<text x="{LEFT - 8}" y="{y + 18}" text-anchor="end">{escape(name)}</text>')
        x = float(LEFT)
        for colour, part in pieces:
            out.append(f'<rect x="{x:.1f}" y="{y}" width="{part * unit:.1f}" height="{BAR}" fill="{colour}"/>')
            x += part * unit
        out.append(f'<text x="{x + 6:.1f}" y="{y + 18}">{ratio:.2f}</text>')
    bottom = 70 + len(rows) * (BAR + GAP)
    for step in range(int(longest) + 1):
        at = LEFT + step * unit
        out.append(f'<text x="{at:.1f}" y="{bottom + 16}" text-anchor="middle">{step}</text>')
    at = LEFT + unit
    out.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="62" y2="{bottom}" stroke="black" stroke-dasharray="4 3"/>')
    return "\n".join([*out, "</svg>", ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figures", type=Path)
    parser.add_argument("picture", type=Path)
    arguments = parser.parse_args()
    arguments.picture.write_text(draw(json.loads(arguments.figures.read_text(encoding="utf-8"))), encoding="utf-8")


if __name__ == "__main__":
    main()
