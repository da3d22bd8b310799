"""Test array jobs with the scripts in docs/array-jobs.md, and the messages of the command about parts."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import small_builds
from commands import COMMAND

import corruptset

PAGE = Path(__file__).resolve().parents[2] / "docs/array-jobs.md"
SBATCH = """#!{python}
# A stand-in for sbatch: options of the command line before the environment's, before the script's.
# Jobs run one after the other.
import os, re, subprocess, sys
*options, script = sys.argv[1:]
given = dict(re.findall(r"^#SBATCH --([a-z-]+)=(.*)$", open(script).read(), re.M))
if "SBATCH_ARRAY_INX" in os.environ:
    given |= {{"array": os.environ["SBATCH_ARRAY_INX"]}} if "array" in given else {{}}
given |= dict(o.removeprefix("--").partition("=")[::2] for o in options)
assert given.keys() <= {{"job-name", "array", "cpus-per-task", "mem", "time", "parsable", "dependency"}}, given
indexes = [""]
if "array" in given:
    ends = [(a, b or a) for a, _, b in (span.partition("-") for span in given["array"].split(","))]
    indexes = [i for a, b in ends for i in range(int(a), int(b) + 1)]
failed = []
for i in reversed(indexes):
    environment = os.environ | {{"SLURM_CPUS_PER_TASK": "1", "SLURM_ARRAY_TASK_ID": str(i)}}
    environment["SLURM_ARRAY_TASK_COUNT"] = str(len(indexes))
    if str(i) == os.environ.get("FAILING"):
        continue
    with open(script + f".{{i}}.out", "w") as out:
        failed += [i] if subprocess.run(["bash", script], env=environment, stdout=out, stderr=out).returncode else []
print(17)
"""


def code_block(title):
    """Return a code block of the page."""
    match = re.search(
        rf'^```bash title="{re.escape(title)}"\n(.*?)^```$', PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    assert match is not None
    return match[1]


@pytest.mark.ci
def test_slurm_scripts_on_page_run_unchanged(tmp_path, crops, recipe):
    sbatch = tmp_path / "bin" / "sbatch"
    sbatch.parent.mkdir()
    sbatch.write_text(SBATCH.format(python=sys.executable))
    sbatch.chmod(sbatch.stat().st_mode | stat.S_IXUSR)
    for name in ("array.sh", "finish.sh"):
        (tmp_path / name).write_text(code_block(name))
    environment = os.environ | {
        "PATH": f"{sbatch.parent}:{COMMAND.parent}:{os.environ['PATH']}",
        "SBATCH_ARRAY_INX": "0-2",
        "N": "3",
    }
    environment |= {"RECIPE": str(recipe), "SOURCE": f"folder:{crops}", "OUT": str(tmp_path / "out"), "FAILING": "1"}

    def submit(command):
        subprocess.run(["bash", "-e", "-c", command], env=environment, cwd=tmp_path, check=True, capture_output=True)

    submit(code_block("submit"))
    text = (tmp_path / "finish.sh..out").read_text()
    assert "Job 1 of 3 will build them" in text
    del environment["FAILING"], environment["SBATCH_ARRAY_INX"]
    submit("sbatch --array=1 array.sh; sbatch finish.sh")
    directory = small_builds.build_dataset(recipe, crops, tmp_path / "whole", sets=None, metrics=None, page=True)
    assert small_builds.read_files(tmp_path / "out" / directory.name) == small_builds.read_files(directory)


def test_merged_folders_are_finished_and_commands_of_missing_jobs_are_named(run, crops, recipe, tmp_path):
    build = ["build", recipe, "--source", f"folder:{crops}", *"--storage both --jobs 1 --no-page --json --out".split()]
    for job in (0, 2):
        result = run.succeeds(*build, f"machine{job}", "--part", f"{job}/4").json
        assert 0 < result["made"] == result["parts"]
        shutil.copytree(tmp_path / f"machine{job}", tmp_path / "my sets", dirs_exist_ok=True)
    finish_result = run.fails("Jobs 1,3 of 4 will build them", *build, "my sets", "--finish", code=1)
    first, second, finish = re.findall(r"^  corruptset (.*)$", finish_result.err, re.M)
    assert "--finish instead of --part" in run.succeeds(first.replace(" --json", "")).out
    run.succeeds(second)
    directory = small_builds.build_dataset(recipe, crops, tmp_path / "whole", sets=None, metrics=None, storage="both")
    assert run.succeeds(finish).json["digest"] == corruptset.open(directory).digest
    assert small_builds.read_files(tmp_path / "my sets" / directory.name) == small_builds.read_files(directory)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ("--part 7/7", "expected job i of n, as two whole numbers"),
        ("--part x/y", "'x/y' is not I/N"),
        ("--part 0/2 --finish", "--part and --finish cannot be combined"),
        ("--finish", "contains no parts. First build the parts with --part i/n"),
    ],
)
def test_array_job_errors_are_named(run, arguments, text):
    run.fails(text, f"build imagenet-c --samples 1 {arguments}", code=1 if arguments == "--finish" else 2)
