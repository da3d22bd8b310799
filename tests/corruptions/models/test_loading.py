"""A model file made into a network: factories, weights of each kind, programs; and all that can be wrong with them."""

from __future__ import annotations

import hashlib
import os
import pickle
import sys

import numpy as np
import pytest
from surrogates import NORMAL, seeded, write_file, write_model

import corruptset
from corruptset.errors import ModelError

pytestmark = pytest.mark.ci
FACTORY = "small_nets:Smooth"
GREY = {"size": 8, "channels": "grey"} | NORMAL["grey"]


@pytest.fixture
def network():
    from small_nets import Smooth

    return seeded(lambda: Smooth(1))


def write(folder, network, **keys):
    return write_model(
        folder, network, 8, keys.pop("factory", FACTORY), channels="grey", **{"arguments": {"channels": 1}} | keys
    )


def refused(file) -> str:
    with pytest.raises(ModelError) as caught:
        corruptset.load_surrogate(file)
    return str(caught.value)


@pytest.mark.parametrize("weights", ["w.safetensors", "w.pt", "w.pth"])
def test_weights_of_each_kind_are_those_that_were_saved(network, weights, tmp_path):
    import torch

    surrogate = corruptset.load_surrogate(write(tmp_path, network, weights=weights))
    assert surrogate.sha256 == f"sha256:{hashlib.sha256((tmp_path / weights).read_bytes()).hexdigest()}"
    images = np.arange(2 * 64, dtype=np.uint8).reshape(2, 8, 8, 1)
    pixels = (torch.from_numpy(images).permute(0, 3, 1, 2) / 255.0 - 0.5) / 0.25
    with torch.no_grad():
        want = torch.cat([network(pixels[i : i + 1]) for i in range(2)]).numpy()
    np.testing.assert_allclose(surrogate.logits(images), want, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("nested", ["state_dict", "model_state_dict", "model"])
def test_a_checkpoint_of_a_training_script_is_read(network, nested, tmp_path):
    import torch

    file = write(tmp_path, network, weights="w.pt")
    plain = corruptset.load_surrogate(file)
    parallel = {f"module.{name}": tensor for name, tensor in network.state_dict().items()}
    torch.save({"epoch": 3, nested: parallel}, tmp_path / "w.pt")
    images = np.zeros((1, 8, 8, 1), np.uint8)
    np.testing.assert_array_equal(corruptset.load_surrogate(file).logits(images), plain.logits(images))


def test_code_in_a_pickle_is_refused_and_not_run(network, tmp_path):
    file = write(tmp_path, network, weights="w.pt")
    marker = tmp_path / "ran"

    class Evil:
        def __reduce__(self):
            return os.system, (f"touch {marker}",)

    import torch

    for save in (
        lambda: torch.save({"x": Evil()}, tmp_path / "w.pt"),
        lambda: (tmp_path / "w.pt").write_bytes(pickle.dumps(Evil(), 2)),
    ):
        save()
        text = refused(file)
        assert (
            f"The weights w.pt hold more than tensors ({os.system.__module__}.system), which could run code, and were "
            "not loaded" in text
        )
        assert not marker.exists()
    torch.save(network, tmp_path / "w.pt")
    assert "hold more than tensors (small_nets.Smooth), which could run code" in refused(file)


def test_weights_that_are_none_are_told(network, tmp_path):
    import torch

    file = write(tmp_path, network, weights="w.pt")
    for content, says in (
        (b"", "cannot be read as a file of torch.save"),
        (b"PK\x03\x04 and so on", "cannot be read"),
        (b"text", "w.pt"),
    ):
        (tmp_path / "w.pt").write_bytes(content)
        assert says in refused(file)
    for value, says in (
        ([1, 2], "hold a list; expected a state dict"),
        ({"epoch": 3, "lr": 1}, "hold a dict of 'epoch', 'lr'; expected"),
    ):
        torch.save(value, tmp_path / "w.pt")
        assert says in refused(file)
    (tmp_path / "w.pt").unlink()
    assert f"The weights {tmp_path / 'w.pt'} cannot be read: No such file" in refused(file)
    file = write(tmp_path, network)
    good = (tmp_path / "weights.safetensors").read_bytes()
    for content in (b"", good[:-20], b"\xff" * 100):
        (tmp_path / "weights.safetensors").write_bytes(content)
        assert "The weights weights.safetensors are no safetensors file, or a damaged one" in refused(file)


def test_weights_of_another_architecture_are_told(network, tmp_path):
    text = refused(write(tmp_path, network, factory="small_nets:Plain"))
    assert (
        "The weights weights.safetensors are of another architecture than small_nets:Plain makes. Error(s) in loading "
        "state_dict" in text
    )
    assert 'Missing key(s) in state_dict: "layers.0.weight", ' in text
    text = refused(write(tmp_path, network, arguments={"channels": 3}))
    assert "size mismatch for convolution.weight: copying a param with shape torch.Size([8, 1, 3, 3])" in text
    assert text.endswith("Check factory and arguments.")


@pytest.mark.parametrize(
    ("factory", "arguments", "says"),
    [
        (
            "no_such_module:net",
            {},
            "its module cannot be imported: ModuleNotFoundError: No module named 'no_such_module'",
        ),
        ("small_nets:Smoth", {}, "small_nets has no 'Smoth'. Did you mean 'Smooth'?"),
        ("small_nets:__name__", {}, "which is a str; expected a function or class"),
        ("small_nets:Smooth", {"depth": 3}, "The factory small_nets:Smooth(depth=3) fails: TypeError: "),
        ("builtins:dict", {}, "The factory builtins:dict() returns a dict; expected a torch.nn.Module"),
        ("broken:net", {}, "its module cannot be imported: ZeroDivisionError: division by zero"),
        ("broken_later:net", {}, "The factory broken_later:net() fails: RuntimeError: no luck"),
    ],
)
def test_a_factory_that_makes_nothing_is_told(network, factory, arguments, says, tmp_path):
    (tmp_path / "broken.py").write_text("1 / 0\n")
    (tmp_path / "broken_later.py").write_text("def net():\n    raise RuntimeError('no luck\\nat all')\n")
    assert says in refused(write(tmp_path, network, factory=factory, arguments=arguments))


def test_a_module_beside_the_file_is_found_and_the_path_is_left_as_it_was(network, tmp_path):
    (tmp_path / "own_module_of_a_user.py").write_text(
        "from small_nets import Smooth\n\ndef net():\n    return Smooth(1)\n"
    )
    before = list(sys.path)
    corruptset.load_surrogate(write(tmp_path, network, factory="own_module_of_a_user:net", arguments={}))
    assert sys.path == before
    del sys.modules["own_module_of_a_user"]


def test_a_factory_leaves_the_random_numbers_of_the_process(network, tmp_path):
    import torch

    file = write(tmp_path, network)
    torch.manual_seed(4)
    want = torch.rand(2)
    torch.manual_seed(4)
    surrogate = corruptset.load_surrogate(file)
    surrogate.gradient(np.zeros((1, 8, 8, 1), np.float32), np.array([1]))
    assert torch.equal(torch.rand(2), want)


def test_a_program_gives_what_its_network_gives(network, tmp_path):
    import torch

    plain = corruptset.load_surrogate(write(tmp_path, network))
    example, batch = torch.rand(2, 1, 8, 8), torch.export.Dim("batch", min=1, max=64)
    torch.export.save(torch.export.export(network, (example,), dynamic_shapes=({0: batch},)), tmp_path / "net.pt2")
    images, labels = np.arange(3 * 64, dtype=np.uint8).reshape(3, 8, 8, 1), np.array([1, 2, 3])
    for size in (1, 3):
        program = corruptset.load_surrogate(write_file(tmp_path, program="net.pt2", trust=True, input=GREY), batch=size)
        assert program.record()["program"] == "net.pt2"
        np.testing.assert_allclose(program.logits(images), plain.logits(images), atol=1e-6)
        gradients = (surrogate.gradient(images.astype(np.float32), labels)[1] for surrogate in (program, plain))
        np.testing.assert_allclose(*gradients, rtol=1e-4, atol=1e-8)
    torch.export.save(torch.export.export(network, (example,)), tmp_path / "net.pt2")
    text = refused(write_file(tmp_path, program="net.pt2", trust=True, input=GREY))
    assert "cannot take a batch of shape (1, 1, 8, 8)" in text
    assert "a program is exported with a dynamic batch" in text
    (tmp_path / "net.pt2").write_bytes(b"no program")
    assert "The program net.pt2 cannot be loaded by PyTorch" in refused(
        write_file(tmp_path, program="net.pt2", trust=True, input=GREY)
    )
