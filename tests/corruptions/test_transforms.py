"""`Corrupt` and `RandomCorrupt`: the bytes of `corrupt`, whatever is called before, between and where."""

from __future__ import annotations

import hashlib
import pickle
import random
from collections import Counter
from typing import Any

import numpy as np
import pytest
from specification import plain

import corruptset
from corruptset import Corrupt, RandomCorrupt
from corruptset.errors import CorruptsetError, ParameterError, UnknownCorruption
from pictures import numbers, painted

PHOTO = painted(40, 56)
NAMES = ["gaussian_noise", "contrast", "fog-3+impulse_noise-2", "black_lines", "clean"]
MANY = [painted(32, 32, which=i) for i in range(12)]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("gaussian_noise", {"severity": 3, "seed": 7, "calibration": "imagenet", "coupling": "severity"}),
        ("glass_blur", {"severity": 4, "scale": "side"}),
        ("motion_blur", {"severity": 4, "angle_deg": 30.0}),
        ("black_lines", {"level": 7, "ladder": "text"}),
        ("salt_pepper", {"density": 0.1}),
        ([("contrast", 3), {"corruption": "impulse_noise", "severity": 2}], {}),
        ("clean", {}),
    ],
)
def test_it_is_corrupt_with_the_rest_resolved(name: Any, options: dict[str, Any]) -> None:
    transform = Corrupt(name, **options)
    again = pickle.loads(pickle.dumps(transform))
    written = eval(repr(transform), {"Corrupt": Corrupt})
    assert repr(again) == repr(written) == repr(transform)
    for image in (PHOTO, PHOTO[:, :, 0], painted(28, 28, 1), painted(100, 120), np.stack([PHOTO, PHOTO[::-1]])):
        before = image.copy()
        want = corruptset.corrupt(image, name, **options)
        for made in (transform, again, written):
            np.testing.assert_array_equal(made(image), want)
        np.testing.assert_array_equal(image, before)
        assert transform(image) is not image
    batch = np.stack([PHOTO, PHOTO[::-1]])
    np.testing.assert_array_equal(
        transform(batch, key=["a", "b"]), corruptset.corrupt(batch, name, key=["a", "b"], **options)
    )


def test_reprs_are_short_an_index_is_a_key_and_what_comes_with_an_image_stays() -> None:
    assert repr(Corrupt("fog", severity=3, seed=0, scale="none")) == "Corrupt('fog', severity=3)"
    assert (
        repr(RandomCorrupt(["fog"], severities=range(1, 4), p=0.25))
        == "RandomCorrupt(['fog'], severities=range(1, 4), p=0.25)"
    )
    label = object()
    for transform in (Corrupt("gaussian_noise", severity=3), RandomCorrupt("gaussian_noise", p=1.0)):
        for index in (7, np.int64(7)):
            np.testing.assert_array_equal(transform(PHOTO, key=index), transform(PHOTO, key="7"))
        assert len({transform(PHOTO, key=key).tobytes() for key in (7, 8, None)}) == 3
        image, same, text = transform(PHOTO, label, "b")
        assert same is label
        assert text == "b"
        np.testing.assert_array_equal(image, transform(PHOTO))


def plain_choice(names: list[str], key: str, seed: int, p: float) -> tuple[str, int] | None:
    """Return what `RandomCorrupt` draws, from the words of docs/on-the-fly.md."""
    hashes = [plain.key64(["RandomCorrupt", 1, seed]), plain.key64(key)]
    digest = hashlib.blake2b(b"".join(h.to_bytes(8, "little") for h in hashes), digest_size=24).digest()
    share, name, severity = (int.from_bytes(digest[i : i + 8], "little") / 2**64 for i in (0, 8, 16))
    return None if share >= p else (names[int(name * len(names))], 1 + int(severity * 5))


def test_the_draw_is_the_one_of_the_page() -> None:
    names = ["fog", "contrast", "gaussian_noise"]
    transform = RandomCorrupt(names, p=0.7, seed=5)
    drawn = Counter()
    for i in range(3000):
        chosen, want = transform.choice(PHOTO, key=i), plain_choice(names, str(i), 5, 0.7)
        assert repr(chosen) == (repr(Corrupt(want[0], severity=want[1], seed=5)) if want else "None")
        drawn[want] += 1
    # 16 cells: five standard deviations of a share of 0.7 / 15 are 58 of 3,000
    assert len(drawn) == 16
    assert all(abs(count - 140) < 58 for what, count in drawn.items() if what)
    assert abs(drawn[None] - 900) < 126


