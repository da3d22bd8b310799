"""Scores of models that nobody trained: valid files with all that a comparison shows."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from corruptset.scores.published import EXTRA, FIFTEEN
from corruptset.scores.records import SCORES_VERSION, Fragile, Scores

DIGEST = "sha256:" + "1" * 64
OTHER = "sha256:" + "2" * 64
STAGES = ["sp010", "ga020", "ro030", "ro-30"]
DEGRADATIONS = ["black_lines", "white_fog", "pixel_swap", "fade_black", "posterize"]


def bare(model="net", **changes):
    """Return the JSON of scores that has nothing but one clean set."""
    mappings = ("families", "aude", "ce", "relative_ce", "profiles", "fragile", "style", "worst_case")
    known = {
        "schema_version": SCORES_VERSION, "digest": DIGEST, "name": "small-c 1.0.0", "model": model, "samples": 200,
        "sets": {"clean": set_score(0.9)}, "intervals": {"clean_accuracy": [0.88, 0.92]}, "notes": [],
    }  # fmt: skip
    return {**dict.fromkeys(Scores.model_fields), **{name: {} for name in mappings}, **known, **changes}


def set_score(accuracy):
    """Return the scores of one set."""
    bounds = [max(0.0, accuracy - 0.02), min(1.0, accuracy + 0.02)]
    return {"n": 200, "accuracy": accuracy, "top5": None, "rank": None, "probability": None, "interval": bounds}


def resamples(seed=0, units=200, **values):
    """Return resamples of scores."""
    return {"seed": seed, "units": units, "values": {name: list(map(float, some)) for name, some in values.items()}}


def full(number=0, model=None):
    """Return the JSON of scores with everything; lower numbers are better models."""
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
    return bare(
        model or f"net-{number}",
        sets=sets,
        aude=aude,
        maude=maude,
        relative_maude=maude - (1 - clean),
        ce={name: 1.1 * aude[name] for name in FIFTEEN},
        mce=1.1 * maude,
        relative_ce={name: 1.2 * aude[name] for name in FIFTEEN},
        relative_mce=1.2 * maude,
        baseline="alexnet",
        families={name: share * strength for name, share in families.items()},
        profiles={name: profile(strength ** (1 + place / 2)) for place, name in enumerate(DEGRADATIONS)},
        mean_profile=profile(strength),
        two_factor=two_factor(accuracy, cv, rng),
        rb_index=rb_index,
        fragile={group: fragile(0.1 + 0.02 * number + 0.05 * place) for place, group in groups},
        style={"apple": 0.9 * strength, "microsoft": 0.8 * strength},
        style_gap=0.1 * strength,
        intervals={"maude": [maude - 0.02, maude + 0.02], "mce": [1.1 * maude - 0.02, 1.1 * maude + 0.02]},
        resamples=resamples(maude=maude + draws, mce=1.1 * (maude + draws), rb_index=rb_index + draws),
        notes=["PNG in place of JPEG.", f"A note of {number}."],
    )


def small(number=0, model=None):
    """Return the JSON of scores with little of what takes long to draw."""
    scores = full(number, model)
    kept = ("clean", "fog", "frost")
    sets = {name: one for name, one in scores["sets"].items() if name.partition("/")[0] in kept}
    return {**scores, "sets": sets, "profiles": {name: scores["profiles"][name] for name in DEGRADATIONS[:2]}}


def profile(strength):
    """Return a profile that falls with the level."""
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


def two_factor(accuracy, cv, rng):
    """Return two-factor scores, with the order effects of four stages."""
    effects = []
    for a, b in combinations(STAGES, 2):
        difference = round(float(rng.normal(0, 0.03)), 4)
        first, second = sorted([f"{a}+{b}", f"{b}+{a}"])
        own = {"difference": difference, "interval": [difference - 0.01, difference + 0.01]}
        effects.append({"first": first, "second": second, **own})
    return {
        "names": 69, "distinct": 53, "mean_accuracy": accuracy, "cv_percent": cv,
        "mean_accuracy_interval": [accuracy - 0.01, accuracy + 0.01], "cv_percent_interval": [cv - 0.3, cv + 0.3],
        "distinct_mean_accuracy": accuracy - 0.01, "distinct_cv_percent": cv + 1, "order_effects": effects,
    }  # fmt: skip


def fragile(rate):
    """Return fragile rates of one group."""
    rates = {name: rate * (1 + place / 10) for place, name in enumerate(Fragile.model_fields)}
    counts = {"minimal": 5, "anchors": 400}
    return {
        name: {"rate": r, "positive": 0.6 * r, "negative": 0.4 * r, "interval": [0.9 * r, 1.1 * r], **counts}
        for name, r in rates.items()
    }


def valid(*compared):
    """Return the scores of their JSON."""
    return [Scores.model_validate(one) for one in compared]


def write(folder, *compared):
    """Write scores files and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"{number}.json" for number in range(len(compared))]
    for file, scores in zip(files, valid(*compared), strict=True):
        file.write_text(scores.model_dump_json(), encoding="utf-8")
    return files
