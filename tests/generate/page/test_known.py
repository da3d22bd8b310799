"""What the page says of every corruption."""

from __future__ import annotations

from corruptset.corruptions.registry import corruption_names, get_corruption
from corruptset.generate.page.known import known_corruption


def test_what_is_known_of_every_corruption() -> None:
    for name in corruption_names():
        known = known_corruption(name)
        assert known.family == get_corruption(name).family
        assert known.summary
        assert known.drawn
        assert "`" not in known.summary + "".join(known.notes)
    assert any("drifts" in note for note in known_corruption("glass_blur").notes)
    assert known_corruption("unheard_of").family == "other"
