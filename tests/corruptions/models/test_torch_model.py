"""Test the adapter for PyTorch: factories, weights, programs, settings of PyTorch, and every mistake."""

from __future__ import annotations

import hashlib
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from surrogates import NORMAL, seeded_network, write_file, write_model

import corruptset
from corruptset.errors import ModelError

GREY = {"size": 8, "channels": "grey"} | NORMAL["grey"]
IMAGES = np.arange(3 * 64, dtype=np.uint8).reshape(3, 8, 8, 1)


@pytest.fixture
def network():
    from small_nets import Smooth

    return seeded_network(lambda: Smooth(1))


def write(folder, network, factory="small_nets:Smooth", **keys):
    return write_model(folder, network, 8, factory, channels="grey", **{"arguments": {"channels": 1}} | keys)


def check_refused(file, *message):
    with pytest.raises(ModelError) as exc_info:
        corruptset.load_surrogate(file)
    assert all(part in str(exc_info.value) for part in message), exc_info.value


@pytest.mark.ci
def test_weights_and_checkpoints_load_as_saved(network, tmp_path):
    import torch

    pixels = (torch.from_numpy(IMAGES).permute(0, 3, 1, 2) / 255.0 - 0.5) / 0.25
    with torch.no_grad():
        expected = network(pixels).numpy()
    parallel = {f"module.{name}": tensor for name, tensor in network.state_dict().items()}
    for weights, nested in (
        *((name, None) for name in ("w.safetensors", "w.pt", "w.pth")),
        *(("w.pt", name) for name in ("state_dict", "model_state_dict", "model")),
    ):
        file = write(tmp_path, network, weights=weights)
        if nested:
            torch.save({"epoch": 3, nested: parallel}, tmp_path / weights)
        surrogate = corruptset.load_surrogate(file)
        assert surrogate.sha256 == f"sha256:{hashlib.sha256((tmp_path / weights).read_bytes()).hexdigest()}"
        np.testing.assert_allclose(surrogate.logits(IMAGES), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.ci
def test_invalid_weights_are_rejected_without_running_code(network, tmp_path):
    import torch

    marker = tmp_path / "ran"

    class Evil:
        def __reduce__(self):
            return os.system, (f"touch {marker}",)

    code = "The weights w.pt contain objects other than tensors, which could execute code, so they were not loaded"
    for content, message in (
        ({"x": Evil()}, code),
        (pickle.dumps(Evil(), 2), code),
        (network, code),
        (b"", "The weights w.pt cannot be read: EOFError"),
        (b"PK\x03\x04 and so on", "cannot be read"),
        (b"hello world", "cannot be read: KeyError: 101"),
        ([1, 2], "contain a list that is not a state dict of tensors by name"),
        ({"epoch": 3, "lr": 1}, "contain a dict that is not a state dict of tensors by name"),
    ):
        file = write(tmp_path, network, weights="w.pt")
        (tmp_path / "w.pt").write_bytes(content) if isinstance(content, bytes) else torch.save(
            content, tmp_path / "w.pt"
        )
        check_refused(file, message)
        assert not marker.exists()
    (tmp_path / "w.pt").unlink()
    check_refused(file, f"The weights {tmp_path / 'w.pt'} cannot be read: No such file")
    file = write(tmp_path, network)
    original = (tmp_path / "weights.safetensors").read_bytes()
    for content in (b"", original[:-20], b"\xff" * 100):
        (tmp_path / "weights.safetensors").write_bytes(content)
        check_refused(file, "The weights weights.safetensors cannot be read: SafetensorError: ")
    other = "The weights weights.safetensors do not fit the architecture that small_nets:Plain returns: RuntimeError: "
    check_refused(
        write(tmp_path, network, factory="small_nets:Plain"), other, 'Missing key(s) in state_dict: "layers.0.weight", '
    )


@pytest.mark.ci
def test_factory_without_result_is_reported(network, tmp_path):
    (tmp_path / "broken.py").write_text("1 / 0\n")
    for factory, arguments, message in (
        ("no_such_module:net", {}, "fails: ModuleNotFoundError: No module named 'no_such_module'"),
        ("small_nets:Smoth", {}, "fails: AttributeError: module 'small_nets' has no attribute 'Smoth'"),
        ("small_nets:__name__", {}, "The factory small_nets:__name__(), searched in the installed packages and in "),
        ("small_nets:Smooth", {"depth": 3}, "The factory small_nets:Smooth(depth=3), searched in"),
        ("builtins:dict", {}, "The factory builtins:dict() returns a dict; expected a torch.nn.Module"),
        ("broken:net", {}, "fails: ZeroDivisionError: division by zero"),
    ):
        check_refused(write(tmp_path, network, factory, arguments=arguments), message)


@pytest.mark.ci
def test_exported_program_matches_network(network, tmp_path):
    import torch

    saved_model = corruptset.load_surrogate(write(tmp_path, network))
    example, batch = torch.rand(2, 1, 8, 8), torch.export.Dim("batch", min=1, max=64)
    torch.export.save(torch.export.export(network, (example,), dynamic_shapes=({0: batch},)), tmp_path / "net.pt2")
    file = write_file(tmp_path, program="net.pt2", trust=True, input=GREY)
    for size in (1, 3):
        program = corruptset.load_surrogate(file, batch=size)
        assert program.record()["program"] == "net.pt2"
        np.testing.assert_allclose(program.logits(IMAGES), saved_model.logits(IMAGES), atol=1e-6)
        gradients = (
            surrogate.gradient(IMAGES.astype(np.float32), np.array([1, 2, 3])) for surrogate in (program, saved_model)
        )
        np.testing.assert_allclose(*gradients, rtol=1e-4, atol=1e-8)
    torch.export.save(torch.export.export(network, (example,)), tmp_path / "net.pt2")
    check_refused(file, "The model small fails (")  # The program was exported with a batch of 2.
    (tmp_path / "net.pt2").write_bytes(b"no program")
    check_refused(file, "The program net.pt2 cannot be loaded by PyTorch")


# --- PyTorch --------------------------------------------------------------------------------------------------------


def test_missing_pytorch_is_reported_after_file_errors(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "torch", None)
    file = write_file(tmp_path, factory="a:b", weights="w.pt", input=GREY)
    check_refused(file, "A model needs PyTorch, which cannot be imported: ", "pip install '.[torch]'")
    check_refused(write_file(tmp_path, input=GREY), "has neither factory nor program")


def test_broken_pytorch_is_explained_and_imported_on_demand(tmp_path):
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch/__init__.py").write_text("raise OSError('libtorch_cpu.so: cannot open')")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import corruptset; corruptset.show('pgd'); "
        "corruptset.show('model_gradient'); corruptset.load_surrogate; assert 'torch' not in sys.modules; "
        f"corruptset.load_surrogate({str(write_file(tmp_path, factory='a:b', weights='w.pt', input=GREY))!r})"
    )
    last = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stderr.splitlines()[-1]
    assert "ModelError: A model needs PyTorch, which cannot be imported: OSError: libtorch_cpu.so" in last


