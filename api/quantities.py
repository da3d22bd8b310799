"""Format numbers of bytes, times and counts for display."""

from __future__ import annotations

from collections.abc import Iterable


def size(count: float) -> str:
    """Return a number of bytes as text with a decimal unit.

    Examples
    --------
    >>> size(900), size(1_500_000), size(2.5e12)
    ('900 B', '1.5 MB', '2.5 TB')
    """
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def duration(seconds: float) -> str:
    """Return a time in seconds as text with units.

    Examples
    --------
    >>> duration(0.4), duration(75), duration(7260)
    ('under a second', '1 min 15 s', '2 h 01 min')
    """
    if seconds < 1:
        return "under a second"
    rounded = round(seconds)
    if rounded < 60:
        return f"{rounded} s"
    if rounded < 3600:
        return f"{rounded // 60} min {rounded % 60:02d} s"
    return f"{rounded // 3600} h {rounded % 3600 // 60:02d} min"


def spans(numbers: Iterable[float]) -> str:
    """Return increasing numbers as text, with consecutive integers joined into ranges.

    Examples
    --------
    >>> spans([1, 2, 3, 5]), spans([4]), spans([0.25, 1.25])
    ('1-3,5', '4', '0.25,1.25')
    """
    runs: list[list[float]] = []
    for number in numbers:
        if runs and isinstance(number, int) and number == runs[-1][-1] + 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return ",".join("-".join(map(str, run)) for run in runs)


def plural(count: int, name: str) -> str:
    """Return a count with its noun in the singular or plural.

    Examples
    --------
    >>> plural(1, "set"), plural(3, "set"), plural(2, "class")
    ('1 set', '3 sets', '2 classes')
    """
    ending = "" if count == 1 else "es" if name.endswith(("s", "x")) else "s"
    return f"{count} {name}{ending}"


def folders_and_files(paths: Iterable[str], name: str) -> str:
    """Return text that states how many class folders, other folders and files there are among some paths.

    Paths of folders end with a slash. `name` is the noun for the files.

    Examples
    --------
    >>> folders_and_files(["b/", "a/1.png", "a/2.png"], "image"), folders_and_files(["a/1.png"], "image")
    ('1 class folder and 2 images', '1 image')
    """
    counts = dict.fromkeys(("class folder", "folder", name), 0)
    for path in paths:
        is_class = path.count("/") == 1 and path != "./"
        counts["class folder" if path.endswith("/") and is_class else "folder" if path.endswith("/") else name] += 1
    return " and ".join(plural(count, what) for what, count in counts.items() if count)
