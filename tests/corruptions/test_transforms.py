"""`Corrupt` and `RandomCorrupt`: the bytes of `corrupt`, whatever is called before, between and where."""

from __future__ import annotations

import hashlib
import pickle
import random
from typing import Any

import numpy as np
import pytest
from specification import plain

import corruptset
from corruptset import Corrupt, RandomCorrupt
from corruptset.errors import CorruptsetError
from pictures import numbers, painted

PHOTO = painted(40, 56)
BATCH = np.stack([PHOTO, PHOTO[::-1]])
MANY = [painted(32, 32, which=i) for i in range(12)]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("gaussian_noise", {"severity": 3, "seed": 7, "calibration": "imagenet", "coupling": "severity"}),
        ("motion_blur", {"severity": 4, "angle_deg": 30.0, "scale": "side"}),
        ("black_lines", {"level": 7, "ladder": "text"}),
        ([("contrast", 3), {"corruption": "impulse_noise", "severity": 2}], {}),
        ("clean", {}),
    ],
)
def test_it_is_corrupt_with_the_rest_resolved(name: Any, options: dict[str, Any]) -> None:
    transform = Corrupt(name, **options)
    again = pickle.loads(pickle.dumps(transform))
    written = eval(repr(transform), {"Corrupt": Corrupt})
    assert repr(again) == repr(written) == repr(transform)
    for image in (PHOTO, painted(28, 28, 1), painted(100, 120), BATCH):
        before, want = image.copy(), corruptset.corrupt(image, name, **options)
        for made in (transform, again, written):
            np.testing.assert_array_equal(made(image), want)
        np.testing.assert_array_equal(image, before)
        assert transform(image) is not image
    want = corruptset.corrupt(BATCH, name, key=["a", "b"], **options)
    np.testing.assert_array_equal(transform(BATCH, key=["a", "b"]), want)


def test_reprs_are_short_an_index_is_a_key_and_what_comes_with_an_image_stays() -> None:
    assert repr(Corrupt("fog", severity=3, seed=0, scale="none")) == "Corrupt('fog', severity=3)"
    drawn = RandomCorrupt(["fog"], severities=range(1, 4), p=0.25)
    assert repr(drawn) == "RandomCorrupt(['fog'], severities=range(1, 4), p=0.25)"
    for transform in (Corrupt("gaussian_noise", severity=3), RandomCorrupt("gaussian_noise", p=1.0)):
        for index in (7, np.int64(7)):
            np.testing.assert_array_equal(transform(PHOTO, key=index), transform(PHOTO, key="7"))
        assert len({transform(PHOTO, key=key).tobytes() for key in (7, 8, None)}) == 3
        label = object()
        image, *others = transform(PHOTO, label, "b")
        assert others == [label, "b"]
        np.testing.assert_array_equal(image, transform(PHOTO))


def test_what_its_maker_changes_later_is_not_its_own() -> None:
    stages, names, normals = ["contrast-3"], ["contrast"], np.zeros((40, 56))
    made = Corrupt(stages), RandomCorrupt(names, p=1.0), Corrupt("spatter", severity=4, normals=normals)
    want, digits = [transform(PHOTO) for transform in made], painted(28, 28, 1)
    stages.append("invert")
    names[0] = "fog"
    normals[::2] = 3.0
    for transforms in (made, pickle.loads(pickle.dumps(made))):
        for transform, image in zip(transforms, want, strict=True):
            np.testing.assert_array_equal(transform(PHOTO), image)
        np.testing.assert_array_equal(transforms[0](digits), corruptset.corrupt(digits, "contrast-3"))


def plain_choice(names: list[str], key: str, seed: int, p: float) -> tuple[str, int] | None:
    """Return what `RandomCorrupt` draws, from the words of docs/on-the-fly.md."""
    hashes = [plain.key64(["RandomCorrupt", 1, seed]), plain.key64(key)]
    digest = hashlib.blake2b(b"".join(h.to_bytes(8, "little") for h in hashes), digest_size=24).digest()
    share, name, severity = (int.from_bytes(digest[i : i + 8], "little") / 2**64 for i in (0, 8, 16))
    return None if share >= p else (names[int(name * len(names))], 1 + int(severity * 5))


