"""Sets that are selected by patterns."""

from __future__ import annotations

import random
from fnmatch import fnmatchcase

import pytest

from corruptset.errors import UnknownCorruption
from corruptset.generate.recipes.choice import choose_sets, match_sets
from corruptset.generate.recipes.set_spec import SetSpec

SETS = [
    SetSpec(f"{name}/{severity}", (), (f"{name.title()} {severity}",))
    for name in ("fog", "snow", "frost")
    for severity in range(1, 6)
]
GLOBS = ["fog/1", "fog/*", "*/3", "Snow 2", "Fro?t 4", "snow/[1-3]", "frost/5", "F*", "fog/6", "hail/*", "Hail 1"]


def test_globs_and_names_select_like_sequential_comparison():
    rng = random.Random(1)
    for _ in range(60):
        globs = rng.choices(GLOBS, k=rng.randrange(1, 6))
        chosen, problems = match_sets(SETS, globs)
        assert chosen == [item for item in SETS if any(fnmatchcase(name, g) for name in item.names for g in globs)], (
            globs
        )
        unmatched = [g for g in globs if not any(fnmatchcase(name, g) for item in SETS for name in item.names)]
        assert [text.partition(" matches")[0] for text in problems] == [repr(g) for g in unmatched]


def test_corruption_at_0_is_clean_set():
    for glob in ("clean", "fog/0", "fade_black/00"):
        assert [item.id for item in choose_sets(SETS, [glob, "snow/2"])] == ["clean", "snow/2"]
    # a fractional severity may also be written with a dot
    assert choose_sets([*SETS, SetSpec("fog/2p25", ())], ["fog/2.25"]) == [SetSpec("fog/2p25", ())]
    with pytest.raises(UnknownCorruption, match="'fogg/0' matches no set"):
        choose_sets(SETS, ["fogg/0"])
