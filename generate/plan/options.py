"""The options that `build` and `plan` share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from ...arguments import integer
from ...errors import BuildError, format_list
from ...workers import workers_at_most

if TYPE_CHECKING:  # the command line imports this module to show help, and help does not need these packages
    from ...corruptions.calibrations import Calibration
    from ...corruptions.stages import Coupling, Scale
    from ...manifests.records.fields import Storage

Split = Literal["test", "train", "val", "all"]


class BuildKeywords(TypedDict, total=False):
    """The keyword arguments that `build` and `plan` share. The documentation of `build` describes each argument."""

    seed: int
    jobs: int | None
    sets: Sequence[str] | None
    samples: int | None
    first: int | None
    per_class: int | None
    ids: str | Path | Sequence[str] | None
    per_super_category: str | Path | None
    storage: Storage | None
    encoding: str | None
    optimize: bool
    skip_bad: bool
    calibration: str | Path | Calibration | None
    coupling: Coupling
    scale: Scale | None
    metrics: int | Literal["all"] | None
    frost_textures: str | Path | None
    surrogate: str | Path | None
    device: str | None
    surrogate_batch: int | None
    labels: str | Path | None
    split: Split | None
    groups: str | Path | None
    hold_out: str | Sequence[str] | None
    train: bool
    images: str | None
    any_shape: bool
    store: Literal["images", "table"] | None
    page: bool
    plugins: Sequence[str | Path] | None
    disjoint_from: str | Path | Sequence[str | Path]
    scheduler: Any


@dataclass(frozen=True, kw_only=True)
class BuildOptions:
    """The values of `BuildKeywords`, with their defaults."""

    seed: int = 0
    jobs: int | None = None
    sets: Sequence[str] | None = None
    samples: int | None = None
    first: int | None = None
    per_class: int | None = None
    ids: str | Path | Sequence[str] | None = None
    per_super_category: str | Path | None = None
    storage: Storage | None = None
    encoding: str | None = None
    optimize: bool = False
    skip_bad: bool = False
    calibration: str | Path | Calibration | None = None
    coupling: Coupling = "independent"
    scale: Scale | None = None
    metrics: int | Literal["all"] | None = None
    frost_textures: str | Path | None = None
    surrogate: str | Path | None = None
    device: str | None = None
    surrogate_batch: int | None = None
    labels: str | Path | None = None
    split: Split | None = None
    groups: str | Path | None = None
    hold_out: str | Sequence[str] | None = None
    train: bool = False
    images: str | None = None
    any_shape: bool = False
    store: Literal["images", "table"] | None = None
    page: bool = True
    plugins: Sequence[str | Path] | None = None
    disjoint_from: str | Path | Sequence[str | Path] = ()
    scheduler: Any = None

    def __post_init__(self) -> None:
        for name in ("seed", "jobs", "samples", "first", "per_class", "metrics", "surrogate_batch"):
            value = getattr(self, name)
            if hasattr(value, "__index__") and not isinstance(value, bool):  # for example a NumPy integer
                object.__setattr__(self, name, value.__index__())

    def check(self) -> None:
        """Raise `BuildError` with a list of all options that have invalid values."""
        from ...corruptions.keys import check_seed
        from ...corruptions.stages import COUPLINGS, SCALES
        from ..sources.selection import hold_out_problem

        check_seed(self.seed)
        problems = []
        for name, number, least in (
            ("jobs", self.jobs, 1),
            ("samples", self.samples, 1),
            ("first", self.first, 1),
            ("per_class", self.per_class, 1),
            ("metrics", None if self.metrics == "all" else self.metrics, 0),
            ("surrogate_batch", self.surrogate_batch, 1),
        ):
            if number is not None and (not isinstance(number, int) or isinstance(number, bool) or number < least):
                problems.append(f"{name} is {number!r}; expected a whole number, at least {least}")
        for name, value, known in (
            ("storage", self.storage, (None, "folder", "hdf5", "both")),
            ("coupling", self.coupling, COUPLINGS),
            ("scale", self.scale, (None, *SCALES)),
            ("store", self.store, (None, "images", "table")),
        ):
            if value not in known:
                problems.append(
                    f"{name} is {value!r}; expected one of {', '.join(str(k) for k in known if k is not None)}"
                )
        if self.hold_out is not None and (problem := hold_out_problem(self.hold_out)) is not None:
            problems.append(problem)
        if problems:
            raise BuildError(
                f"{len(problems)} option{'s' * (len(problems) > 1)} cannot be used:\n{format_list(problems)}"
            )

    @property
    def selection(self) -> dict[str, Any]:
        """The options that are passed to `select`, by name."""
        return {name: getattr(self, name) for name in ("samples", "first", "per_class", "ids", "per_super_category")}

    @property
    def workers(self) -> int:
        """The number of worker processes."""
        return worker_count(self.jobs)


def worker_count(jobs: int | None) -> int:
    """Return the number of worker processes: `jobs`, or by default the number of CPUs that this process may use.

    The default respects CPU affinity and the quota of a container. The result is 1 if processes cannot be started.
    """
    if jobs is None:
        try:
            from joblib import cpu_count
        except ImportError:  # the light installation starts no workers
            from os import cpu_count
        jobs = cpu_count() or 1
    return workers_at_most(integer("jobs", jobs))
