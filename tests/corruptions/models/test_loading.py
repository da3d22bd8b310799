"""A model file made into a network: factories, weights, programs, PyTorch; and every mistake."""

from __future__ import annotations

import hashlib
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from surrogates import NORMAL, seeded, smooth, write_file, write_model

import corruptset
from corruptset.corruptions.models.loading import check_device, import_torch, repeatable
from corruptset.errors import ModelError

GREY = {"size": 8, "channels": "grey"} | NORMAL["grey"]
ZEROS = np.zeros((1, 8, 8, 1), np.uint8)


@pytest.fixture
def network():
    from small_nets import Smooth

    return seeded(lambda: Smooth(1))


def write(folder, network, **keys):
    factory = keys.pop("factory", "small_nets:Smooth")
    return write_model(folder, network, 8, factory, channels="grey", **{"arguments": {"channels": 1}} | keys)


def refused(file):
    with pytest.raises(ModelError) as caught:
        corruptset.load_surrogate(file)
    return str(caught.value)


@pytest.mark.ci
def test_weights_of_each_kind_and_checkpoints_are_those_that_were_saved(network, tmp_path):
    import torch

    images = np.arange(2 * 64, dtype=np.uint8).reshape(2, 8, 8, 1)
    pixels = (torch.from_numpy(images).permute(0, 3, 1, 2) / 255.0 - 0.5) / 0.25
    with torch.no_grad():
        want = torch.cat([network(pixels[i : i + 1]) for i in range(2)]).numpy()
    for weights in ("w.safetensors", "w.pt", "w.pth"):
        file = write(tmp_path, network, weights=weights)
        surrogate = corruptset.load_surrogate(file)
        assert surrogate.sha256 == f"sha256:{hashlib.sha256((tmp_path / weights).read_bytes()).hexdigest()}"
        np.testing.assert_allclose(surrogate.logits(images), want, rtol=1e-6, atol=1e-6)
    parallel = {f"module.{name}": tensor for name, tensor in network.state_dict().items()}
    for nested in ("state_dict", "model_state_dict", "model"):
        torch.save({"epoch": 3, nested: parallel}, tmp_path / weights)
        np.testing.assert_array_equal(corruptset.load_surrogate(file).logits(images), surrogate.logits(images))


@pytest.mark.ci
def test_code_in_a_pickle_is_refused_and_not_run(network, tmp_path):
    import torch

    file, marker = write(tmp_path, network, weights="w.pt"), tmp_path / "ran"

    class Evil:
        def __reduce__(self):
            return os.system, (f"touch {marker}",)

    for save in (lambda p: torch.save({"x": Evil()}, p), lambda p: p.write_bytes(pickle.dumps(Evil(), 2))):
        save(tmp_path / "w.pt")
        says = f"hold more than tensors ({os.system.__module__}.system), which could run code, and were not loaded"
        assert says in refused(file)
        assert not marker.exists()
    torch.save(network, tmp_path / "w.pt")
    assert "hold more than tensors (small_nets.Smooth), which could run code" in refused(file)


@pytest.mark.ci
def test_weights_that_are_none_or_of_another_architecture_are_told(network, tmp_path):
    import torch

    file, path = write(tmp_path, network, weights="w.pt"), tmp_path / "w.pt"
    for content, says in (
        (b"", "cannot be read as a file of torch.save"),
        (b"PK\x03\x04 and so on", "cannot be read"),
        ([1, 2], "hold a list; expected a state dict"),
        ({"epoch": 3, "lr": 1}, "hold a dict of 'epoch', 'lr'; expected"),
    ):
        path.write_bytes(content) if isinstance(content, bytes) else torch.save(content, path)
        assert says in refused(file)
    path.unlink()
    assert f"The weights {path} cannot be read: No such file" in refused(file)
    file = write(tmp_path, network)
    good = (tmp_path / "weights.safetensors").read_bytes()
    for content in (b"", good[:-20], b"\xff" * 100):
        (tmp_path / "weights.safetensors").write_bytes(content)
        assert "The weights weights.safetensors cannot be read as a file of safetensors" in refused(file)
    text = refused(write(tmp_path, network, factory="small_nets:Plain"))
    assert (
        "The weights weights.safetensors are of another architecture than small_nets:Plain makes. Error(s) in" in text
    )
    assert 'Missing key(s) in state_dict: "layers.0.weight", ' in text
    assert text.endswith("Check factory and arguments.")


@pytest.mark.ci
@pytest.mark.parametrize(
    ("factory", "arguments", "says"),
    [
        (
            "no_such_module:net",
            {},
            "cannot be imported: ModuleNotFoundError: No module named 'no_such_module'",
        ),
        ("small_nets:Smoth", {}, "cannot be imported: AttributeError: module 'small_nets' has no attribute 'Smoth'"),
        ("small_nets:__name__", {}, "The factory small_nets:__name__() fails: TypeError: 'str' object is not callable"),
        ("small_nets:Smooth", {"depth": 3}, "The factory small_nets:Smooth(depth=3) fails: TypeError: "),
        ("builtins:dict", {}, "The factory builtins:dict() returns a dict; expected a torch.nn.Module"),
        ("broken:net", {}, "cannot be imported: ZeroDivisionError: division by zero"),
    ],
)
def test_a_factory_that_makes_nothing_is_told(network, factory, arguments, says, tmp_path):
    (tmp_path / "broken.py").write_text("1 / 0\n")
    assert says in refused(write(tmp_path, network, factory=factory, arguments=arguments))


