"""The run as one plain PyTorch file, checked against the engine before it is handed over."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO

import torch
from torch import nn

import training
from training.config.rules.schedule_problems import goes_by_epochs
from training.config.sections.data.own_data import OwnDataSection
from training.config.sections.objective import OwnLoss
from training.config.sections.schedule import OneCycle, ScheduleSection
from training.config.sections.user_file import UserFile
from training.core import counter_rng
from training.core.batch_plan import BatchPlan
from training.core.durations import count_duration
from training.data.augment import Augmenter
from training.errors import InputError, TrainingError, format_bytes
from training.export.bundle import SAMPLES, ExportBundle
from training.export.check_eval import has_same_evaluation
from training.export.listings.data_listing import data_name, has_same_draws
from training.export.listings.listing import render_script
from training.export.listings.optimizer_listing import has_same_freezing
from training.export.listings.prepared_tensors import draws_anew, is_prepared, read_size, refuse_large
from training.export.listings.rows_listing import has_same_rows
from training.export.listings.teacher_listing import has_same_teacher, render_teacher, teacher_bytes
from training.export.listings.weights_listing import has_same_beginning, has_same_state
from training.export.own_network import write_own_dataset, write_own_loss, write_own_module
from training.export.place import make_parents, remove_made
from training.export.source import SecondFile, import_source, module_beside
from training.models import make_model
from training.models.networks.stages import stages
from training.optim import parameter_groups
from training.protocol.answers import ExportResult
from training.runs.export_place import MARK, refuse_to_overwrite
from training.runs.records.exports import ExportNote, ProofSummary, note_export
from training.runs.records.manifest import digest
from training.schedules import make_schedule
from training.schedules.formulas import ANNEALS
from training.schedules.schedule import Span
from training.system.atomic import write_stream
from training.system.untrusted import MEGABYTE, read_bytes
from training.tutorial.literals import prose
from training.typed_paths import parse_path

_TRIED_STEPS = 1000


def export_script(
    load: Callable[[], ExportBundle],
    out: Path,
    large_data: bool = False,
    tell: Callable[[str], None] = lambda words: None,
) -> ExportResult:
    """Write the run of a checkpoint as a script to ``out``, a path ending in .py, and beside it the teacher of a run that
    distills and the samples of data that no script reads by itself. ``tell`` hears how large those are before they are
    written; ``large_data`` says that they may be. Raises InputError when it cannot be."""
    out = parse_path(out).absolute()
    refuse_to_overwrite(out)
    bundle = load()
    if bundle.config.loop.slots > 1:
        raise InputError(
            f"loop.slots: the run cut its batches into {bundle.config.loop.slots} slots, which a script does not do, so its dropout and "
            "batch normalization would be other ones.",
            "Export the short script for several processes (--to accelerate), or the weights (--to safetensors).",
        )
    data = out.with_name(data_name(out.name))
    if not large_data:
        refuse_large(read_size(bundle.run), data)
    files: dict[Path, Callable[[BinaryIO], object]] = {}
    size = ""
    if bundle.prepared is not None:
        if not large_data:
            refuse_large(bundle.prepared.size, data)
        if data.exists() and not is_prepared(data):
            raise InputError(f"{data}: is there already and not an export of ours; choose another name for the script.")
        files[data] = bundle.prepared.write
        size = f" ({format_bytes(bundle.prepared.size)})"
        tell(f"The samples go beside the script, into {data}{size}.")
    beside = render_beside(bundle, out.name)
    text = render_script(bundle, out.name, beside)
    for file in beside:
        refuse_to_overwrite(out.with_name(f"{file.module}.py"))
        files[out.with_name(f"{file.module}.py")] = as_writer(file.text.encode())
    if bundle.teacher is not None:
        weights = out.with_name(f"{module_beside('teacher', out.name)}.pt")
        if weights.exists() and not weights.with_suffix(".py").exists():
            raise InputError(
                f"{weights}: is there already and not an export of ours; choose another name for the script."
            )
        files[weights] = as_writer(teacher_bytes(bundle))
    earlier = keep_earlier(out, text, files)
    files[out] = as_writer(text.encode())
    difference = prove_script(bundle, text, beside)
    write_files(files)
    return ExportResult(
        format="script",
        path=str(out),
        files=tuple(str(path) for path in reversed(files)),
        max_difference=difference,
        summary=f"Exported the run as a script to {out}; its initial weights, order, rates and weight decay equal the "
        f"run's, and its model on {SAMPLES} samples: largest difference {difference:.3g}."
        + (f" It reads its samples from {data.name} beside it{size}." if size else "")
        + earlier
        + _note_script(bundle, out, difference),
    )


def _note_script(bundle: ExportBundle, out: Path, difference: float) -> str:
    if not bundle.run.config_file.is_file():
        return ""
    note = ExportNote(
        path=str(out),
        format="script",
        bytes=out.stat().st_size,
        sha256=digest(out),
        step=bundle.manifest.step,
        checkpoint=bundle.checkpoint.name,
        time=time.time(),
        proof=ProofSummary(samples=SAMPLES, part="", max_difference=difference),
    )
    return note_export(bundle.run, note)


def keep_earlier(out: Path, text: str, files: dict[Path, Callable[[BinaryIO], object]]) -> str:
    """Have another script at ``out`` written among ``files`` beside ``text``, which takes its place: a person may have worked on it.
    Returns the sentence that says so, "" where there is none."""
    earlier = read_bytes(out, MEGABYTE) if out.exists() else b""
    if earlier in (b"", text.encode()):
        return ""
    kept = out.with_name(f"{out.name}.bak")
    files[kept] = as_writer(earlier)
    return f" The script that was there is {kept.name} now."


def as_writer(data: bytes) -> Callable[[BinaryIO], object]:
    """What writes ``data`` into a file."""
    return lambda stream: stream.write(data)


def write_files(files: dict[Path, Callable[[BinaryIO], object]]) -> None:
    """Write all of them into one folder, or none that was not there before."""
    new, made = [path for path in files if not path.exists()], []
    out = [*files][-1]
    try:
        made = make_parents(out.parent)
        for path, write in files.items():
            write_stream(path, write)
    except BaseException as error:
        for path in new:
            with suppress(OSError):
                path.unlink(missing_ok=True)
        remove_made(made)
        if isinstance(error, OSError):
            raise InputError(f"{out}: cannot be written ({error.strerror}); choose another place.") from error
        raise


def render_beside(bundle: ExportBundle, file: str) -> list[SecondFile]:
    """What the script ``file`` imports: a person's own network, loss and Dataset, and the teacher of a run that distills."""
    found, config = [], bundle.config.model
    if isinstance(config, UserFile):
        words = f"The network that {prose(file)} trains. {MARK}{training.__version__}: below are its own words."
        text = write_own_module(config, bundle.code_file, bundle.facts, bundle.objective.outputs, "make_model", words)
        found.append(SecondFile(module_beside("network", file), text, "make_model"))
    objective = bundle.config.objective
    if isinstance(objective, OwnLoss):
        code = bundle.run.loss_code_file
        words = f"The loss that {prose(file)} minimizes. {MARK}{training.__version__}: below are its own words."
        text = write_own_loss(objective, code, bundle.objective.outputs, words)
        found.append(SecondFile(module_beside("loss", file), text, "make_loss"))
    dataset = bundle.config.dataset
    if isinstance(dataset, OwnDataSection) and draws_anew(bundle.config):
        words = f"The Dataset that {prose(file)} trains on. {MARK}{training.__version__}: below are its own words."
        text = write_own_dataset(dataset, bundle.run.dataset_code_file, words)
        found.append(SecondFile(module_beside("dataset", file), text, "make_dataset"))
    if bundle.teacher is not None:
        found.append(render_teacher(bundle, file))
    return found


