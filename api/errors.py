"""Exception classes, and functions that format error messages."""

from __future__ import annotations

import difflib
import os
import re
import sys
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path

from .quantities import spans

MAX_LISTED_JOBS = 20
"""The largest number of array jobs that an error message lists."""


class CorruptsetError(Exception):
    """Base class of all errors that corruptset raises. The command line exits with the `exit_code` of the error."""

    exit_code = 2


class UnknownCorruption(CorruptsetError, ValueError):
    """The name of a corruption, set or recipe that does not exist."""


class UnknownSet(UnknownCorruption, KeyError):
    """A key that does not occur in a mapping of sets."""

    __str__ = Exception.__str__  # `KeyError.__str__` would return the repr of the message


class ParameterError(CorruptsetError, ValueError):
    """A parameter, severity, level or given draw that a corruption does not accept."""


class ImageError(CorruptsetError, ValueError):
    """An array that is not a uint8 image with 1 or 3 channels and at least 8x8 pixels."""


class RecipeError(CorruptsetError, ValueError):
    """A recipe or a table file that contains errors."""


class SourceError(CorruptsetError, ValueError):
    """A source that cannot be read, or that contains unusable images."""


class ModelError(CorruptsetError, ValueError):
    """A model that cannot be loaded, does not fit the images, or fails its checks."""


class PredictionError(CorruptsetError, ValueError):
    """Predictions that cannot be read, or that belong to a different model or dataset."""


class ScoreError(CorruptsetError, ValueError):
    """A scores file that cannot be read, or scores that cannot be compared."""


class StudyError(CorruptsetError, ValueError):
    """A study with human observers that cannot be created or scored."""


class PluginError(CorruptsetError, ValueError):
    """A user's module whose corruptions cannot be loaded or do not meet the requirements.

    If a corruption failed for one image of a batch, `position` is the position of that image. Otherwise, it is None.
    """

    def __init__(self, message: str, position: int | None = None) -> None:
        super().__init__(message)
        self.position = position


class BuildError(CorruptsetError):
    """A build that cannot start, resume or be extended."""


class FinishedDataset(BuildError):
    """A finished dataset that lacks some of the requested sets. Finished datasets are never changed."""

    def __init__(self, directory: Path, lacking: Sequence[str]) -> None:
        self.directory, self.lacking = directory, tuple(lacking)
        self.options = {"extend": str(directory), "out": str(self.other_out(directory))}
        """Options to add to the same call, so that it makes a new dataset that extends this one."""
        super().__init__(self.with_call(", ".join(f"{name}={value!r}" for name, value in self.options.items())))

    @staticmethod
    def other_out(directory: Path) -> Path:
        """Return a folder that can receive the extended dataset."""
        return directory.parent / "extended"

    def with_call(self, call: str) -> str:
        """Return the message, which includes a call that makes a new dataset with all sets."""
        return (
            f"{self.directory} is a finished dataset, which is never changed. It lacks {len(self.lacking)} of the "
            f"requested sets ({first_few(self.lacking)}). Build a new dataset that also contains them:\n  {call}"
        )


class StoreError(CorruptsetError):
    """An object store that does not exist or denies access."""


class IncompleteBuild(CorruptsetError):
    """A dataset or release that is incomplete, for example because its build was interrupted."""

    exit_code = 1


class MissingParts(IncompleteBuild):
    """Array jobs that have not finished all of their parts. `of` is the number of jobs in the array."""

    def __init__(self, what: str, jobs: Sequence[int], of: int) -> None:
        self.what, self.jobs, self.of = what, tuple(jobs), of
        super().__init__(self.with_calls([f"part=({job}, {of})" for job in jobs], "finish=True"))

    def with_calls(self, calls: Sequence[str], finish: str) -> str:
        """Return the message, which includes the calls that make the missing parts and finish the build."""
        jobs = f"Job {self.jobs[0]}" if len(self.jobs) == 1 else f"Jobs {spans(self.jobs)}"
        commands = format_list(calls, MAX_LISTED_JOBS)
        return f"{self.what} {jobs} of {self.of} will build them:\n{commands}\nThen finish the build:\n  {finish}"


class VerificationError(CorruptsetError):
    """A dataset that does not match its manifest."""

    exit_code = 1


class ReleaseError(CorruptsetError):
    """A release that cannot be published or fetched."""


class MachineError(CorruptsetError):
    """A failure of the machine: disk, memory or workers. Finished parts are kept, and the build can be resumed."""

    exit_code = 3


class Interrupted(CorruptsetError):
    """The build was interrupted by a signal. Finished parts are kept, and the build can be resumed."""

    exit_code = 130


class CorruptsetWarning(UserWarning):
    """A warning about something that does not change the result."""


MAX_VALUE_LENGTH = 200
"""Number of characters after which a value in a message is truncated."""


def quote(value: object) -> str:
    """Return the repr of a value, truncated after 200 characters.

    Examples
    --------
    >>> quote("fog"), len(quote("x" * 1000))
    ("'fog'", 203)
    """
    try:
        text = repr(value)
    except ValueError:  # Python refuses to convert an int with thousands of digits.
        text = f"a value of type {type(value).__name__}"
    return text if len(text) <= MAX_VALUE_LENGTH else f"{text[:MAX_VALUE_LENGTH]}..."


