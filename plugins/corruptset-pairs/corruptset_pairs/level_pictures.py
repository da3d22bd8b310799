"""Pictures of gradual degradations: each source image at one level for the people of a group, and at another one for the other group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from corruptset.errors import StudyError
from corruptset.manifests.reader import DataSet
from corruptset.quantities import spans
from corruptset.scores.outcomes import CLEAN

from .draw import Draw, Pixels, in_turn, shuffled
from .study_records import Group, Trial


class LevelPictures:
    """The sets that may be shown and are levels of gradual degradations, or only of some levels; the clean images are level 0."""

    def __init__(self, data: DataSet, ids: Sequence[str], levels: Sequence[int] | None) -> None:
        self._data = data
        self.corruption_of: dict[str, str | None] = {}
        self.sets_at: dict[int, list[str]] = {}
        for set_id in ids:
            stages = data[set_id].record.stages
            level = 0 if set_id == CLEAN else stages[0].level if len(stages) == 1 else None
            if level is not None:
                self.corruption_of[set_id] = stages[0].corruption if stages else None
                self.sets_at.setdefault(level, []).append(set_id)
        absent = sorted(set(levels or ()) - self.sets_at.keys())
        if absent and self.sets_at:
            raise StudyError(
                f"{data.path} has no set at level {', '.join(map(str, absent))}; there are levels {spans(sorted(self.sets_at))}."
            )
        if levels is not None:
            self.sets_at = {level: ids for level, ids in self.sets_at.items() if level in levels}

    def __bool__(self) -> bool:
        return any(level > 0 for level in self.sets_at)

    def trials(self, count: int, draw: Draw) -> Iterator[tuple[Trial, Pixels]]:
        """Yield the pictures of both groups: so many source images, levels as often as each other, and all degradations of a level in turn.

        Raises
        ------
        StudyError
            There are fewer source images.
        """
        samples = {sample.id: sample for sample in self._data.samples}
        categories = draw.sources_of_categories({name: sample.class_index for name, sample in samples.items()})
        sources = [source for source, _ in zip(in_turn([iter(c) for c in categories]), range(count), strict=False)]
        if len(sources) < count:
            raise StudyError(
                f"{self._data.path} has {len(sources)} images with one of the answers, and {count} were asked for: people see each image "
                f"at one level. --n {len(sources)} will do."
            )
        levels = shuffled(self.sets_at, draw.seed, "levels")
        sets = {level: shuffled(ids, draw.seed, f"sets {level}") for level, ids in self.sets_at.items()}
        turns: list[tuple[Group, int]] = [("A", 0), ("B", (len(levels) + 1) // 2)]
        for unit, source in enumerate(shuffled(sources, draw.seed, "units")):
            for group, ahead in turns:
                level = levels[(unit + ahead) % len(levels)]
                set_id = sets[level][(2 * (unit // len(levels)) + (ahead > 0)) % len(sets[level])]
                sample = samples[source]
                known = {"unit": unit, "source": source, "category": draw.choices.of_label[sample.class_index], "level": level}
                trial = draw.trial(group, set_id, source, **known, corruption=self.corruption_of[set_id])
                yield trial, self._data[set_id].image(sample.index)
