"""What the script of a run says: a RunConfig as settings and lines of plain PyTorch, for the templates to put together."""

from __future__ import annotations

import pprint
import re
import textwrap
from collections.abc import Iterator, Sequence

from training.config import RunConfig
from training.config.fields import Section
from training.config.sections.schedule import OneCycle
from training.config.sections.user_file import UserFile
from training.errors import InputError
from training.export.bundle import ExportBundle
from training.export.listings.augmentation_listing import describe_augmentation
from training.export.listings.data_listing import describe_data
from training.export.listings.optimizer_listing import (
    describe_averaging,
    describe_freezing,
    describe_optimizer,
    write_clipping,
)
from training.export.listings.schedule_listing import ScheduleListing, describe_schedule
from training.export.listings.task_listing import describe_task
from training.export.listings.teacher_listing import describe_teacher
from training.export.listings.weights_listing import describe_weights
from training.export.network_listing import describe_network, examine_training
from training.export.source import SecondFile, name_source, render_source
from training.tutorial.literals import Setting, code, prose, setting

_AUTOCAST = {
    "bf16": "partial(torch.autocast, device.type, torch.bfloat16)",
    "fp16": "partial(torch.autocast, device.type, torch.float16)",
}
_DEVICE = '"cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"'
_SECTIONS = {
    "settings": ["settings"],
    "core: randomness is a function of seed, purpose, epoch and sample, so a resume needs no state of it": ["core"],
    "data": ["data", "batches"],
    "model": ["model"],
    "teacher": ["teaching"],
    "optimizer, schedule, loss and metric": ["optimizer", "schedule", "objective"],
    "training": ["main"],
}
"""The titles and templates of a script's sections, in their order."""
_WIDTH = 118


def render_script(bundle: ExportBundle, file: str, beside: Sequence[SecondFile] = ()) -> str:
    """The script's text; ``file`` is the name it will have, ``beside`` are the files that it imports from. Raises InputError
    when the dataset's folder would be needed and is gone, and where no template says what the run does."""
    config = bundle.config
    if config.loop.after_skips == "roll_back":
        raise InputError(
            "loop.after_skips: a script cannot go back after skipped steps yet; export safetensors, torch-export or onnx instead."
        )
    network = None if isinstance(config.model, UserFile) else describe_network(bundle)
    data, weights, teacher = describe_data(bundle, file), describe_weights(bundle), describe_teacher(bundle, file)
    task, schedule = describe_task(bundle), describe_schedule(bundle)
    freezing, optimizer = describe_freezing(bundle), describe_optimizer(bundle)
    slug = re.sub(r"[^a-z0-9]+", "-", config.name.lower()).strip("-") or "run"
    known = weights.known if weights else ""
    text = " ".join([*(network.making if network else []), known, *(other.text for other in beside)])
    packages = ["torch", *(name for name in ("torchvision", "timm") if f"{name}." in text)]
    packages += [*["safetensors"] * ("load_file" in text), *data.reading.packages]
    files = [f"{other.module}.py" for other in beside] + ([teacher.weights] if teacher else [])
    files += [data.file] * bool(data.file)
    present = {"teacher": teacher is not None, "model": bool(weights or network)}
    settings = [
        *[setting(config, "seed"), *data.settings],
        *_loop_settings(bundle),
        *_rate_settings(config, schedule),
        *[*(weights.settings if weights else []), *freezing, *optimizer.settings],
        *[*task.settings, *(teacher.settings if teacher else [])],
        *_end_settings(bundle),
    ]
    return render_source(
        "script.jinja",
        beside,
        config=config,
        facts=bundle.facts,
        objective=bundle.objective,
        network=network,
        traits=examine_training(bundle),
        data=data,
        missing=bundle.normalization.missing,
        augmentation=describe_augmentation(config),
        weights=weights,
        teacher=teacher,
        freezing=freezing,
        task=task,
        optimizer=optimizer,
        schedule=schedule,
        averaging=describe_averaging(bundle),
        autocast=_AUTOCAST.get(config.precision.compute, "nullcontext"),
        clip=write_clipping(config.loop.clip_norm, config.loop.clip_value),
        device=_DEVICE if config.precision.device == "auto" else code(config.precision.device),
        name=prose(config.name),
        source=name_source(bundle.checkpoint),
        packages=" and ".join(packages),
        file=prose(file),
        files=", ".join(files),
        description=code(f"Train {config.name}."),
        out=code(f"{slug}-run"),
        settings="\n".join(line for each in settings for line in _lines(*each)),
        sections={title: parts for title, parts in _SECTIONS.items() if present.get(title, True)},
    )


