"""Invented scores files with everything that a comparison shows."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from corruptset.scores.published import EXTRA, FIFTEEN
from corruptset.scores.records import RATES, SCORES_VERSION, Scores
from corruptset.scores.score_values import Measured, score_value

DIGEST = "sha256:" + "1" * 64
OTHER_DIGEST = "sha256:" + "2" * 64
STAGES = ["sp010", "ga020", "ro030", "ro-30"]
DEGRADATIONS = ["black_lines", "white_fog", "pixel_swap", "fade_black", "posterize"]


def minimal_scores(model="net", values=None, **changes):
    """Return scores as JSON, with one clean set and some score values."""
    known = {
        "schema_version": SCORES_VERSION, "digest": DIGEST, "name": "small-c 1.0.0", "model": model, "samples": 200,
        "sets": {"clean": set_score(0.9)}, "profiles": {}, "order_effects": [], "notes": [],
        "scores": score_values({"clean_accuracy": (0.9, [0.88, 0.92])} | (values or {})),
    }  # fmt: skip
    return {**dict.fromkeys(Scores.model_fields), **known, **changes}


def score_values(values):
    """Return score values as JSON. Each is given as a number, a number with an interval, or a reason."""
    results = []
    for name, arguments in values.items():
        value, ends, *count = arguments if isinstance(arguments, tuple) else (arguments, None)
        known = Measured(None, value) if isinstance(value, str) else Measured(np.array([value]))
        one = score_value(name, known, 200).as_json()
        results.append(one | {"interval": ends, "count": count[0] if count else None})
    return results


def replace_values(scores, **values):
    """Return scores as JSON, with other numbers for some score values."""
    names = {name.replace("__", "."): value for name, value in values.items()}
    return {
        **scores,
        "scores": [{**score, "value": names.get(score["name"], score["value"])} for score in scores["scores"]],
    }


def without_group(scores, group):
    """Return scores as JSON, without a group of score values."""
    return {**scores, "scores": [score for score in scores["scores"] if not score["name"].startswith(f"{group}.")]}


def score_of(scores, name):
    """Return the value of a score."""
    return next(score["value"] for score in scores["scores"] if score["name"] == name)


def set_score(accuracy):
    """Return the scores of one set."""
    bounds = [max(0.0, accuracy - 0.02), min(1.0, accuracy + 0.02)]
    return {"n": 200, "accuracy": accuracy, "top5": None, "rank": None, "probability": None, "interval": bounds}


def resamples(seed=0, units=200, **values):
    """Return resamples of scores."""
    return {"seed": seed, "units": units, "values": {name: list(map(float, some)) for name, some in values.items()}}


def full_scores(number=0, model=None):
    """Return complete scores as JSON. Lower numbers are better models."""
    rng = np.random.default_rng(number)
    strength, clean = 0.9 - 0.06 * number, round(0.97 - 0.02 * number, 4)
    sets, aude = {"clean": set_score(clean)}, {}
    for place, name in enumerate((*FIFTEEN, *EXTRA)):
        shares = [round(clean * strength ** (severity * (0.5 + place / 12)), 4) for severity in range(1, 6)]
        sets |= {f"{name}/{severity}": set_score(share) for severity, share in enumerate(shares, 1)}
        aude[name] = 1 - (clean / 2 + sum(shares[:4]) + shares[4] / 2) / 5
    maude, rb_index = float(np.mean([aude[name] for name in FIFTEEN])), 0.3 + 0.05 * number
    draws = rng.normal(0, 0.01, 1000)
    accuracy, cv = round(0.85 * strength + 0.02 * rng.random(), 4), round(2 + 4 * rng.random(), 3)
    families = {"noise": 0.6, "blur": 0.7, "weather": 0.72, "digital": 0.8}
    groups = enumerate(["s12", "s16", "s20", "s24", "s28"])
    values = {
        "clean_accuracy": (clean, [clean - 0.02, clean + 0.02]),
        "maude": (maude, [maude - 0.02, maude + 0.02]),
        "relative_maude": maude - (1 - clean),
        "mce": (1.1 * maude, [1.1 * maude - 0.02, 1.1 * maude + 0.02]),
        "relative_mce": 1.2 * maude,
        "rb_index": rb_index,
        **{f"aude.{name}": area for name, area in aude.items()},
        **{f"ce.{name}": 1.1 * aude[name] for name in FIFTEEN},
        **{f"relative_ce.{name}": 1.2 * aude[name] for name in FIFTEEN},
        **{f"mean_accuracy.{name}": (share * strength, None, 15) for name, share in families.items()},
        **two_factor(accuracy, cv),
        "style_gap": 0.1 * strength,
        "style.apple": 0.9 * strength,
        "style.microsoft": 0.8 * strength,
    }
    for place, group in groups:
        values |= fragile(group, 0.1 + 0.02 * number + 0.05 * place)
    return minimal_scores(
        model or f"net-{number}",
        values,
        sets=sets,
        baseline="alexnet",
        profiles={name: profile(strength ** (1 + place / 2)) for place, name in enumerate(DEGRADATIONS)},
        mean_profile=profile(strength),
        order_effects=order_effects(rng),
        resamples=resamples(maude=maude + draws, mce=1.1 * (maude + draws), rb_index=rb_index + draws),
        notes=["PNG in place of JPEG.", f"A note of {number}."],
    )


def small_scores(number=0, model=None):
    """Return scores as JSON, without most of the values that take long to draw."""
    scores = full_scores(number, model)
    set_names = ("clean", "fog", "frost")
    sets = {name: item for name, item in scores["sets"].items() if name.partition("/")[0] in set_names}
    return {**scores, "sets": sets, "profiles": {name: scores["profiles"][name] for name in DEGRADATIONS[:2]}}


def profile(strength):
    """Return a profile that decreases with the level."""
    accuracy = [round(float(0.97 * strength ** (level / 4)), 4) for level in range(31)]
    below = dict.fromkeys(("0.9", "0.5", "0.1"))
    for threshold in below:
        level = next((level for level, value in enumerate(accuracy) if value < float(threshold)), None)
        if level is not None:
            words = f"{level} randomly placed 1 pixel wide lines"
            below[threshold] = {"level": level, "change": words, "changed": round(level / 31, 4)}
    rank = [round(10 * (1 - value), 3) for value in accuracy]
    known = {"accuracy": accuracy, "rank": rank, "probability": accuracy}
    return {"levels": list(range(31)), **known, "first_below": below}


def two_factor(accuracy, cv):
    """Return two-factor scores."""
    return {
        "two_factor.mean_accuracy": (accuracy, [accuracy - 0.01, accuracy + 0.01], 69),
        "two_factor.cv_percent": (cv, [cv - 0.3, cv + 0.3], 69),
        "two_factor.distinct_mean_accuracy": (accuracy - 0.01, None, 53),
        "two_factor.distinct_cv_percent": (cv + 1, None, 53),
    }


def order_effects(rng):
    """Return the order effects of four stages."""
    effects = []
    for a, b in combinations(STAGES, 2):
        difference = round(float(rng.normal(0, 0.03)), 4)
        first, second = sorted([f"{a}+{b}", f"{b}+{a}"])
        own = {"difference": difference, "interval": [difference - 0.01, difference + 0.01]}
        effects.append({"first": first, "second": second, **own})
    return effects


def fragile(group, rate):
    """Return the fragile rates of regions of one size."""
    results = {}
    for place, name in enumerate(RATES):
        own = rate * (1 + place / 10)
        results[f"fragile.{group}.{name}"] = (own, [0.9 * own, 1.1 * own], 400)
        parts = {"positive": 0.6 * own, "negative": 0.4 * own, "minimal": 5}
        results |= {f"fragile.{group}.{name}.{part}": number for part, number in parts.items()}
    return results


def validate_scores(*compared):
    """Return validated scores from their JSON."""
    return [Scores.model_validate(score) for score in compared]


def write_scores(folder, *compared):
    """Write scores files and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"{number}.json" for number in range(len(compared))]
    for file, scores in zip(files, validate_scores(*compared), strict=True):
        file.write_text(scores.model_dump_json(), encoding="utf-8")
    return files