def prove_script(bundle: ExportBundle, text: str, beside: Iterable[SecondFile] = ()) -> float:
    """Compare what the script computes with the engine, part by part; returns the largest difference of a logit. ``beside`` are
    the files that it imports from.

    Initial weights, order of samples, learning rates, weight decay and normalization must be equal to the bit; so must the logits of the
    checkpoint's weights in the script's model. Raises TrainingError, naming the part, when they are not.
    """
    with ExitStack() as imported:
        for file in beside:
            imported.enter_context(import_source(file.text, file.module))
        return _compare(bundle, imported.enter_context(import_source(text, "exported_script")))


def _compare(bundle: ExportBundle, script: ModuleType) -> float:
    config = bundle.config
    torch_state = torch.get_rng_state()
    try:
        torch.default_generator.manual_seed(config.seed)
        model = script.make_model()
    finally:
        torch.set_rng_state(torch_state)
    ours = make_model(config.model, bundle.facts, bundle.objective.outputs, config.seed, bundle.code_file)
    _require(has_same_state(model, ours), "initial weights")
    _require(has_same_beginning(bundle, script, model, ours), "known weights")
    order = counter_rng.permutation(config.seed, 1, _TRIED_STEPS)
    _require(torch.equal(script.permutation(config.seed, 1, _TRIED_STEPS), order), "order of samples")
    _require(has_same_rows(bundle, script), "data")
    if not has_same_draws(bundle, script):
        raise InputError(
            "dataset.path: the script would draw other samples than the run, which seeds what the file draws while it is imported; draw in "
            "build or __getitem__ and train with that, or export safetensors, torch-export or onnx instead."
        )
    _require(_has_same_augmentation(bundle, script), "augmentation")
    _require(_has_same_rates(bundle, script), "learning rates")
    _require(has_same_freezing(bundle, script, model, ours), "frozen parts")
    groups = script.make_optimizer(model).param_groups
    wanted = parameter_groups(ours, config.optimizer, stages(ours))
    _require(_map_setting(groups, model, "weight_decay") == _map_setting(wanted, ours, "weight_decay"), "weight decay")
    _require(
        _map_setting(groups, model, "lr_scale") == _map_setting(wanted, ours, "lr_scale"),
        "factors of the learning rate",
    )
    difference = _compare_logits(bundle, script, model)
    _require(has_same_teacher(bundle, script), "teacher")
    _require(has_same_evaluation(bundle, script), "loss or metric")
    return difference


