"""A run goes on on another machine: moved folders, moved data, other devices, other versions, and what is said to that."""

from __future__ import annotations

import json
import shutil
import socket
from collections.abc import Callable
from pathlib import Path, PureWindowsPath
from typing import Any

import pytest
import torch

from tests.training.tiny import tiny, tiny_pictures, write_idx
from training.atomic import write_text
from training.checkpoints import load_state
from training.config import RunConfig
from training.engine import assemble, attempt, environment, run
from training.engine.run import Hooks, branch_run, intend_resume, resume_run, start_run
from training.errors import ConfigError, InputError
from training.events import Event, Found
from training.runs.folder import RunFolder, read_json
from training.runs.history import read_history
from training.runs.manifest import MANIFEST, STATE, WEIGHTS, digest, read_manifest, seal
from training.runs.places import PLACES

HERE = socket.gethostname()
SHORT = "loop.max_steps=2"


def stopping(said: list[Event] | None = None, at: int = 4) -> Hooks:
    """Hooks that stop the run at the end of the epoch that reaches step ``at``."""
    hooks = Hooks()

    def watch(event: Event) -> None:
        if said is not None:
            said.append(event)
        if event.kind == "epoch_ended" and getattr(event, "step", 0) >= at:
            hooks.control.request_stop()

    hooks.watch = watch
    return hooks


def listening(said: list[Event]) -> Hooks:
    return Hooks(watch=said.append)


def findings(said: list[Event]) -> list[Found]:
    return [event for event in said if isinstance(event, Found)]


def weights(record: dict[str, Any]) -> str:
    return str(read_manifest(Path(record["last_checkpoint"]))["files"][WEIGHTS]["sha256"])


def carry(folder: RunFolder, to: Path) -> RunFolder:
    """The run folder as a person copies it; nothing stays where it was."""
    shutil.copytree(folder.path, to)
    shutil.rmtree(folder.path)
    return RunFolder(to)


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_idx(tmp_path_factory.mktemp("pictures") / "data")


