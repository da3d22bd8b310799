"""Print which test caught which variant: ``python tests/mutations/table.py FILE ...``, see docs/mutations.md."""

from __future__ import annotations

import sys
from xml.etree import ElementTree


def main() -> None:
    """Print a row a variant, and how many there were, how many were caught, how many survived."""
    rows = []
    for path in sys.argv[1:]:
        for case in ElementTree.parse(path).iter("testcase"):
            name, _, variant = case.attrib["name"].partition("[")
            if name == "test_a_wrong_variant_is_caught":
                found = {p.attrib["name"]: p.attrib["value"] for p in case.iter("property")}
                passed = "caught_by" in found and not {"failure", "error", "skipped"} & {c.tag for c in case}
                rows.append((variant.removesuffix("]"), found.get("caught_by", "").partition("[")[0], passed))
    print("| variant | caught by |\n|---|---|")
    for variant, by, caught in rows:
        print(f"| {variant} | {f'`{by}`' if caught else '**nobody**'} |")
    survived = sum(not caught for *_, caught in rows)
    print(f"\n{len(rows)} variants, {len(rows) - survived} caught, {survived} survived.")


if __name__ == "__main__":
    main()