def test_the_draw_is_the_one_of_the_page() -> None:
    names = ["fog", "contrast", "gaussian_noise"]
    transform, drawn = RandomCorrupt(names, p=0.7, seed=5), set()
    for i in range(1000):
        chosen, want = transform.choice(PHOTO, key=i), plain_choice(names, str(i), 5, 0.7)
        assert repr(chosen) == (repr(Corrupt(want[0], severity=want[1], seed=5)) if want else "None")
        drawn.add(want)
    assert len(drawn) == 16


def test_it_is_what_its_choice_makes_in_any_order() -> None:
    transform = RandomCorrupt(["gaussian_noise", "fog-3+impulse_noise-2", "black_lines", "clean"], p=0.6, seed=3)
    states = random.getstate(), np.random.get_state()[1].tolist()  # noqa: NPY002
    want = [transform(image) for image in MANY]
    for image, out in zip(MANY, want, strict=True):
        chosen = transform.choice(image)
        assert out is image if chosen is None else np.array_equal(out, chosen(image))
    assert {transform.choice(i) is None for i in MANY} == {True, False}
    np.testing.assert_array_equal(transform(np.stack(MANY)), np.stack(want))
    keyed = [transform(image, key=k) for image, k in zip(MANY, numbers(12), strict=True)]
    np.testing.assert_array_equal(transform(np.stack(MANY), key=numbers(12)), np.stack(keyed))
    assert len({repr(transform.choice(MANY[i], key=key)) for i in (0, 1) for key in (7, "7", ["7"])}) == 1
    again = pickle.loads(pickle.dumps(transform))
    for i in (5, 11, 0, 5):
        np.testing.assert_array_equal(again(MANY[i]), want[i])
    assert (random.getstate(), np.random.get_state()[1].tolist()) == states  # noqa: NPY002
    assert repr(eval(repr(transform), {"RandomCorrupt": RandomCorrupt})) == repr(transform) == repr(again)
    assert all((RandomCorrupt("contrast", p=p)(i) is i) == (p == 0) for i in MANY for p in (0, 1))


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
    ("make", "says"),
    [
        (lambda: Corrupt("fogg", severity=3), "Did you mean 'fog'"),
        (lambda: Corrupt("fog-1+pgd-2"), r"pgd-2' follows the gradient of a model.*surrogate=\.\.\., label="),
        (lambda: Corrupt("canny_edges", severity=1)(painted(300, 300)), "no rows in calibration"),
        (lambda: Corrupt("fog", severity=3)(PHOTO, key=1.5), "key is 1.5; expected a string"),
        *((lambda k=k: RandomCorrupt("fog").choice(PHOTO, key=k), "key is .*; expected a string") for k in (b"3", 3.5)),
        (lambda: RandomCorrupt("fog").choice(BATCH), "choice is of one image; this is a batch of 2"),
        (lambda: RandomCorrupt("fog", p=1.0)(PHOTO, key="\udce9.jpg"), "key is .*, which UTF-8 cannot write"),
        (lambda: RandomCorrupt("fog", severities="3"), "severity is '3'"),
        (
            lambda: RandomCorrupt(["stripe", "fog"], calibration="mnist"),
            "severity is 2; expected 0 or 1, its only severity",
        ),
        (lambda: RandomCorrupt([]), r"names is \[\]; expected"),
        (lambda: RandomCorrupt(["fog"], p=float("nan")), "p is nan"),
        (lambda: RandomCorrupt("fog", severities=0), r"severities is \[0\]; expected some from 1 on"),
        (lambda: RandomCorrupt(["fog"], epoch=-1), "epoch is -1"),
        (lambda: RandomCorrupt(["snow", "fogg"]), "Did you mean 'fog'"),
    ],
)
def test_mistakes_are_named_when_it_is_made(make: Any, says: str) -> None:
    with pytest.raises(CorruptsetError, match=says):
        make()