def _loop_settings(bundle: ExportBundle) -> Iterator[Setting]:
    """The numbers the run was told, each under its own name in capitals, with the help the form shows."""
    loop = bundle.config.loop
    yield from _present(loop, "epochs", "max_steps", "batch_size")
    yield setting(loop, "accumulation")
    before = loop.validation_batch_size or 2 * loop.batch_size  # what checkpoints of earlier versions do not say
    yield Setting("", "EVALUATION_BATCH_SIZE", bundle.manifest.evaluation_batch_size or before)


def _rate_settings(config: RunConfig, listed: ScheduleListing) -> Iterator[Setting]:
    schedule = config.schedule
    if not isinstance(schedule, OneCycle):
        yield setting(config.optimizer, "lr")
        skipped = {"kind", "every", "decay_shape", "warmup", "warmup_start_factor"}
        names = ["warmup", "warmup_start_factor"] * listed.warmup
        names += [name for name in type(schedule).model_fields if name not in skipped]
        yield from (setting(schedule, name) for name in names)
        return
    yield Setting("The rate at the top.", "MAX_LR", schedule.peak(config.optimizer.lr))
    names = ["pct_start", "div_factor", "final_div_factor"]
    names += ["base_momentum", "max_momentum"] * schedule.cycle_momentum
    yield from (setting(schedule, name) for name in names)
    start, three = "MAX_LR / DIV_FACTOR", schedule.three_phase
    rates = f"({start}, MAX_LR, {f'{start}, ' * three}{start} / FINAL_DIV_FACTOR)"
    yield Setting("The rates that it leads through.", "RATES", rates)
    if schedule.cycle_momentum:
        momenta = f"(MAX_MOMENTUM, BASE_MOMENTUM, MAX_MOMENTUM{', MAX_MOMENTUM' * three})"
        yield Setting("The momenta beside them.", "MOMENTA", momenta)


def _end_settings(bundle: ExportBundle) -> Iterator[Setting]:
    loop, every = bundle.config.loop, bundle.config.checkpoints.every_steps
    yield from _present(loop, "clip_norm", "clip_value", "ema_decay", "swa_every_steps", "swa_lr")
    if loop.swa_start is not None:  # 0 is a share, too
        yield setting(loop, "swa_start")
    yield from _present(loop, "validate_every_steps", "early_stopping_patience")
    if loop.early_stopping_patience:
        yield from _present(loop, "early_stopping_min_delta")
    if loop.stopping_threshold is not None:
        yield setting(loop, "stopping_threshold")
    words = "Steps in a row whose gradient is not finite, after which training ends."
    yield Setting(words, "MAX_SKIPPED_STEPS", loop.max_skipped_steps)
    if every:
        yield Setting("Steps between two checkpoints.", "SAVE_EVERY_STEPS", every)
    yield Setting("Threads for the arithmetic, as the run had them.", "THREADS", bundle.manifest.threads)


def _lines(comment: str, name: str, value: object) -> list[str]:
    """An assignment with its comment, beside it where that fits and else above."""
    text = (
        value
        if isinstance(value, str)
        else pprint.pformat(value, width=_WIDTH - len(name) - 3, compact=True, sort_dicts=False)
    )
    text = text.replace("\n", "\n" + " " * (len(name) + 3))
    assignment = f"{name} = {text}"
    if not comment:
        return [assignment]
    if len(assignment) + len(comment) + 4 <= _WIDTH and "\n" not in text:
        return [f"{assignment}  # {comment}"]
    return [f"# {line}" for line in textwrap.wrap(comment, _WIDTH - 2)] + [assignment]


def _present(section: Section, *names: str) -> list[Setting]:
    return [setting(section, name) for name in names if getattr(section, name)]
