"""The errors that people see, and the words that they are made of."""

from __future__ import annotations

import difflib
import os
import re
import sys
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path

from .quantities import spans

MOST_CALLS = 20
"""Jobs of an array that an error names one by one."""


class CorruptsetError(Exception):
    """Base of every error that corruptset raises on purpose.

    `exit_code` is what the command line returns for it.
    """

    exit_code = 2


class UnknownCorruption(CorruptsetError, ValueError):
    """A corruption, set or recipe name that nothing is registered under."""


class UnknownSet(UnknownCorruption, KeyError):
    """A key that a mapping of sets does not have."""

    __str__ = Exception.__str__  # KeyError's own is a repr


class ParameterError(CorruptsetError, ValueError):
    """A parameter, severity, level or given draw that a corruption does not accept."""


class ImageError(CorruptsetError, ValueError):
    """An array that is no image: uint8, 1 or 3 channels, at least 8x8."""


class RecipeError(CorruptsetError, ValueError):
    """A recipe or table file with a mistake in it."""


class SourceError(CorruptsetError, ValueError):
    """A source that cannot be read, or that holds images which cannot be used."""


class ModelError(CorruptsetError, ValueError):
    """A model that cannot be loaded, does not fit, or fails its checks."""


class PredictionError(CorruptsetError, ValueError):
    """Predictions of another model or data set than the one asked for."""


class ScoreError(CorruptsetError, ValueError):
    """A scores file that cannot be read, or scores that do not go together."""


class StudyError(CorruptsetError, ValueError):
    """A study with people that cannot be made or scored as asked."""


class PluginError(CorruptsetError, ValueError):
    """A module of one's own whose corruptions cannot be loaded or break the contract.

    `position` is the image of a batch that it failed on, where that is known.
    """

    def __init__(self, message: str, position: int | None = None) -> None:
        super().__init__(message)
        self.position = position


class BuildError(CorruptsetError):
    """A build that cannot start, continue or be extended as asked."""


class FinishedDataset(BuildError):
    """A finished dataset that lacks sets of the build that is asked for, and is not changed."""

    def __init__(self, directory: Path, lacking: Sequence[str]) -> None:
        self.directory, self.lacking = directory, tuple(lacking)
        self.options = {"extend": str(directory), "out": str(self.other_out(directory))}
        """What to add to the same call."""
        super().__init__(self.with_call(", ".join(f"{name}={value!r}" for name, value in self.options.items())))

    @staticmethod
    def other_out(directory: Path) -> Path:
        """Return a folder that can receive the extended dataset."""
        return directory.parent / "extended"

    def with_call(self, call: str) -> str:
        """Return the message with the call that makes a new dataset with all sets."""
        return (
            f"{self.directory} is finished, so it is not changed, and it lacks {len(self.lacking)} of the sets that "
            f"were asked for ({first_few(self.lacking)}). Make a new dataset that also has them:\n  {call}"
        )


class StoreError(CorruptsetError):
    """An object store that is not there, or that refuses what is asked."""


class IncompleteBuild(CorruptsetError):
    """A directory that a build has not finished."""

    exit_code = 1


class MissingParts(IncompleteBuild):
    """Jobs of an array that have not made all of their parts: ``jobs`` of ``of``."""

    def __init__(self, what: str, jobs: Sequence[int], of: int) -> None:
        self.what, self.jobs, self.of = what, tuple(jobs), of
        super().__init__(self.with_calls([f"part=({job}, {of})" for job in jobs], "finish=True"))

    def with_calls(self, calls: Sequence[str], finish: str) -> str:
        """Return the message with the calls that make what is missing, and the last one."""
        jobs = f"Job {self.jobs[0]}" if len(self.jobs) == 1 else f"Jobs {spans(self.jobs)}"
        return f"{self.what} {jobs} of {self.of} will make them:\n{listed(calls, MOST_CALLS)}\nThen finish:\n  {finish}"


class VerificationError(CorruptsetError):
    """A data set that is not what its manifest says."""

    exit_code = 1


class ReleaseError(CorruptsetError):
    """A release that cannot be published or fetched as asked."""


class MachineError(CorruptsetError):
    """The machine failed (disk, memory, workers).

    What was committed stands, and the build can be resumed.
    """

    exit_code = 3


class Interrupted(CorruptsetError):
    """The build was stopped from outside.

    What was committed stands and the build can be resumed.
    """

    exit_code = 130


class CorruptsetWarning(UserWarning):
    """Something that does not change what comes out, and that a person should know."""


LONGEST_VALUE = 200
"""Characters of a value that a message quotes."""