def _require(same: bool, what: str) -> None:
    if not same:
        raise TrainingError(
            f"The script's {what} would differ from the run's; nothing was exported.",
            "Choose another format, and tell us.",
        )


def _has_same_augmentation(bundle: ExportBundle, script: ModuleType) -> bool:
    if not hasattr(script, "augment"):
        return True
    images = bundle.samples().permute(0, 2, 3, 1).contiguous()
    numbers, masked = torch.arange(len(images)), bundle.facts.target == "mask"
    if masked:
        images = torch.cat([images, images[..., :1] % len(bundle.facts.names)], dim=3)
    ours = Augmenter(bundle.config.dataset, bundle.config.seed, mask=masked)(images, numbers, 1)
    return torch.equal(script.augment(images, numbers, 1), ours)


def _has_same_rates(bundle: ExportBundle, script: ModuleType) -> bool:
    config, loop, samples = bundle.config.schedule, bundle.config.loop, bundle.manifest.data.training_samples
    drop_last = bundle.config.loader.drop_last
    per_epoch = BatchPlan.of_samples(samples or _TRIED_STEPS, loop.batch_size, loop.accumulation, drop_last).steps
    total = loop.total_steps(per_epoch)
    if samples is None and isinstance(
        config, ScheduleSection
    ):  # an earlier version did not say: then it counts in steps
        total = _TRIED_STEPS + count_duration(config.warmup, _TRIED_STEPS, per_epoch)
    span = Span(total, per_epoch, goes_by_epochs(config))
    schedule = make_schedule(config, bundle.config.optimizer.lr, span.total_steps, per_epoch)
    rate, momenta = script.learning_rate, getattr(script, "MOMENTA", None)
    values = {"total_steps": span.total_steps, "steps_per_epoch": per_epoch, "factor": 1.0}
    wanted = {name: value for name, value in values.items() if name in inspect.signature(rate).parameters}
    anneal = ANNEALS[config.anneal_strategy].__name__ if isinstance(config, OneCycle) else ""

    def momentum(step: int) -> float | None:
        unit = span.unit(step)
        return momenta and script.one_cycle(unit, span.total, script.PCT_START, momenta, getattr(script, anneal))

    return all(
        (rate(step, **wanted), momentum(step)) == (schedule.lr(step), schedule.momentum(step))
        for step in range(0, span.total_steps, max(span.total_steps // _TRIED_STEPS, 1))
    )


def _map_setting(groups: list[dict[str, Any]], model: nn.Module, setting: str) -> dict[str, float]:
    """A setting of each parameter's group by the parameter's name; 1 where it has none."""
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    return {names[id(parameter)]: group.get(setting, 1.0) for group in groups for parameter in group["params"]}


def _compare_logits(bundle: ExportBundle, script: ModuleType, model: nn.Module) -> float:
    model.load_state_dict(bundle.model.state_dict())
    samples = bundle.samples()
    expected = bundle.normalization.apply(samples)
    inputs = script.make_inputs(samples.permute(0, 2, 3, 1) if bundle.facts.layout == "image" else samples)
    _require(torch.equal(inputs, expected), "normalization")
    with torch.inference_mode():
        found, own = model.eval()(expected), bundle.model(expected)
    # A run that went astray may be taken home as code, too: then both answer NaN.
    _require(torch.allclose(found, own, rtol=0.0, atol=0.0, equal_nan=True), "model")
    return float((found - own).abs().nan_to_num().max())
