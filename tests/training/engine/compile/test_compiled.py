"""Steps made by compiled code: equal to the eager ones up to rounding, and to themselves to the bit, however often cut off."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from contextlib import AbstractContextManager
from pathlib import Path

import psutil
import pytest
import torch
from torch import Tensor, nn

from tests.training.stepping import take_step
from tests.training.tiny import tiny, tiny_images, write_idx
from training.cli import main
from training.config import RunConfig, save_config
from training.doctor import preflight
from training.engine import assemble as assembly
from training.engine.assemble import assemble
from training.engine.compile import compile_session, compiled_step, compiler
from training.engine.runs.hooks import Hooks
from training.engine.runs.run import resume_run, start_run
from training.engine.session import Session
from training.errors import InputError
from training.runs.folder import RunFolder
from training.runs.records.forms import StatusRecord
from training.runs.records.manifest import read_manifest
from training.runs.records.series import read_series

WHOLE = ("dataset.samples=320", "loop.ema_decay=0.9", "precision.threads=1")  # 256 to train on: eight batches of 32

SMALL = (*WHOLE, "model.hidden=[16]")  # one layer's kernels less to compile where one layer proves as much

needs_compiler = pytest.mark.skipif(compiler.cpp_compiler() is None, reason="no C++ compiler here")


def step_compiled(*overrides: str) -> RunConfig:
    return tiny("precision.compile=step", *WHOLE, *overrides)


def compiled_by(program: Path) -> AbstractContextManager[None]:
    """Inside, that is the C++ compiler."""
    patched: AbstractContextManager[None] = torch._inductor.config.patch({"cpp.cxx": (None, str(program))})
    return patched


def digests(record: StatusRecord) -> dict[str, str]:
    """Of weights, average and training state."""
    files = read_manifest(Path(str(record.last_checkpoint))).files
    return {name: facts.sha256 for name, facts in files.items()}


def train(session: Session, steps: int) -> tuple[list[tuple[float, float]], dict[str, Tensor]]:
    """Losses and norms, and all that was changed."""
    seen: list[tuple[float, float]] = []
    while len(seen) < steps:
        for window in session.data.steps(session.progress.epoch):
            loss, norm = take_step(session, window)
            seen.append((loss.item(), norm.item()))
        session.progress.end_epoch()
    assert session.ema is not None
    kept = {**session.model.state_dict(), **{f"average {name}": t for name, t in session.ema.shadow.items()}}
    for number, state in session.optimizer.state_dict()["state"].items():
        kept |= {f"{number} {name}": value for name, value in state.items()}
    return seen, {name: tensor.clone() for name, tensor in (*kept.items(), ("dropout", torch.get_rng_state()))}


@pytest.mark.slow
@needs_compiler
def test_compiled_steps_are_the_eager_ones_up_to_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    right, kept = train(assemble(tiny(*SMALL), lambda *_: None), 24)
    session = assemble(step_compiled(*SMALL), lambda *_: None)
    before = {name: tensor.clone() for name, tensor in session.model.state_dict().items()}
    dropout, phases = torch.get_rng_state(), []
    compile_session(session, lambda phase, fraction: phases.append(phase))
    assert phases == ["compiling the step"]
    assert not [
        child for child in psutil.Process().children(recursive=True) if "compile_worker" in str(child.cmdline())
    ]
    assert torch.equal(torch.get_rng_state(), dropout)
    for name, tensor in session.model.state_dict().items():
        assert torch.equal(tensor, before[name]), f"{name} was changed by compiling"
    monkeypatch.setattr("training.engine.compile.compiled_step.train_step", None)  # none of these steps is made by it
    made, ours = train(session, 24)
    assert torch.allclose(torch.tensor(made), torch.tensor(right), rtol=1e-4, atol=1e-6)
    assert list(ours) == list(kept)
    for name in kept:
        assert torch.allclose(ours[name], kept[name], rtol=1e-4, atol=1e-6), name
    weights = {name: tensor.clone() for name, tensor in ours.items() if name != "dropout"}
    assert session.compiled is not None
    window = next(session.data.steps(0))
    batch = next(iter(window))
    batch.inputs[3, 1] = math.nan
    window.stream = iter([batch])
    _, norm = session.compiled(session, window, session.next_lr())
    assert not norm.isfinite()
    now = {**session.model.state_dict(), **{f"average {n}": t for n, t in session.ema.shadow.items()}}  # type: ignore[union-attr]
    for name, tensor in now.items():
        assert torch.equal(tensor, weights[name]), f"{name} was changed by a step that did not take place"


@needs_compiler
@pytest.mark.slow
def test_short_numbers_are_rounded_where_eager_steps_round_them() -> None:
    """Left in float32 between fused operations, weights would be up to 1e-2 (bf16) apart."""
    given = (*SMALL, "precision.compute=bf16")
    right, kept = train(assemble(tiny(*given), lambda *_: None), 24)
    session = assemble(tiny("precision.compile=step", *given), lambda *_: None)
    compile_session(session, lambda *_: None)
    made, ours = train(session, 24)
    assert torch.allclose(torch.tensor(made), torch.tensor(right), rtol=1e-5, atol=1e-6)
    for name in kept:
        assert torch.allclose(ours[name], kept[name], rtol=1e-5, atol=1e-6), name


@pytest.mark.parametrize("compute", ["fp32", "bf16", "fp16"])
@pytest.mark.parametrize("way", ["step", "model"])
def test_torch_is_told_to_time_nothing_and_to_round_as_it_does_itself(
    way: str, compute: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[bool, bool, bool]] = []

    def note(*_: object) -> None:
        options = torch._inductor.config
        told.append((options.fallback_random, options.deterministic, options.emulate_precision_casts))
        raise InputError("seen")

    monkeypatch.setattr(compiled_step, "refuse_without_compiler", lambda device: None)
    monkeypatch.setattr(compiled_step, "CompiledGraph", note)
    monkeypatch.setattr(torch, "compile", lambda model, dynamic: note)
    session = assemble(tiny(f"precision.compute={compute}", f"precision.compile={way}"), lambda *_: None)
    with pytest.raises(InputError, match="seen"):
        compile_session(session, lambda *_: None)
    assert told == [(True, True, compute != "fp32")]


def test_without_a_compiler_nothing_is_begun_and_the_way_out_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_config(step_compiled(), tmp_path / "step.toml")
    with compiled_by(tmp_path / "no-such-compiler"):
        assert main(["run", str(tmp_path / "step.toml"), "--workspace", str(tmp_path)]) == 2
        [error] = [found for found in preflight(step_compiled(), tmp_path) if found.level == "error"]
    text = capsys.readouterr().err
    assert "precision.compile: no C++ compiler was found" in text
    assert "--set precision.compile=off" in text
    assert "Traceback" not in text
    assert not list((tmp_path / "runs").iterdir())
    assert error.fix == {"precision.compile": "off"}


def test_what_another_compiler_made_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = []
    for version in ("g++ 12.2.0", "g++ 14.1.0", "g++ 12.2.0"):
        monkeypatch.delenv("TORCHINDUCTOR_CACHE_DIR", raising=False)
        monkeypatch.setattr(compiler, "compiler_facts", lambda device, said=version: said)
        folders.append(compiler.use_cache_folder(torch.device("cpu")))
    assert folders[0] == folders[2] != folders[1]
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "mine"))
    assert compiler.use_cache_folder(torch.device("cpu")) == tmp_path / "mine"


def test_cuda_graphs_are_refused_where_there_are_none(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"precision\.cuda_graphs: only NVIDIA GPUs have them") as caught:
        start_run(tiny("precision.cuda_graphs=on", "precision.device=cpu"), tmp_path)
    assert caught.value.fix == {"precision.cuda_graphs": "auto"}
    assert start_run(tiny("precision.cuda_graphs=auto", "precision.device=cpu"), tmp_path).status == "completed"


@needs_compiler
@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="a compiler that is a shell script")
def test_a_compiler_that_fails_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "g++"
    broken.write_text(
        '#!/bin/sh\ncase "$*" in *--version*) echo "g++ 0.1"; exit 0;; esac\necho "no space left" >&2\nexit 1\n'
    )
    broken.chmod(0o755)
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "cache"))
    save_config(step_compiled("model.hidden=[15]"), tmp_path / "step.toml")
    with compiled_by(broken):
        assert main(["run", str(tmp_path / "step.toml"), "--workspace", str(tmp_path)]) == 2
    text = capsys.readouterr().err
    assert "precision.compile: this run's step cannot be compiled here: " in text
    assert "Use --set precision.compile=off." in text
    assert "Traceback" not in text


class Counting(nn.Module):
    """Counts its passes in plain Python and computes with the number."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 3)
        self.passes = 0

    def forward(self, inputs: Tensor) -> Tensor:
        self.passes += 1
        result: Tensor = self.layer(inputs) / self.passes
        return result


