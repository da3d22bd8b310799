"""Pictures of gradual degradations: each source image at one level for the people of a group, and at another one for the other group."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from corruptset.errors import StudyError
from corruptset.manifests.reader import DataSet
from corruptset.quantities import spans
from corruptset.scores.outcomes import CLEAN
from corruptset.scores.records import Scores
from corruptset.scores.scores_file import load_scores
from corruptset.scores.set_choice import choose

from .draw import Draw, Pictures

Accuracy = dict[str, dict[str, float]]
"""Of a model: degradation -> level -> accuracy."""


def level_pictures(
    data: DataSet,
    draw: Draw,
    count: int,
    sets: Sequence[str] | None,
    levels: Sequence[int] | None,
    scores: str | Path | Scores | None,
) -> tuple[str | None, Accuracy, Pictures]:
    """Return the model, its accuracy, and the pictures of both groups: levels as often as each other, and degradations of a level in turn.

    Raises
    ------
    StudyError
        There are no such levels, or fewer source images; the scores are of another data set.
    """
    corruption_of: dict[str, str | None] = {}
    at: dict[int, list[str]] = {}
    for set_id in choose(data, sets):
        stages = data[set_id].record.stages
        level = 0 if set_id == CLEAN else stages[0].level if len(stages) == 1 else None
        if level is not None:
            at.setdefault(level, []).append(set_id)
            corruption_of[set_id] = stages[0].corruption if stages else None
    absent = sorted(set(levels or ()) - at.keys())
    if absent and at:
        raise StudyError(f"{data.path} has no set at level {', '.join(map(str, absent))}; there are levels {spans(sorted(at))}.")
    at = {level: ids for level, ids in sorted(at.items()) if levels is None or level in levels}
    if not any(at):
        raise StudyError(
            f"{data.path} has neither regions nor levels of a gradual degradation among the chosen sets. A sheet is made of a build of "
            "a recipe with regions (fragile-imagenet, ...) or of image-degrade-30."
        )
    model, accuracy = None, Accuracy()
    if scores is not None:
        read = scores if isinstance(scores, Scores) else load_scores(scores)
        if read.digest != data.digest:
            raise StudyError(f"The scores are of another data set: {read.name}, {read.digest}; {data.path} is {data.digest}.")
        model = read.model
        for level, ids in at.items():
            for set_id in ids:
                if set_id in read.sets:
                    accuracy.setdefault(corruption_of[set_id] or CLEAN, {})[str(level)] = read.sets[set_id].accuracy
    samples = {sample.id: sample for sample in data.samples}
    sources = draw.taken(count, {name: sample.class_index for name, sample in samples.items()}, lambda source: [source])
    if len(sources) < count:
        raise StudyError(
            f"{data.path} has {len(sources)} images with one of the answers, and {count} were asked for: people see each image "
            f"at one level. --n {len(sources)} will do."
        )
    order = sorted(at, key=draw.order("levels"))
    turns = {level: sorted(ids, key=draw.order(f"sets {level}")) for level, ids in at.items()}
    pictures = []
    for unit, source in enumerate(sorted(sources, key=draw.order("units"))):
        sample = samples[source]
        for group, ahead in (("A", 0), ("B", (len(order) + 1) // 2)):
            level = order[(unit + ahead) % len(order)]
            set_id = turns[level][(2 * (unit // len(order)) + (ahead > 0)) % len(turns[level])]
            trial = draw.trial(
                group,
                set_id,
                source,
                unit=unit,
                source=source,
                category=draw.choices.of_label[sample.class_index],
                level=level,
                corruption=corruption_of[set_id],
            )
            pictures.append((trial, data[set_id].image(sample.index)))
    return model, accuracy, pictures
