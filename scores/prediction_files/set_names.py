"""Which set a name in predictions means: an id or an alias of the data set, or ``clean``."""

from __future__ import annotations

from collections.abc import Sequence

from ...manifests.reader import DataSet
from ..set_choice import choose

CLEAN = "clean"


class SetNames:
    """The sets that predictions may be of, and those that they must be of.

    Parameters
    ----------
    data : DataSet
    globs : sequence of str, optional
        Ids, aliases and patterns of the sets that must be there; by default all of the directory.

    Attributes
    ----------
    required : list of str
        Ids of the sets that must be there.
    read : list of str
        Ids of the sets whose predictions are read: those and ``clean``, which a build without a clean set has predictions of too.
    """

    def __init__(self, data: DataSet, globs: Sequence[str] | None) -> None:
        without = globs is not None and CLEAN not in data and CLEAN in globs
        chosen = [glob for glob in globs if glob != CLEAN] if globs is not None and without else globs
        self.required = [*([CLEAN] if without else []), *([] if chosen == [] else choose(data, chosen))]
        self.read = sorted({*self.required, CLEAN})
        self._ids = {name: record.id for record in data.manifest.sets for name in (*record.aliases, record.id)} | {CLEAN: CLEAN}

    def id_of(self, name: str) -> str | None:
        """Return the id of the set that has a name; None where no set of the data set has it."""
        return self._ids.get(name)

    def all(self) -> list[str]:
        """Return every name."""
        return list(self._ids)
