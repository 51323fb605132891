"""The files of a checkpoint: safetensors' own bytes, their digest known when they are written."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save

from training.checkpoints.files import NAMES, HashedFile, write_tensors
from training.runs.records.forms import FileFacts


def test_the_bytes_are_those_of_safetensors(tmp_path: Path) -> None:
    """Every dtype, shapes with nothing in them, names that JSON has to escape or need not."""
    tensors = {}
    for number, dtype in enumerate(reversed(list(NAMES))):
        for shape in ((), (3,), (2, 0), (5, 7, 3)):
            name = f'{("weight", "Gewichtä", "重")[number % 3]}"{number}\t/{shape}'
            tensors[name] = torch.randint(0, 2, shape).to(dtype)
    tensors["channels last"] = torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)
    with HashedFile(tmp_path / "ours") as stream:
        write_tensors(tensors, stream)
    ours = (tmp_path / "ours").read_bytes()
    assert ours == save({name: tensor.contiguous() for name, tensor in tensors.items()}, {"format": "pt"})
    assert stream.facts() == FileFacts(bytes=len(ours), sha256=hashlib.sha256(ours).hexdigest())
    assert load_file(tmp_path / "ours")["channels last"].equal(tensors["channels last"])


def test_a_state_file_is_hashed_while_it_is_written(tmp_path: Path) -> None:
    state = {"a": torch.arange(500_000), "b": [1, "two", None]}
    with HashedFile(tmp_path / "state.pt") as stream:
        torch.save(state, stream)  # type: ignore[arg-type]
    data = (tmp_path / "state.pt").read_bytes()
    assert stream.facts() == FileFacts(bytes=len(data), sha256=hashlib.sha256(data).hexdigest())
    assert torch.load(io.BytesIO(data), weights_only=True)["a"].equal(state["a"])


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no file that is always full")
def test_a_fault_while_torch_writes_is_the_systems_own() -> None:
    with pytest.raises(OSError, match="No space left"), HashedFile(Path("/dev/full")) as stream:
        torch.save({"a": torch.zeros(1_000_000)}, stream)  # type: ignore[arg-type]