class Asking(nn.Module):
    """Looks at its numbers to decide how to go on, which no graph can."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 3)

    def forward(self, inputs: Tensor) -> Tensor:
        outputs: Tensor = self.layer(inputs)
        return outputs if outputs.sum().item() > 0 else -outputs


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "words"), [(Counting, "counts or keeps something"), (Asking, "cannot be compiled here: ")]
)
def test_a_model_that_no_graph_can_hold_is_refused(
    model: type[nn.Module], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assembly, "make_model", lambda *_: model())
    with pytest.raises(InputError, match=words) as caught:
        start_run(step_compiled(), tmp_path)
    assert caught.value.fix == {"precision.compile": "off"}


def test_the_reason_is_the_fault_and_not_that_there_was_one() -> None:
    """Bf16 with dropout in attention, as torch tells it."""
    told = (
        "Observed exception\n  Explanation: Dynamo found no exception handler at the top-level compiled function.\n\n"
        '  Developer debug context: raised exception RuntimeError("Dynamo failed to run FX node with fake tensors: '
        "call_function <function _autograd_grad>(*(FakeTensor(..., size=(3, 2)),), **{'create_graph': True}): "
        "got RuntimeError('expected scalar type torch.float32 but found torch.bfloat16')\")"
    )
    said = r"cannot be compiled here: expected scalar type torch\.float32 but found torch\.bfloat16\. Use --set"
    with pytest.raises(InputError, match=said), compiler.explain_compile_errors("precision.compile"):
        raise RuntimeError(told)


@needs_compiler
@pytest.mark.slow
def test_gathered_windows_and_the_network_alone_are_the_same_up_to_rounding(tmp_path: Path) -> None:
    folder = write_idx(tmp_path / "idx")
    right, kept = train(assemble(tiny_images(folder), lambda *_: None), 24)
    for way in ("step", "model"):
        session = assemble(tiny_images(folder, f"precision.compile={way}"), lambda *_: None)
        compile_session(session, lambda *_: None)
        assert (session.compiled is not None, session.forward is not None) == (way == "step", way == "model")
        made, ours = train(session, 24)
        assert torch.allclose(torch.tensor(made), torch.tensor(right), rtol=1e-4, atol=1e-5), way
        for name in kept:
            assert torch.allclose(ours[name], kept[name], rtol=1e-3, atol=1e-5), f"{way} {name}"


@needs_compiler
@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_killed_a_compiled_run_ends_as_if_it_had_never_been(tmp_path: Path) -> None:
    """By the command line, as a person does it."""
    long = (*SMALL, "loop.epochs=40", "checkpoints.every_steps=8")
    save_config(step_compiled(*long), tmp_path / "step.toml")

    def start(*command: str) -> subprocess.Popen[str]:
        line = [sys.executable, "-m", "training", *command, "--workspace", str(tmp_path / "cut"), "--json"]
        return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def kill_behind(process: subprocess.Popen[str], step: int) -> RunFolder:
        deadline = time.monotonic() + 300
        try:
            while time.monotonic() < deadline:
                assert process.poll() is None, "it ended before it could be killed"
                for folder in (tmp_path / "cut" / "runs").glob("*"):
                    if any(int(path.name[5:]) > step for path in (folder / "checkpoints").glob("step-*")):
                        return RunFolder(folder)
                time.sleep(0.01)
            raise AssertionError("no checkpoint came")
        finally:
            process.kill()
            process.communicate()

    folder = kill_behind(start("run", str(tmp_path / "step.toml")), 0)
    last = start("resume", folder.id)
    try:
        output, _ = last.communicate(timeout=300)
    finally:
        last.kill()
    resumed = StatusRecord.model_validate_json(output.strip().splitlines()[-1])
    assert resumed.status == "completed"
    whole = start_run(step_compiled(*long), tmp_path / "whole")
    assert digests(resumed) == digests(whole)
    left, right = (read_series(RunFolder(Path(record.folder)).series_file) for record in (resumed, whole))
    assert left.tobytes() == right.tobytes()
    facts = json.loads(RunFolder(Path(whole.folder)).environment_file.read_text())
    assert facts["compile"] == "step"
    assert facts["compiler"]
    assert facts["compiler"] == compiler.compiler_facts(torch.device("cpu"))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("device", ["cuda:0", "cuda:1"])
@pytest.mark.parametrize("compile_it", ["off", "step"])
@pytest.mark.parametrize("way", [(), ("loop.accumulation=3", "loop.batch_size=16")], ids=str)
def test_recorded_steps_are_the_eager_ones_up_to_rounding(compile_it: str, way: tuple[str, ...], device: str) -> None:
    if int(device[-1]) >= torch.cuda.device_count():
        pytest.skip("needs a second CUDA device")
    here = (*WHOLE, f"precision.device={device}", "model.dropout=0", *way)
    right, kept = train(assemble(tiny(*here), lambda *_: None), 24)
    session = assemble(tiny(*here, "precision.cuda_graphs=on", f"precision.compile={compile_it}"), lambda *_: None)
    compile_session(session, lambda *_: None)
    made, ours = train(session, 24)
    assert torch.allclose(torch.tensor(made), torch.tensor(right), rtol=1e-3, atol=1e-5)
    for name in kept:
        assert torch.allclose(ours[name], kept[name], rtol=1e-3, atol=1e-5), name


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_recorded_run_with_dropout_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    config = tiny(*WHOLE, "precision.device=cuda", "precision.cuda_graphs=on")
    whole = start_run(config, tmp_path / "whole")
    hooks = Hooks()
    hooks.watch = lambda event: hooks.control.request_stop() if event.kind == "epoch_ended" else None
    stopped = start_run(config, tmp_path / "cut", hooks)
    assert digests(resume_run(stopped.run, tmp_path / "cut")) == digests(whole)
