"""Print which test caught which variant: ``python tests/mutations/table.py FILE ...``, see docs/reliability.md."""

from __future__ import annotations

import sys
from xml.etree import ElementTree

PARTS = {
    "test_a_wrong_variant_is_caught": "pixels",
    "test_a_mistake_outside_the_pixels_is_caught": "outside the pixels",
}


def main():
    """Print a row a variant, and for each part how many there were, how many were caught, how many survived."""
    rows = []
    for path in sys.argv[1:]:
        for case in ElementTree.parse(path).iter("testcase"):
            name, _, variant = case.attrib["name"].partition("[")
            if name in PARTS:
                found = {p.attrib["name"]: p.attrib["value"] for p in case.iter("property")}
                passed = "caught_by" in found and not {"failure", "error", "skipped"} & {c.tag for c in case}
                rows.append(
                    (PARTS[name], variant.removesuffix("]"), found.get("caught_by", "").partition("[")[0], passed)
                )
    print("| variant | caught by |\n|---|---|")
    for _, variant, by, caught in rows:
        print(f"| {variant} | {f'`{by}`' if caught else '**nobody**'} |")
    for part in dict.fromkeys(part for part, *_ in rows):
        caught = [passed for of, *_, passed in rows if of == part]
        print(f"\n{part}: {len(caught)} variants, {sum(caught)} caught, {len(caught) - sum(caught)} survived.")


if __name__ == "__main__":
    main()