@pytest.mark.ci
def test_a_module_beside_the_file_is_found_and_the_process_keeps_its_path_and_its_random_numbers(network, tmp_path):
    import torch

    (tmp_path / "own_module_of_a_user.py").write_text(
        "from small_nets import Smooth\n\ndef net():\n    return Smooth(1)\n"
    )
    file, before = write(tmp_path, network, factory="own_module_of_a_user:net", arguments={}), list(sys.path)
    torch.manual_seed(4)
    want = torch.rand(2)
    torch.manual_seed(4)
    corruptset.load_surrogate(file).gradient(ZEROS.astype(np.float32), np.array([1]))
    assert torch.equal(torch.rand(2), want)
    assert sys.path == before
    del sys.modules["own_module_of_a_user"]


@pytest.mark.ci
def test_a_program_gives_what_its_network_gives(network, tmp_path):
    import torch

    plain = corruptset.load_surrogate(write(tmp_path, network))
    example, batch = torch.rand(2, 1, 8, 8), torch.export.Dim("batch", min=1, max=64)
    torch.export.save(torch.export.export(network, (example,), dynamic_shapes=({0: batch},)), tmp_path / "net.pt2")
    images, labels = np.arange(3 * 64, dtype=np.uint8).reshape(3, 8, 8, 1), np.array([1, 2, 3])
    file = write_file(tmp_path, program="net.pt2", trust=True, input=GREY)
    for size in (1, 3):
        program = corruptset.load_surrogate(file, batch=size)
        assert program.record()["program"] == "net.pt2"
        np.testing.assert_allclose(program.logits(images), plain.logits(images), atol=1e-6)
        gradients = (surrogate.gradient(images.astype(np.float32), labels)[1] for surrogate in (program, plain))
        np.testing.assert_allclose(*gradients, rtol=1e-4, atol=1e-8)
    torch.export.save(torch.export.export(network, (example,)), tmp_path / "net.pt2")
    text = refused(file)
    assert "cannot take a batch of shape (1, 1, 8, 8)" in text
    assert "a program is exported with a dynamic batch" in text
    (tmp_path / "net.pt2").write_bytes(b"no program")
    assert "The program net.pt2 cannot be loaded by PyTorch" in refused(file)


# --- PyTorch --------------------------------------------------------------------------------------------------------


def test_without_pytorch_it_is_said_how_to_install_it_and_mistakes_of_the_file_come_first(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "torch", None)
    file = write_file(tmp_path, factory="a:b", weights="w.pt", input=GREY)
    for call in (lambda: check_device("cpu"), lambda: corruptset.load_surrogate(file)):
        with pytest.raises(
            ModelError, match=r"A model needs PyTorch, which cannot be imported: .*pip install 'corruptset\[torch\]'"
        ):
            call()
    with pytest.raises(ModelError, match="has neither factory nor program"):
        corruptset.load_surrogate(write_file(tmp_path, input=GREY))


@pytest.mark.parametrize("broken", ["raise OSError('libtorch_cpu.so: cannot open')", "import no_such_part"])
def test_a_pytorch_that_cannot_be_imported_says_why(tmp_path, broken):
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch/__init__.py").write_text(broken)
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r});from corruptset.corruptions.models import loading, "
        "surrogate, network;from corruptset.corruptions.registry import get_corruption as get; get('pgd'), "
        "get('model_gradient');assert 'torch' not in sys.modules; loading.import_torch()"
    )
    last = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stderr.splitlines()[-1]
    assert "ModelError: A model needs PyTorch, which cannot be imported: " in last
    assert ("libtorch_cpu.so" in last) or ("ModuleNotFoundError: No module named 'no_such_part'" in last)


@pytest.mark.ci
def test_a_device_that_is_not_there_is_told(monkeypatch):
    torch = import_torch()
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert check_device("cpu") == "cpu"
    for device in ("cuda", "gpu", "meta"):
        with pytest.raises(ModelError, match=f"There is no device '{device}' for PyTorch .* here; it has cpu"):
            check_device(device)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":16:8")
    assert check_device("cuda:1") == "cuda:1"
    with pytest.raises(ModelError, match=r"There is no device 'cuda:2' .* it has cpu, cuda, cuda:0, cuda:1"):
        check_device("cuda:2")


@pytest.mark.ci
def test_a_process_keeps_its_settings_and_its_random_numbers():
    torch = import_torch()

    def state():
        return (
            torch.get_num_threads(),
            torch.are_deterministic_algorithms_enabled(),
            torch.is_deterministic_algorithms_warn_only_enabled(),
            torch.utils.deterministic.fill_uninitialized_memory,
            torch.is_grad_enabled(),
            torch.is_inference_mode_enabled(),
            torch.random.get_rng_state().tolist(),
        )

    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        was = state()
        with repeatable("cpu"):
            assert (torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()) == (1, True)
            with repeatable("cpu"):
                torch.rand(3)
            assert torch.get_num_threads() == 1
        assert state() == was
        with pytest.raises(ValueError, match="x"), repeatable("cpu"):
            raise ValueError("x")
        assert state() == was
        with torch.inference_mode():
            was = state()
            corruptset.load_surrogate(smooth(8, 8, 1))  # its checks go forward and back
            assert state() == was
    finally:
        torch.set_num_threads(before)
