"""PyTorch: what is said where it is not there, and that a process which has it keeps its settings."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from surrogates import smooth, write_file

import corruptset
from corruptset.corruptions.models.loading import check_device, import_torch, repeatable
from corruptset.errors import ModelError

INPUT = {"size": 8, "mean": 0.5, "std": 0.25, "channels": "grey"}


@pytest.fixture
def without_torch(monkeypatch):
    """Hide PyTorch, where it is installed."""
    monkeypatch.setitem(sys.modules, "torch", None)


def test_without_pytorch_it_is_said_how_to_install_it(without_torch, tmp_path):
    file = write_file(tmp_path, factory="a:b", weights="w.pt", input=INPUT)
    for call in (import_torch, lambda: check_device("cpu"), lambda: corruptset.load_surrogate(file)):
        with pytest.raises(
            ModelError, match=r"A model needs PyTorch, which is not installed\. .*pip install 'corruptset\[torch\]'"
        ):
            call()


@pytest.mark.parametrize(
    "broken", ["raise OSError('libtorch_cpu.so: cannot open shared object file')", "import no_such_part"]
)
def test_a_pytorch_that_cannot_be_imported_says_why(tmp_path, broken):
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch/__init__.py").write_text(broken)
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from corruptset.corruptions.models import loading; "
        "loading.import_torch()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    last = done.stderr.splitlines()[-1]
    assert "ModelError: A model needs PyTorch. It is installed, and cannot be imported: " in last
    assert ("libtorch_cpu.so" in last) or ("ModuleNotFoundError: No module named 'no_such_part'" in last)
    assert "pip install" not in last


def test_without_pytorch_mistakes_of_the_file_come_first(without_torch, tmp_path):
    with pytest.raises(ModelError, match="has neither factory nor program"):
        corruptset.load_surrogate(write_file(tmp_path, input=INPUT))


def test_rooms_and_corruptions_are_imported_without_pytorch():
    code = (
        "import sys; sys.modules['torch'] = sys.modules['safetensors'] = None; import pathlib, corruptset;"
        "import corruptset.corruptions.models.surrogate, corruptset.corruptions.models.network;"
        "from corruptset.corruptions.registry import get_corruption;"
        "print(get_corruption('pgd').name, get_corruption('model_gradient').name)"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == "pgd model_gradient\n"
    )


def test_a_model_file_imports_pytorch_only_when_it_is_loaded():
    code = (
        "import sys, corruptset.corruptions.models.surrogate, corruptset.corruptions.adversarial.pgd as _; "
        "print('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


@pytest.mark.ci
def test_a_device_that_is_not_there_is_told(monkeypatch):
    torch = import_torch()
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert check_device("cpu") == "cpu"
    with pytest.raises(
        ModelError, match=r"The device is 'cuda', and PyTorch .* (is built without|finds no) CUDA.*Use --device cpu"
    ):
        check_device("cuda")
    with pytest.raises(ModelError, match="There is no device 'gpu'"):
        check_device("gpu")
    with pytest.raises(ModelError, match="The device is 'meta'; expected cpu or cuda"):
        check_device("meta")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":16:8")
    assert check_device("cuda:1") == "cuda:1"
    with pytest.raises(ModelError, match="The device is 'cuda:2', and there are 2"):
        check_device("cuda:2")


def state(torch):
    return (
        torch.get_num_threads(),
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
        torch.utils.deterministic.fill_uninitialized_memory,
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        torch.random.get_rng_state().tolist(),
    )


@pytest.mark.ci
def test_a_process_keeps_its_settings_and_its_random_numbers():
    torch = import_torch()
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        was = state(torch)
        with repeatable("cpu"):
            assert torch.get_num_threads() == 1
            assert torch.are_deterministic_algorithms_enabled()
            with repeatable("cpu"):
                torch.rand(3)
            assert torch.get_num_threads() == 1
        assert state(torch) == was
        with pytest.raises(ValueError, match="x"), repeatable("cpu"):
            raise ValueError("x")
        assert state(torch) == was
        with torch.inference_mode():
            was = state(torch)
            surrogate = corruptset.load_surrogate(smooth(8, 8, 1))  # its checks go forward and back
            assert state(torch) == was
        assert isinstance(surrogate.path, Path)
    finally:
        torch.set_num_threads(before)
