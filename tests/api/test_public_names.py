"""The public names as tools and people see them: mypy, `inspect.signature`, and what a notebook prints of what they
return.
"""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest
import unbuilt

import corruptset
from corruptset.generate.plan.options import BuildOptions
from corruptset.generate.reproduction.inputs import RemakeOptions

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.mark.ci
def test_a_type_checker_finds_misspelt_names(tmp_path):
    """The package is laid out as it installs: in an editable installation mypy finds nothing."""
    (tmp_path / "corruptset").mkdir()
    for path in (ROOT / "api").iterdir():
        (tmp_path / "corruptset" / path.name).symlink_to(path)
    program = tmp_path / "program.py"
    known = [f"corruptset.{name}\n" for name in corruptset.__all__]
    wrong = ["corruptset.corupt\n", "from corruptset import biuld\n", "n: int = corruptset.__version__\n"]
    program.write_text("import corruptset\n" + "".join(known + wrong))
    command = [sys.executable, "-m", "mypy", "--follow-imports=skip", "--no-incremental", "--config-file="]
    command += ["program.py", "corruptset/__init__.py"]
    out = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True).stdout
    told = [line for line in out.splitlines() if line.startswith("program.py")]
    assert [int(line.split(":")[1]) for line in told] == [len(known) + 2 + i for i in range(3)], out
    assert '"corupt"' in told[0]
    assert '"biuld"' in told[1]
    assert '"int"' in told[2]


OPTIONS = {"build": BuildOptions, "plan": BuildOptions, "rebuild": RemakeOptions, "verify": RemakeOptions}


def test_the_errors_are_there_from_the_start():
    assert corruptset.__getattr__("errors") is sys.modules["corruptset.errors"]


def test_signatures_name_every_option():
    for name in corruptset._HOMES:
        shown = inspect.signature(getattr(corruptset, name)).parameters
        hidden = [p.name for p in shown.values() if p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
        # parameters are those of the corruption that is named
        assert hidden == ["parameters"] * (name in ("corrupt", "Corrupt"))
        assert not {"describe_level", "family_of"} & shown.keys()
        assert name not in OPTIONS or OPTIONS[name].__annotations__.keys() <= shown.keys()


def short(value, text=""):
    """Hold that a value prints in a few lines, and how it begins."""
    assert len(repr(value)) <= 450, repr(value)[:2000]
    assert repr(value).count("\n") <= 4
    assert str(value) == repr(value)
    assert repr(value).startswith(text)


def test_what_a_build_returns_prints_in_a_few_lines(shared, tmp_path):
    file, source = shared.recipe(), f"folder:{shared.crops()}"
    options = {"sets": ["clean", "contrast/[13]"], "any_shape": True, "jobs": 1}
    planned = corruptset.plan(file, source, **options)
    short(planned, "<Plan small-c 1.0.0 of folder: 3 sets of 20 samples, 60 images in")
    built = corruptset.build(file, source, tmp_path, metrics=0, page=False, **options)
    short(built, f"<Built small-c 1.0.0 in {tmp_path}/small-c-1.0.0: 3 sets, 60 images made by this call in ")
    assert built.digest in repr(built)
    html = built._repr_html_()
    assert "data:image/jpeg;base64," in html
    assert len(html) < 400_000
    short(built.manifest, "<Manifest small-c 1.0.0: 3 sets, ")
    data = corruptset.open(built.directory)
    for value in (data, data["clean"], data.severities("contrast"), data.select(severity=3), data.torch("clean")):
        short(value)
    report = corruptset.verify(built.directory, jobs=1)
    counts = "{sets} sets, {samples} samples, {files} files, {images} images, {bytes:,} bytes".format(**report.checked)
    short(report, f"<VerificationReport of {built.directory} up to pixels: ok; checked {counts}>")
    for path in built.directory.glob("images/clean/*/*"):
        path.unlink()
    text = repr(corruptset.verify(built.directory, level="sizes", jobs=1))
    assert ": 20 problems; checked 3 sets" in text
    assert "\n  images/clean/00_class/im.0.png: missing: " in text
    assert text.count("\n") <= 4


def test_what_scores_return_prints_in_a_few_lines(tmp_path):
    data = unbuilt.data_set(tmp_path)
    predictions = [unbuilt.made_up(data, seed, f"net-{seed}") for seed in range(2)]
    scores = [corruptset.score(data, one) for one in predictions]
    for value in (predictions[0], scores[0], corruptset.compare(scores, plots=False)):
        short(value)