@pytest.fixture(scope="module")
def whole(pictures: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The weights of the run that was never moved."""
    return weights(start_run(tiny_pictures(pictures), tmp_path_factory.mktemp("whole")))


def begun(pictures: Path, at: Path) -> RunFolder:
    """A run stopped after its first epoch, with data of its own beside the workspace: at/data and at/work/runs/..."""
    shutil.copytree(pictures, at / "data")
    return RunFolder(Path(start_run(tiny_pictures(at / "data"), at / "work", stopping())["folder"]))


def test_a_copied_run_is_the_same_run_with_its_data_somewhere_else(pictures: Path, whole: str, tmp_path: Path) -> None:
    folder = begun(pictures, tmp_path / "old")
    config = folder.config_file.read_bytes()
    moved = carry(folder, tmp_path / "new" / folder.id)
    record = moved.status()
    assert Path(record["last_checkpoint"]).parent == Path(record["best"]["checkpoint"]).parent == moved.checkpoints
    assert Path(record["last_checkpoint"]).is_dir()
    (tmp_path / "old" / "data").rename(tmp_path / "elsewhere")
    with pytest.raises(InputError, match=r"--set dataset\.path"):
        resume_run(str(moved.path), tmp_path)
    stopped = resume_run(str(moved.path), tmp_path, [f"dataset.path={tmp_path / 'elsewhere'}"], stopping(at=8))
    assert (stopped["run"], stopped["status"], stopped["step"]) == (moved.id, "stopped", 8)
    assert moved.config_file.read_bytes() == config
    record = resume_run(str(moved.path), tmp_path)  # told once is enough
    assert record["status"] == "completed"
    assert weights(record) == whole
    assert [event.changes for event in read_history(moved.events_file).attempts][1][0].startswith("dataset.path: ")


def test_a_relative_path_means_the_working_folder(
    pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = begun(pictures, tmp_path / "old")
    (tmp_path / "old" / "data").rename(tmp_path / "elsewhere")
    monkeypatch.chdir(tmp_path)
    assert resume_run(str(folder.path), tmp_path, ["dataset.path=elsewhere"])["run"] == folder.id
    assert read_json(folder.path / PLACES) == {HERE: {"dataset.path": str(tmp_path / "elsewhere")}}


@pytest.mark.parametrize("way", ["resume", "before the first checkpoint", "branch"])
def test_relative_paths_of_a_branch_mean_the_working_folder(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = Path(start_run(tiny(SHORT), tmp_path)["last_checkpoint"])
    parent = start_run(tiny(SHORT), tmp_path)
    checkpoint = Path(parent["last_checkpoint"])
    monkeypatch.chdir(chosen.parent)
    if way == "before the first checkpoint":
        shutil.rmtree(checkpoint.parent)
    wanted = ["objective.kind=distillation", f"objective.teacher={chosen.name}", "loop.max_steps=3"]
    if way == "branch":
        branch = branch_run(checkpoint, tiny(*wanted), tmp_path)
    else:
        branch = resume_run(parent["run"], tmp_path, wanted)
    assert branch["run"] != parent["run"]
    objective = RunFolder(Path(branch["folder"])).config().objective
    assert getattr(objective, "teacher", None) == str(chosen)
    monkeypatch.chdir(tmp_path)
    resumed = resume_run(branch["folder"], tmp_path)
    assert (resumed["run"], resumed["status"]) == (branch["run"], "completed")


def test_paths_that_nobody_typed_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that leads through a link that was set anew is still what the run said, and no reason for a branch."""
    for name in ("first", "second"):
        start_run(tiny(SHORT), tmp_path / name)
    (tmp_path / "link").symlink_to(tmp_path / "first")
    teacher = next((tmp_path / "link" / "runs").iterdir())
    monkeypatch.chdir(tmp_path)
    record = start_run(
        tiny("objective.kind=distillation", f"objective.teacher={teacher}", "loop.max_steps=2"), tmp_path
    )
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to(tmp_path / "second")
    intent = intend_resume(record["run"], tmp_path, ["checkpoints.keep_last=7"])
    assert intent.same_run
    assert [change.path for change in intent.changed] == ["checkpoints.keep_last"]
    same = intend_resume(record["run"], tmp_path, [f"objective.teacher={teacher}"])
    assert not same.changed


def test_data_that_moved_together_with_the_run_is_found(pictures: Path, whole: str, tmp_path: Path) -> None:
    folder = begun(pictures, tmp_path / "old")
    (tmp_path / "old").rename(tmp_path / "new")
    stopped = resume_run(str(tmp_path / "new" / "work" / "runs" / folder.id), tmp_path, hooks=stopping(at=8))
    record = resume_run(stopped["folder"], tmp_path)
    assert record["status"] == "completed"
    assert weights(record) == whole


def test_a_run_from_windows_finds_its_data_beside_it(pictures: Path, tmp_path: Path) -> None:
    folder = begun(pictures, tmp_path / "old")
    windows = PureWindowsPath("D:\\study")
    here = str(tmp_path / "old")
    text = folder.config_file.read_text()
    folder.config_file.write_text(text.replace(f'"{here}/data"', f"'{windows / 'data'}'"))
    status = folder.status() | {"folder": str(windows / "work" / "runs" / folder.id)}
    folder.write_status(status)
    assert intend_resume(str(folder.path), tmp_path).before.dataset.path == str(tmp_path / "old" / "data")  # type: ignore[union-attr]
    assert resume_run(str(folder.path), tmp_path)["status"] == "completed"


def test_other_data_is_refused_and_not_remembered(pictures: Path, tmp_path: Path) -> None:
    folder = begun(pictures, tmp_path / "old")
    other = write_idx(tmp_path / "other", samples=200)
    with pytest.raises(InputError, match="not the one this run was trained on"):
        resume_run(str(folder.path), tmp_path, [f"dataset.path={other}"])
    assert not (folder.path / PLACES).exists()
    assert resume_run(str(folder.path), tmp_path)["status"] == "completed"


@pytest.mark.parametrize(
    "record", ['{"HOST": {"dataset.path": 5, "precision.threads": "many"}}', '{"HOST": [1]}', "[", '{"x": 1}']
)
def test_a_broken_record_of_places_does_no_harm(pictures: Path, tmp_path: Path, record: str) -> None:
    folder = begun(pictures, tmp_path / "old")
    (folder.path / PLACES).write_text(record.replace("HOST", HERE))
    assert resume_run(str(folder.path), tmp_path)["status"] == "completed"


def test_what_was_said_on_another_machine_holds_there_only(pictures: Path, tmp_path: Path) -> None:
    folder = begun(pictures, tmp_path / "old")
    (tmp_path / "old" / "data").rename(tmp_path / "elsewhere")
    there = {"dataset.path": str(tmp_path / "elsewhere"), "precision.threads": 2}
    write_text(folder.path / PLACES, f'{{"another machine": {there}}}'.replace("'", '"'))
    config = intend_resume(str(folder.path), tmp_path).wanted
    assert config.precision.threads is None
    assert config.dataset.path == str(tmp_path / "elsewhere")  # type: ignore[union-attr]  # nodes of a cluster share it


def test_a_branch_of_a_moved_run_knows_where_the_data_is(pictures: Path, tmp_path: Path) -> None:
    folder = begun(pictures, tmp_path / "old")
    (tmp_path / "old" / "data").rename(tmp_path / "elsewhere")
    changes = [f"dataset.path={tmp_path / 'elsewhere'}", "loop.epochs=4", "schedule.kind=constant"]
    record = resume_run(str(folder.path), tmp_path, changes)
    assert record["parent"]["run"] == folder.id
    assert RunFolder(Path(record["folder"])).config().dataset.path == str(tmp_path / "elsewhere")  # type: ignore[union-attr]
    assert len(read_history(RunFolder(Path(record["folder"])).events_file).epochs) == 4


# --------------------------------------------------------------------------------------------- devices and versions


def begun_elsewhere(config: RunConfig, workspace: Path, monkeypatch: pytest.MonkeyPatch, **facts: Any) -> RunFolder:
    """A run stopped at step 8 on a machine that differs from this one in ``facts``."""
    real = environment.environment

    def told(*arguments: Any) -> dict[str, Any]:
        return {**real(*arguments), **facts}

    with monkeypatch.context() as there:
        there.setattr(attempt, "environment", told)
        if "device_type" in facts:  # its device computes as the processor does, so that bits can be compared
            for module in (run, assemble, attempt):
                there.setattr(module, "choose_device", lambda name: torch.device("cpu"))
        return RunFolder(Path(start_run(config, workspace, stopping(at=8))["folder"]))


GPU = {
    "device_type": "cuda", "device_name": "NVIDIA H100", "device": "NVIDIA H100 (cuda:1)", "device_index": 1,
    "cudnn": 92000, "driver": "570.1", "threads": 48,
}  # fmt: skip
no_gpu = pytest.mark.skipif(torch.cuda.is_available(), reason="is about machines without a GPU")


@no_gpu
@pytest.mark.parametrize("name", ["auto", "cuda", "cuda:1", "mps"])
def test_a_run_from_a_gpu_goes_on_on_the_processor_and_says_what_that_means(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    folder = begun_elsewhere(tiny(f"precision.device={name}"), tmp_path, monkeypatch, **GPU)
    said: list[Event] = []
    record = resume_run(str(folder.path), tmp_path, hooks=listening(said))
    assert (record["run"], record["status"]) == (folder.id, "completed")
    differs = next(item for item in findings(said) if "not to the bit" in item.title)
    assert differs.level == "warning"
    assert "kind of device cuda → cpu" in differs.advice
    assert "another generator" in differs.advice
    assert "threads" not in differs.advice  # those of a GPU machine's processor decided nothing
    asked = [item for item in findings(said) if f"asks for {name}" in item.title]
    assert len(asked) == (name != "auto")
    assert all("precision.device=cpu" in item.advice for item in asked)
    assert read_history(folder.events_file).attempts[-1].environment["threads"] == 1  # chosen for this machine
    assert not (folder.path / PLACES).exists()  # with a GPU again, it goes back there


@no_gpu
def test_a_device_chosen_for_this_machine_is_kept_and_one_it_lacks_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = begun_elsewhere(tiny("precision.device=cuda"), tmp_path, monkeypatch, **GPU)
    with pytest.raises(ConfigError, match=r"precision\.device"):
        resume_run(str(folder.path), tmp_path, ["precision.device=cuda:3"])
    stopped = resume_run(str(folder.path), tmp_path, ["precision.device=cpu"], stopping(at=16))
    said: list[Event] = []
    assert stopped["run"] == folder.id
    assert resume_run(str(folder.path), tmp_path, hooks=listening(said))["status"] == "completed"
    assert findings(said) == []  # the attempt before was here already


@no_gpu
def test_a_run_cut_off_before_its_first_checkpoint_begins_again_on_what_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = start_run(tiny(), tmp_path)
    folder = begun_elsewhere(tiny("precision.device=cuda"), tmp_path, monkeypatch, **GPU)
    shutil.rmtree(folder.checkpoints)
    folder.checkpoints.mkdir()
    folder.series_file.write_bytes(b"")
    said: list[Event] = []
    record = resume_run(str(folder.path), tmp_path, ["precision.threads=1"], listening(said))
    assert weights(record) == weights(whole)
    assert any("asks for cuda" in item.title for item in findings(said))
    assert read_json(folder.path / PLACES) == {HERE: {"precision.threads": 1}}


@pytest.mark.parametrize(
    ("facts", "level", "words"),
    [
        ({"torch": "2.0.1"}, "warning", "torch 2.0.1 → "),
        ({"instructions": "AVX2"}, "warning", "processor instructions AVX2 → "),
        ({"optimizer": "foreach"}, "warning", "optimizer kernels foreach → fused"),
        ({"threads": 7}, "warning", "threads 7 → 1"),
        ({"processor": "Another 3000"}, "info", "the processor Another 3000 → "),
        ({"variables": {"MKL_CBWR": "AVX2"}}, "info", "MKL_CBWR AVX2 → none"),
        ({"python": "3.9.1", "numpy": "1.0"}, "info", "Python 3.9.1 → "),
        ({"cuda": "11.0", "driver": "1"}, "info", "the driver 1 → none"),  # a processor run does not use CUDA
        ({"code": {"trainwright": {"commit": "f" * 40, "dirty": True}}}, "info", "ffffffffffff with changes → "),
    ],
)
def test_other_surroundings_are_told_by_what_they_mean(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, facts: dict[str, Any], level: str, words: str
) -> None:
    if "threads" in facts:  # the number is kept on resume: only a person's own choice can change it
        config, overrides = tiny("precision.threads=7"), ["precision.threads=1"]
    else:
        config, overrides = tiny(), []
    folder = begun_elsewhere(config, tmp_path, monkeypatch, **facts)
    said: list[Event] = []
    record = resume_run(str(folder.path), tmp_path, overrides, listening(said))
    assert (record["run"], record["status"]) == (folder.id, "completed")
    [finding] = findings(said)
    assert finding.level == level
    assert words in finding.advice
    assert finding.step == 8


def test_the_same_surroundings_need_no_word(tmp_path: Path) -> None:
    stopped = start_run(tiny(), tmp_path, stopping(at=8))
    said: list[Event] = []
    resume_run(stopped["folder"], tmp_path, hooks=listening(said))
    assert findings(said) == []


def test_a_run_keeps_its_threads_and_says_when_the_machine_is_smaller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as there:
        there.setattr(assemble, "choose_threads", lambda *_: 3)
        folder = RunFolder(Path(start_run(tiny(), tmp_path, stopping(at=8))["folder"]))
    machine = environment._machine()
    monkeypatch.setattr(environment, "_machine", lambda: {**machine, "cores": 2})
    said: list[Event] = []
    resume_run(str(folder.path), tmp_path, hooks=stopping(said, at=16))
    assert [event.environment["threads"] for event in read_history(folder.events_file).attempts] == [3, 3]
    finding = next(item for item in findings(said) if "keeps its 3 threads" in item.title)
    assert finding.fix == {"precision.threads": 2}
    resume_run(str(folder.path), tmp_path, ["precision.threads=2"], stopping(at=24))
    assert read_history(folder.events_file).attempts[-1].environment["threads"] == 2
    assert read_json(folder.path / PLACES) == {HERE: {"precision.threads": 2}}


def as_if_from_gpus(folder: RunFolder, change: Callable[[dict[str, Any]], None]) -> None:
    """Rewrite the newest checkpoint's training state, as another machine would have written it."""
    checkpoint = max(folder.checkpoints.iterdir())
    state = load_state(checkpoint)
    change(state)
    torch.save(state, checkpoint / STATE)
    manifest = read_json(checkpoint / MANIFEST)
    manifest["files"][STATE] = {"bytes": (checkpoint / STATE).stat().st_size, "sha256": digest(checkpoint / STATE)}
    (checkpoint / MANIFEST).write_text(json.dumps(seal(manifest)))


@no_gpu
@pytest.mark.parametrize("form", ["fused", "capturable foreach"])
def test_a_checkpoint_from_gpus_loads_on_the_processor_and_keeps_what_is_theirs(tmp_path: Path, form: str) -> None:
    whole = start_run(tiny(), tmp_path)
    folder = RunFolder(Path(start_run(tiny(), tmp_path, stopping(at=8))["folder"]))
    generators = [torch.arange(16, dtype=torch.uint8), torch.arange(16, 32, dtype=torch.uint8)]

    def change(state: dict[str, Any]) -> None:
        state["rng"]["cuda"] = generators
        state["scaler"] = {
            "scale": 65536.0, "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 2000, "_growth_tracker": 1
        }  # fmt: skip
        for group in state["optimizer"]["param_groups"]:
            group.update(fused=form == "fused", foreach=form != "fused", capturable=form != "fused")

    as_if_from_gpus(folder, change)
    record = resume_run(str(folder.path), tmp_path)
    assert record["status"] == "completed"
    kept = load_state(Path(record["last_checkpoint"]))["rng"]["cuda"]
    assert all(torch.equal(one, other) for one, other in zip(kept, generators, strict=True))
    if form == "fused":  # what computes is the same as here, so every bit is
        assert weights(record) == weights(whole)
    branch = branch_run(Path(record["last_checkpoint"]), tiny("loop.epochs=4", "precision.compute=fp16"), tmp_path)
    assert branch["status"] == "completed"


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("compute", ["fp32", "tf32", "bf16", "fp16"])
@pytest.mark.parametrize("optimizer", ["adamw", "adam", "sgd"])
def test_to_the_processor_and_back_to_the_gpu(tmp_path: Path, optimizer: str, compute: str) -> None:
    choice = (f"optimizer.kind={optimizer}", f"precision.compute={compute}", "loop.ema_decay=0.9", "loop.epochs=4")
    folder = RunFolder(Path(start_run(tiny(*choice, "precision.device=cuda"), tmp_path, stopping(at=8))["folder"]))
    said: list[Event] = []
    resume_run(str(folder.path), tmp_path, ["precision.device=cpu"], stopping(said, at=16))
    assert any("kind of device cuda → cpu" in item.advice for item in findings(said))
    generators = [load_state(path)["rng"]["cuda"] for path in sorted(folder.checkpoints.iterdir())]
    assert all(len(states) == torch.cuda.device_count() for states in generators)
    record = resume_run(str(folder.path), tmp_path, ["precision.device=cuda"])
    assert (record["run"], record["status"], record["step"]) == (folder.id, "completed", 32)
    assert record["skipped_steps"] == 0 or compute == "fp16"
    devices = [event.environment["device_type"] for event in read_history(folder.events_file).attempts]
    assert devices == ["cuda", "cpu", "cuda"]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_on_the_same_gpu_nothing_differs(tmp_path: Path) -> None:
    config = tiny("precision.device=cuda", "deterministic=true")
    whole = start_run(config, tmp_path)
    folder = RunFolder(Path(start_run(config, tmp_path, stopping(at=8))["folder"]))
    said: list[Event] = []
    record = resume_run(str(folder.path), tmp_path, hooks=listening(said))
    assert findings(said) == []
    assert weights(record) == weights(whole)
