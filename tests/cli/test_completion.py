"""Test shell completion with the protocol of bash, and the completion functions."""

from __future__ import annotations

import os
import shutil
import subprocess
from types import SimpleNamespace

from commands import COMMAND

from corruptset.cli import completion
from corruptset.corruptions.registry import corruption_names
from corruptset.generate.recipes.recipe import load_recipe
from corruptset.generate.recipes.recipe_files import recipe_names

COMPLETE = """
eval "$("$1" --show-completion)"
shift
for line in "$@"; do
    read -r -a COMP_WORDS <<< "$line"
    [[ $line == *' ' ]] && COMP_WORDS+=("")
    COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
    _corruptset_completion corruptset
    echo "${COMPREPLY[*]}"
done
"""


def test_bash_completes_commands_options_and_names(dataset_dir, tmp_path):
    lines = {
        "corruptset build imagenet-c-29": ["imagenet-c-299"],
        f"corruptset export imagefolder {dataset_dir} --sets contrast/3,con": [
            f"contrast/3,contrast/{n}" for n in range(1, 6)
        ],
    }
    environment = {**os.environ, "PATH": f"{COMMAND.parent}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    command = [str(shutil.which("bash")), "--norc", "-c", COMPLETE, "bash", str(COMMAND), *lines]
    result = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert result.stderr == ""
    assert [line.split() for line in result.stdout.splitlines()] == list(lines.values())


def test_completion_offers_names():
    assert completion.corruptions("") == sorted(corruption_names())
    assert completion.corruptions("fog,snow/") == [f"fog,snow/{n}" for n in range(1, 6)]
    assert {"pairs", "imagenet-d", *recipe_names()} <= set(completion.recipes(""))
    assert set(completion.shown("cifar")) == {"cifar10-c", "cifar100-c", "cifar-10-c", "cifar-100-c", "cifar"}
    assert completion.sources("cifar10") == ["cifar100:", "cifar10:"]
    assert completion.layouts("image") == ["imagefolder", "imagenet-c", "imagenet-c-5k"]
    assert completion.calibrations("i") == ["imagenet", "inception"]


def test_completion_offers_sets_of_build_or_recipe(dataset_dir):
    contrast = [f"contrast/{n}" for n in range(1, 6)]
    for params, typed, offered in (
        ({"manifest": dataset_dir, "recipe": "cifar10-c"}, "", contrast),
        ({"manifest": dataset_dir}, "clean,contrast/2", ["clean,contrast/2"]),
        ({"recipe": "cifar10-c"}, "", sorted(spec.id for spec in load_recipe("cifar10-c").resolve().sets)),
        ({"recipe": "imagnet"}, "", []),
        ({"manifest": __file__}, "", []),
    ):
        assert completion.sets(SimpleNamespace(params=params), typed) == offered