MAX_SUGGESTIONS = 3
"""Number of names that are suggested."""


def suggest(name: str, known: Iterable[str]) -> str:
    """Return a hint with the nearest known names, such as `` Did you mean 'x'?``, or an empty string.

    If a known name differs only in case, spaces, ``-`` or ``_``, it is the only suggestion. Otherwise, the suggestions
    are known names that begin with `name`, have a similar spelling, or contain `name` as a word.

    Examples
    --------
    >>> suggest("gaussian-noise", ["gaussian_noise", "gaussian_blur", "fog"])
    " Did you mean 'gaussian_noise'?"
    >>> suggest("imagenet", ["tiny-imagenet-c", "imagenet-c-all", "imagenet-c"])
    " Did you mean 'imagenet-c'? Also near: 'imagenet-c-all', 'tiny-imagenet-c'."
    >>> suggest("zzz", ["fog"])
    ''
    """
    names = list(dict.fromkeys(known))
    plain = _normalize(name)
    same = [other for other in names if _normalize(other) == plain]
    begins = sorted(
        (other for other in names if len(plain) > 2 and _normalize(other).startswith(plain)),
        key=lambda other: (len(other), other),
    )
    as_word = [other for other in names if plain in re.split(r"[_/+-]", _normalize(other))]
    similar = difflib.get_close_matches(name, names, n=MAX_SUGGESTIONS)
    near = same or list(dict.fromkeys([*begins, *similar, *as_word]))[:MAX_SUGGESTIONS]
    also = f" Also near: {', '.join(map(repr, near[1:]))}." if near[1:] else ""
    return f" Did you mean {near[0]!r}?{also}" if near else ""


def _normalize(name: str) -> str:
    return name.lower().replace("-", "_").replace(" ", "_")


def format_list(problems: Sequence[str], limit: int = 50) -> str:
    """Return problems as indented lines, followed by the number of problems beyond the limit.

    Examples
    --------
    >>> print(format_list(["a", "b", "c"], limit=2))
      a
      b
      ... and 1 more
    """
    lines = [f"  {p}" for p in problems[:limit]]
    if len(problems) > limit:
        lines.append(f"  ... and {len(problems) - limit} more")
    return "\n".join(lines)


def first_few(names: Sequence[str], limit: int = 5) -> str:
    """Return the first names, and the number of the remaining names, as part of a sentence.

    Examples
    --------
    >>> first_few(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    return ", ".join(names[:limit]) + (f" and {len(names) - limit} more" if len(names) > limit else "")


def problems_message(where: str, problems: Sequence[str]) -> str:
    """Return a message with all problems of a file, one per line.

    Examples
    --------
    >>> print(problems_message("mine.toml", ["a", "b"]))
    mine.toml contains 2 errors:
      a
      b
    """
    lines = "".join(f"\n  {problem}" for problem in problems)
    return f"{where} contains {len(problems)} error{'s' * (len(problems) > 1)}:{lines}"


def require_utf8_names() -> None:
    """Raise `ParameterError` if Python does not decode file names as UTF-8.

    With a different encoding, sample ids and therefore the random draws would differ.
    """
    if (encoding := sys.getfilesystemencoding()) != "utf-8":
        locale = [f"{name}={os.environ[name]}" for name in ("LC_ALL", "LC_CTYPE", "LANG") if os.environ.get(name)]
        raise ParameterError(
            f"Python decodes file names as {encoding} here ({', '.join(locale[:1]) or 'no LC_ALL'}), but corruptset "
            "needs UTF-8. Set PYTHONUTF8=1 and run the same command again."
        )


def install_extra(extra: str) -> str:
    """Return a sentence that explains how to install an extra from a clone."""
    return f"To install the extra, go to your clone of corruptset and run pip install '.[{extra}]'."


def install_add_on(package: str) -> str:
    """Return a sentence that explains how to install an add-on from a clone."""
    return f"To install it, go to your clone of corruptset and run pip install ./plugins/{package}."


BUILD = ("numba", "cv2", "scipy", "skimage", "joblib")
"""The packages in the ``build`` extra."""


class NotInstalled(CorruptsetError, ImportError):
    """The ``build`` extra is not installed, but a function needs it to compute images."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"This needs {name}, which is not installed. {install_extra('build')} Without the extra, corruptset can "
            "open, verify, fetch, unpack, export and score datasets, but it cannot build them."
        )


def not_installed(error: BaseException) -> NotInstalled | None:
    """Return the error for a failed import of a package from the ``build`` extra, or None for other errors.

    The result is also None for a package that is installed but incomplete.
    """
    name = error.name if isinstance(error, ModuleNotFoundError) else None
    return NotInstalled(name) if name in BUILD and find_spec(name) is None else None


def require_build() -> None:
    """Raise `NotInstalled` if the ``build`` extra is not installed."""
    for name in BUILD:
        if find_spec(name) is None:
            raise NotInstalled(name)
