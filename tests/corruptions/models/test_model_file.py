"""Test model files, and the message for every mistake in them."""

from __future__ import annotations

import re

import pytest

from corruptset.corruptions.models.model_file import class_folders, read_model_file
from corruptset.errors import ModelError

GOOD = """
name = "resnet50"
factory = "torchvision.models:resnet50"
weights = "resnet50.safetensors"
input = {size = 224, mean = [0.485, 0.456, 0.406], std = [0.229, 0.224, 0.225], channels = "rgb"}
"""
PROGRAM = """
name = "net"
program = "net.pt2"
trust = true
outputs = "probabilities"
classes = "folders.txt"
least_accuracy = 0.5
[input]
size = [28, 30]
mean = 0.5
std = [0.25]
channels = "grey"
"""
MISTAKEN = """nmae = "x"
factory = "torchvision.models.resnet50"
weights = 7
outputs = "logit"
least_accuracy = 50
trust = "yes"
classes = ""
[input]
size = "224"
mean = [0.5, "a", 0.5]
std = [0.2, 0.0, 0.2]
channels = "rbg"
"""


def read(folder, text):
    file = folder / "model.toml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_model_file(file)


def test_model_file_is_parsed(tmp_path):
    file = read(tmp_path, GOOD)
    assert (file.input.size, file.channels, file.outputs, file.classes) == ((224, 224), 3, "logits", "index")
    assert (file.least_accuracy, file.weights_name) == (0, "resnet50.safetensors")
    file = read(tmp_path, PROGRAM)
    assert (file.input.size, file.input.mean, file.input.std, file.channels) == ((28, 30), (0.5,), (0.25,), 1)
    assert file.weights_name == "net.pt2"


def test_all_errors_are_reported_with_line_numbers(tmp_path):
    with pytest.raises(ModelError) as exc_info:
        read(tmp_path, MISTAKEN)
    for part in (
        str(tmp_path / "model.toml"),
        "contains 12 errors",
        "name: Field required",
        "nmae: Extra inputs are not permitted",
        "factory: is 'torchvision.models.resnet50'; expected 'module:callable', such as 'torchvision.models:resnet50'",
        "weights: Input should be a valid string (given: 7)",
        "outputs: Input should be 'logits' or 'probabilities' (given: 'logit')",
        "least_accuracy: Input should be less than or equal to 1 (given: 50)",
        "trust: Input should be a valid boolean",
        "input, size: Input should be a valid tuple (given: '224')",
        "input, mean, item 2: Input should be a valid number",
        "input, std, item 2: Input should be greater than 0 (given: 0.0)",
        "input, channels: Input should be 'rgb', 'bgr' or 'grey' (given: 'rbg')",
    ):
        assert part in str(exc_info.value)


GREY = 'channels = "grey"'
MISTAKES = [
    (GOOD, 'channels = "rgb"', GREY, "input: mean has 3 values; grey has 1 channel"),
    (GOOD, "std = [0.229, 0.224, 0.225]", "std = 0.2", "input: std has 1 value; rgb has 3 channels"),
    (
        GOOD,
        "0.485",
        "123.7",
        "mean is outside -1..1; divide mean and std by 255",
    ),
    (GOOD, "size = 224", "size = 4", "input, size, item 1: Input should be greater than or equal to 8 (given: 4)"),
    (GOOD, 'weights = "resnet50.safetensors"', "", "weights is missing; expected the file of the factory's state dict"),
    (GOOD, ".safetensors", ".onnx", "weights is 'resnet50.onnx'; expected a file that ends in one of .safetensors, "),
    (GOOD, 'factory = "torchvision.models:resnet50"', "", "has neither factory nor program; expected one of them"),
    (GOOD, "[0.485, 0.456, 0.406]", "[0.4, 0.4, 0.4], born = 2020-01-01", "born"),
    (PROGRAM, "trust = true", "", "a program contains code that is executed with your permissions; write trust ="),
    (PROGRAM, "net.pt2", "net.onnx", "program is 'net.onnx'; expected a .pt2 file"),
    (PROGRAM, "trust = true", 'trust = true\nfactory = "a:b"', "has factory and program; expected one of them"),
    (PROGRAM, "trust = true", 'trust = true\nweights = "a.pt"', "has a program and weights or arguments"),
    ("name = ", "x", "", "is not valid TOML"),
]


@pytest.mark.parametrize(("text", "correct", "invalid", "message"), MISTAKES)
def test_error_is_reported(tmp_path, text, correct, invalid, message):
    with pytest.raises(ModelError, match=re.escape(message)):
        read(tmp_path, text.replace(correct, invalid, 1))


def test_unreadable_file_is_reported_and_class_folders_have_one_per_line(tmp_path):
    with pytest.raises(ModelError, match="it is not UTF-8 text"):
        read(tmp_path, b"\xff\xfe")
    file = tmp_path / "folders.txt"
    file.write_text("n01440764\nn01443537 \r\nzebra\n")
    assert class_folders(file) == ("n01440764", "n01443537", "zebra")
    (tmp_path / "gap.txt").write_text("a\n\na\nb")
    (tmp_path / "empty.txt").write_text("")
    for reader, name, message in (
        (read_model_file, "none.toml", "cannot be read: No such file"),
        (read_model_file, ".", "cannot be read: Is a directory"),
        (class_folders, "gap.txt", "has 'a', ''; expected one line per output"),
        (class_folders, "empty.txt", "is empty"),
        (class_folders, "none.txt", "The list of class folders in .* cannot be read: No such file"),
    ):
        with pytest.raises(ModelError, match=message):
            reader(tmp_path / name)