def test_it_is_what_its_choice_makes_in_any_order() -> None:
    transform = RandomCorrupt(NAMES, p=0.6, seed=3)
    states = random.getstate(), np.random.get_state()[1].tolist()  # noqa: NPY002
    want = [transform(image) for image in MANY]
    for image, out in zip(MANY, want, strict=True):
        chosen = transform.choice(image)
        assert out is image if chosen is None else np.array_equal(out, chosen(image))
    assert {transform.choice(i) is None for i in MANY} == {True, False}
    np.testing.assert_array_equal(transform(np.stack(MANY)), np.stack(want))
    keyed = [transform(image, key=k) for image, k in zip(MANY, numbers(12), strict=True)]
    np.testing.assert_array_equal(transform(np.stack(MANY), key=numbers(12)), np.stack(keyed))
    again = pickle.loads(pickle.dumps(transform))
    for i in (5, 11, 0, 5, 3, 8):
        np.testing.assert_array_equal(again(MANY[i]), want[i])
    assert (random.getstate(), np.random.get_state()[1].tolist()) == states  # noqa: NPY002
    assert repr(eval(repr(transform), {"RandomCorrupt": RandomCorrupt})) == repr(transform) == repr(again)
    assert all(RandomCorrupt("contrast", p=1)(i) is not i for i in MANY)
    assert all(RandomCorrupt("contrast", p=0)(i) is i for i in MANY)


def test_an_epoch_and_a_seed_draw_anew() -> None:
    first = RandomCorrupt(["gaussian_noise", "fog"], p=0.9)
    assert repr(first.with_epoch(0)) == repr(first)
    for other in (first.with_epoch(1), first.with_epoch(2), RandomCorrupt(["gaussian_noise", "fog"], p=0.9, seed=1)):
        assert sum(np.array_equal(first(i), other(i)) for i in MANY) < 4
        np.testing.assert_array_equal(other(MANY[0]), pickle.loads(pickle.dumps(other))(MANY[0]))
    # the noise too, where the same corruption is drawn
    same = [RandomCorrupt("gaussian_noise", severities=[3], p=1.0).with_epoch(e)(PHOTO) for e in range(3)]
    assert len({image.tobytes() for image in same}) == 3
    assert repr(first.with_epoch(2).with_epoch(1)) == "RandomCorrupt(['gaussian_noise', 'fog'], p=0.9, epoch=1)"


@pytest.mark.parametrize(
    ("make", "kind", "says"),
    [
        (lambda: Corrupt("fogg", severity=3), UnknownCorruption, "Did you mean 'fog'"),
        (lambda: Corrupt("fog"), ParameterError, "needs a severity"),
        (lambda: Corrupt("fog-9"), ParameterError, "severity is 9"),
        (lambda: Corrupt("fog", severity=1, sigma=1), ParameterError, "unknown parameter 'sigma'"),
        (lambda: Corrupt("black_lines", level=100), ParameterError, "level is 100"),
        (lambda: Corrupt(PHOTO, severity=1), ParameterError, "expected a corruption, a set id or a list"),
        (
            lambda: Corrupt("fog-1+pgd-2"),
            ParameterError,
            r"pgd-2' follows the gradient of a model.*surrogate=\.\.\., label=",
        ),
        (lambda: Corrupt("canny_edges", severity=1)(painted(300, 300)), ParameterError, "no rows in calibration"),
        (lambda: Corrupt("fog", severity=3)(PHOTO, key=1.5), ParameterError, "key is 1.5; expected a string"),
        (lambda: RandomCorrupt([]), ParameterError, r"names is \[\]; expected"),
        (lambda: RandomCorrupt(7), ParameterError, "names is 7; expected"),
        (lambda: RandomCorrupt(["fog"], p=True), ParameterError, "p is True"),
        (lambda: RandomCorrupt(["fog"], p=float("nan")), ParameterError, "p is nan"),
        (lambda: RandomCorrupt("fog", severities=0), ParameterError, r"severities is \[0\]"),
        (
            lambda: RandomCorrupt(["fog"], severities=range(0, 6)),
            ParameterError,
            r"severities is range\(0, 6\); expected some from 1 on",
        ),
        (lambda: RandomCorrupt(["fog"], epoch=-1), ParameterError, "epoch is -1"),
        (lambda: RandomCorrupt(["fog"], seed=2**53), ParameterError, "seed is 9007199254740992"),
        (lambda: RandomCorrupt(["snow", "fogg"]), UnknownCorruption, "Did you mean 'fog'"),
    ],
)
def test_mistakes_are_named_when_it_is_made(make: Any, kind: type[CorruptsetError], says: str) -> None:
    with pytest.raises(kind, match=says):
        make()