@pytest.mark.ci
def test_missing_device_is_reported(network, tmp_path):
    import torch

    file = write(tmp_path, network)
    for device in ("gpu", *["cuda"] * (not torch.cuda.is_available())):
        with pytest.raises(ModelError, match=f"PyTorch .* has no device '{device}' on this machine"):
            corruptset.load_surrogate(file, device=device)


@pytest.mark.ci
def test_results_are_independent_of_caller_settings(network, tmp_path):
    """Test threads, inference mode and autocast, and a user's module that is next to its model file."""
    import torch

    (tmp_path / "own_module_of_a_user.py").write_text("from small_nets import Smooth as net\n")
    own, images, path = (
        write(tmp_path, network, factory="own_module_of_a_user:net"),
        IMAGES.astype(np.float32),
        [*sys.path],
    )
    threads, labels = torch.get_num_threads(), np.array([1, 2, 3])
    model = corruptset.load_surrogate(own)
    expected = model.logits(IMAGES), model.gradient(images, labels)
    try:
        torch.set_num_threads(3)
        for setting in (torch.inference_mode(), torch.no_grad(), torch.autocast("cpu")):
            with setting:
                for some in (model, corruptset.load_surrogate(own)):
                    np.testing.assert_array_equal(some.logits(IMAGES), expected[0])
                    np.testing.assert_array_equal(some.gradient(images, labels), expected[1])
        assert (torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()) == (1, True)
        assert sys.path == path
    finally:
        torch.set_num_threads(threads)
        torch.use_deterministic_algorithms(False)
        sys.modules.pop("own_module_of_a_user", None)