def quoted(value: object) -> str:
    """Return a value as Python writes it, cut after 200 characters.

    Examples
    --------
    >>> quoted("fog"), len(quoted("x" * 1000))
    ("'fog'", 203)
    """
    try:
        text = repr(value)
    except ValueError:  # an int of thousands of digits
        text = f"a value of type {type(value).__name__}"
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}..."


NEAR = 3
"""Names that are suggested."""


def suggest(name: str, known: Iterable[str]) -> str:
    """Return `` Did you mean 'x'?`` for the nearest known names, or an empty string.

    A name that differs in capitals, spaces, ``-`` and ``_`` only is suggested alone; else names that begin with what
    was given, then those spelled alike, then those of which it is a word.

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
    plain = _plain(name)
    same = [other for other in names if _plain(other) == plain]
    begins = sorted(
        (other for other in names if len(plain) > 2 and _plain(other).startswith(plain)),
        key=lambda other: (len(other), other),
    )
    holds = [other for other in names if plain in re.split(r"[_/+-]", _plain(other))]
    near = same or list(dict.fromkeys([*begins, *difflib.get_close_matches(name, names, n=NEAR), *holds]))[:NEAR]
    also = f" Also near: {', '.join(map(repr, near[1:]))}." if near[1:] else ""
    return f" Did you mean {near[0]!r}?{also}" if near else ""


def unread_settings(text: str) -> str:
    """Return a sentence on settings that are still in a text, or an empty string."""
    said = (
        " What stands behind '?' was not read: `corruptset build --help` names the settings, which '&' separates; in "
        "Python they are arguments."
    )
    return said if "?" in text else ""


def _plain(name: str) -> str:
    return name.lower().replace("-", "_").replace(" ", "_")


def listed(problems: Sequence[str], limit: int = 50) -> str:
    """Return problems one a line, indented, the rest counted.

    Examples
    --------
    >>> print(listed(["a", "b", "c"], limit=2))
      a
      b
      ... and 1 more
    """
    lines = [f"  {p}" for p in problems[:limit]]
    if len(problems) > limit:
        lines.append(f"  ... and {len(problems) - limit} more")
    return "\n".join(lines)


def first_few(names: Sequence[str], most: int = 5) -> str:
    """Return the first of several names, for a sentence.

    Examples
    --------
    >>> first_few(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def mistakes(where: str, problems: Sequence[str]) -> str:
    """Return all that is wrong with a file, one problem a line.

    Examples
    --------
    >>> print(mistakes("mine.toml", ["a", "b"]))
    mine.toml has 2 mistakes:
      a
      b
    """
    lines = "".join(f"\n  {problem}" for problem in problems)
    return f"{where} has {len(problems)} mistake{'s' * (len(problems) > 1)}:{lines}"


def require_utf8_names() -> None:
    """Raise ParameterError where Python does not read names of files as UTF-8: ids and draws would be others."""
    if (encoding := sys.getfilesystemencoding()) != "utf-8":
        said = [f"{name}={os.environ[name]}" for name in ("LC_ALL", "LC_CTYPE", "LANG") if os.environ.get(name)]
        raise ParameterError(
            f"Python reads names of files as {encoding} here ({', '.join(said[:1]) or 'no LC_ALL'}), and corruptset "
            "needs UTF-8: set PYTHONUTF8=1 and run the same command again."
        )


def install_extra(extra: str) -> str:
    """Return the sentence that tells how to install an extra. It names the clone because nothing is released yet."""
    return f"Install the extra: in the clone of corruptset, run pip install '.[{extra}]'."


def install_add_on(package: str) -> str:
    """Return the sentence that tells how to install an add-on of this project."""
    return f"Install it: in the clone of corruptset, run pip install ./plugins/{package}."


BUILD = ("numba", "cv2", "scipy", "skimage", "joblib")
"""What the extra ``build`` brings."""


class NotInstalled(CorruptsetError, ImportError):
    """What makes images is asked of an installation without the extra ``build``."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name} is not installed, and this needs it. {install_extra('build')} Without the extra, corruptset can "
            "open, verify, fetch, unpack, export and score datasets, but it cannot build them."
        )


def not_installed(error: BaseException) -> NotInstalled | None:
    """Return the error of a failed import of something in the extra ``build``, or None.

    It is None for what is half installed, too.
    """
    name = error.name if isinstance(error, ModuleNotFoundError) else None
    return NotInstalled(name) if name in BUILD and find_spec(name) is None else None


def require_build() -> None:
    """Raise `NotInstalled` where the extra ``build`` is not installed."""
    for name in BUILD:
        if find_spec(name) is None:
            raise NotInstalled(name)
