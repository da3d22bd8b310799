"""Pictures of gradual degradations: each source image at one level for the people of a group, and at another one for the other group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from corruptset.errors import StudyError
from corruptset.manifests.reader import DataSet
from corruptset.quantities import spans
from corruptset.scores.outcomes import CLEAN

from .draw import Draw, Pixels
from .study_records import Trial

Levels = Mapping[int, Mapping[str, str | None]]
"""Level -> the sets at it, each with its degradation; the clean images are level 0 of none."""


def levels_of(data: DataSet, ids: Sequence[str], levels: Sequence[int] | None) -> Levels:
    """Return the sets that are levels of gradual degradations, or only those of some levels."""
    found: dict[int, dict[str, str | None]] = {}
    for set_id in ids:
        stages = data[set_id].record.stages
        level = 0 if set_id == CLEAN else stages[0].level if len(stages) == 1 else None
        if level is not None:
            found.setdefault(level, {})[set_id] = stages[0].corruption if stages else None
    absent = sorted(set(levels or ()) - found.keys())
    if absent and found:
        raise StudyError(f"{data.path} has no set at level {', '.join(map(str, absent))}; there are levels {spans(sorted(found))}.")
    return {level: sets for level, sets in found.items() if levels is None or level in levels}


def level_pictures(data: DataSet, levels: Levels, count: int, draw: Draw) -> Iterator[tuple[Trial, Pixels]]:
    """Yield the pictures of both groups: so many source images, levels as often as each other, and all degradations of a level in turn.

    Raises
    ------
    StudyError
        There are fewer source images.
    """
    samples = {sample.id: sample for sample in data.samples}
    sources = draw.taken(count, {name: sample.class_index for name, sample in samples.items()}, lambda source: [source])
    if len(sources) < count:
        raise StudyError(
            f"{data.path} has {len(sources)} images with one of the answers, and {count} were asked for: people see each image "
            f"at one level. --n {len(sources)} will do."
        )
    order = sorted(levels, key=draw.order("levels"))
    sets = {level: sorted(ids, key=draw.order(f"sets {level}")) for level, ids in levels.items()}
    for unit, source in enumerate(sorted(sources, key=draw.order("units"))):
        sample = samples[source]
        for group, ahead in (("A", 0), ("B", (len(order) + 1) // 2)):
            level = order[(unit + ahead) % len(order)]
            set_id = sets[level][(2 * (unit // len(order)) + (ahead > 0)) % len(sets[level])]
            known = {"unit": unit, "source": source, "category": draw.choices.of_label[sample.class_index], "level": level}
            yield draw.trial(group, set_id, source, **known, corruption=levels[level][set_id]), data[set_id].image(sample.index)
