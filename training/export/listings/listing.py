"""What the script of a run says: a RunConfig as settings and lines of plain PyTorch, for the templates to put together."""

from __future__ import annotations

import pprint
import re
import textwrap
from collections.abc import Sequence
from typing import Any

import training
from training.config import RunConfig
from training.config.fields import Section
from training.config.sections.schedule import Constant, OneCycle, WarmupStableDecay
from training.config.sections.user_file import UserFile
from training.errors import InputError
from training.export.bundle import ExportBundle
from training.export.listings.augmentation_listing import describe_augmentation
from training.export.listings.data_listing import describe_data
from training.export.listings.optimizer_listing import (
    clipping,
    describe_averaging,
    describe_freezing,
    describe_optimizer,
)
from training.export.listings.task_listing import describe_task
from training.export.listings.teacher_listing import describe_teacher
from training.export.listings.weights_listing import describe_beginning
from training.export.literals import Setting, code, prose, setting
from training.export.network_listing import describe_network, describe_training
from training.export.source import SecondFile
from training.schedules import describe as describe_schedule
from training.schedules.formulas import ANNEALS, DECAY_SHAPES

_RATES = {
    "one_cycle": "one_cycle(step, total_steps, PCT_START, RATES, {anneal})",
    "constant": "LR",
    "linear": "linear_decay({t}, {length}, LR, END_FACTOR)",
    "cosine": "cosine_annealing({t}, {length}, LR, ETA_MIN)",
    "cosine_restarts": "cosine_warm_restarts({t}, T_0, T_MULT, LR, ETA_MIN)",
    "step": "step_decay({t}, STEP_SIZE, LR, GAMMA)",
    "multi_step": "multi_step_decay({t}, MILESTONES, LR, GAMMA)",
    "exponential": "exponential_decay({t}, LR, GAMMA)",
    "polynomial": "polynomial_decay({t}, {length}, LR, POWER)",
    "wsd": "stable_decay({t}, {length}, decay_steps(DECAY_FRACTION, total_steps, {length}), LR, END_FACTOR, {shape})",
    "plateau": "LR * factor",
}
"""The rate behind the warm-up, by the kind of schedule: a call of ``training.core.schedules``."""
_AUTOCAST = {
    "bf16": "partial(torch.autocast, device.type, torch.bfloat16)",
    "fp16": "partial(torch.autocast, device.type, torch.float16)",
}
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
CONTIGUOUS = ".clone(memory_format=torch.contiguous_format)"
"""Not contiguous(), which leaves images of one channel as they are: channels last for a convolution."""
_WIDTH = 118


def describe_run(bundle: ExportBundle, file: str, beside: Sequence[SecondFile]) -> dict[str, Any]:
    """Everything the templates ask for; ``beside`` are the files that the script imports from. Raises InputError when the dataset's
    folder would be needed and is gone, and where no template says what the run does."""
    config = bundle.config
    if config.loop.after_skips == "roll_back":
        raise InputError(
            "loop.after_skips: a script cannot go back after skipped steps yet; export safetensors, torch-export or onnx instead."
        )
    own_network = isinstance(config.model, UserFile)
    facts: dict[str, Any] = {"makes": "make_model", "own_network": own_network}
    facts |= {} if own_network else describe_network(bundle)
    facts |= describe_data(bundle, file) | describe_augmentation(config) | describe_beginning(bundle)
    facts |= describe_task(bundle) | describe_teacher(bundle, file) | describe_training(bundle)
    facts |= describe_freezing(bundle) | describe_optimizer(bundle) | _schedule(bundle)
    facts |= _loop(bundle, facts)
    slug = re.sub(r"[^a-z0-9]+", "-", config.name.lower()).strip("-") or "run"
    network = f"{facts.get('making')} {facts.get('known')} {' '.join(other.text for other in beside)}"
    packages = ["torch", *(name for name in ("torchvision", "timm") if f"{name}." in network)]
    packages += ["safetensors"] * ("load_file" in network)
    files = [f"{other.module}.py" for other in beside] + [facts["teacher_weights"]] * facts["distils"]
    files += [facts["data_file"]] * bool(facts["data_file"])
    left_out = [] if facts["distils"] else ["teacher"]
    left_out += [] if facts["begins"] or not own_network else ["model"]
    facts |= {
        "name": prose(config.name),
        "version": training.__version__,
        "source": prose(f"{bundle.run.id}, {bundle.checkpoint.name}"),
        "packages": " and ".join([*packages, *facts["data_packages"]]),
        "file": prose(file),
        "beside": f"\nBeside it have to lie: {', '.join(files)}." if files else "",
        "exactness": _exactness(config),
        "description": code(f"Train {config.name}."),
        "out": code(f"{slug}-run"),
        "settings": "\n".join(line for each in _settings(bundle, facts) for line in _lines(*each)),
        "sections": {title: parts for title, parts in _SECTIONS.items() if title not in left_out},
    }
    return facts


def _exactness(config: RunConfig) -> str:
    compiled = config.precision.compile != "off" or config.precision.cuda_graphs != "off"
    return "up to rounding (steps were compiled there)" if compiled else "to the last bit"


def _schedule(bundle: ExportBundle) -> dict[str, Any]:
    config = bundle.config.schedule
    warmup = not isinstance(config, OneCycle) and config.warmup_steps > 0
    behind = " - WARMUP_STEPS" * warmup
    words = {"t": f"step{behind}", "length": f"total_steps{behind}"}
    if isinstance(config, WarmupStableDecay):
        words["shape"] = DECAY_SHAPES[config.decay_shape].__name__
    if isinstance(config, OneCycle):
        words["anneal"] = ANNEALS[config.anneal_strategy].__name__
    rate = _RATES[config.kind].format(**words)
    held = config.kind == "plateau"
    if held and warmup:
        rate = "LR * linear_warmup(step, WARMUP_STEPS, WARMUP_START_FACTOR) * factor"
    length = "total_steps" in rate
    facts = {
        "kind": config.kind,
        "warmup": warmup,
        "rises": warmup and not held,
        "rate": rate,
        "momentum": rate.replace("step,", 'progress["step"],', 1).replace("RATES", "MOMENTA"),
        "uses_length": length,
        "words": "\n    ".join(textwrap.wrap(describe_schedule(config, bundle.config.optimizer.lr), _WIDTH - 10)),
    }
    given = ['progress["step"]', *["total_steps"] * length, *["plateau.factor"] * held]
    return {"schedule": facts, "rate_arguments": ", ".join(given)}


def _loop(bundle: ExportBundle, facts: dict[str, Any]) -> dict[str, Any]:
    config = bundle.config
    loop, checkpoints, precision = config.loop, config.checkpoints, config.precision
    masked = facts["target"] == "mask"
    given = f"{'teacher: nn.Module, ' * facts['distils']}samples: Tensor, {facts['truth']}: Tensor"
    passed = f"{'teacher, ' * facts['distils']}samples, {facts['truth']}{', train' * bool(facts['mixed'])}"
    augmented = f"training_batch({passed}, batch, %s)" if facts["augmented"] else "batch_of(batch)"
    drawn = "[draw_balanced(classes[train].cpu(), SEED, %s)]" if facts["alike"] else ""
    order = f"train{drawn}[permutation(SEED, %s, len(train))]"
    first = "pixels.permute(0, 3, 1, 2)" + CONTIGUOUS * (not facts["channels_last"])
    worst = "-math.inf" if config.maximize else "math.inf"
    counted = f', "counted": {worst}, "stale": 0' if loop.early_stopping_patience else ""
    averages = ', "averages": 0' if loop.ema_decay is not None or loop.swa_start is not None else ""
    monitored = facts["monitored"]
    return {
        "given": given,
        "moving": masked and bool(facts["varied"]),
        "normalized": _normalized(facts),
        "channels_first": first,
        "class_count": len(bundle.facts.names),
        "training_batch": augmented.replace("%s", "epoch"),
        "first_batch": augmented.replace("%s", "0"),
        "order": order.replace("%s", "epoch"),
        "first_order": order.replace("%s", "0"),
        "progress": f'{{"step": 0, "skipped": 0, "best": {worst}{counted}{averages}}}',
        "gain": f'{monitored} - progress["counted"]' if config.maximize else f'progress["counted"] - {monitored}',
        "total_steps": "min(EPOCHS * steps_per_epoch, MAX_STEPS)" if loop.max_steps else "EPOCHS * steps_per_epoch",
        **describe_averaging(bundle),
        "patience": loop.early_stopping_patience,
        "min_delta": "EARLY_STOPPING_MIN_DELTA" if loop.early_stopping_min_delta else "0.0",
        "validation_due": "epoch_ended or finished"
        + " or step % VALIDATE_EVERY_STEPS == 0" * bool(loop.validate_every_steps),
        "save_due": "step % SAVE_EVERY_STEPS == 0" if checkpoints.every_steps else "epoch_ended",
        "maximize": config.maximize,
        "autocast": _AUTOCAST.get(precision.compute, "nullcontext"),
        "scaler": precision.compute == "fp16",
        "weighted": bundle.objective.is_weighted,
        "clip": clipping(loop.clip_norm, loop.clip_value),
        "to_device": ".to(memory_format=torch.channels_last)" * facts["channels_last"] + ".to(device).train()",
        "to_train": "freezing.train()" if facts["frozen"] else "model.train()",
        "device": _device(precision.device),
        "backends": _backends(precision.compute, config.deterministic),
    }


def _normalized(facts: dict[str, Any]) -> str:
    """What makes inputs of samples."""
    if facts["tokens"]:
        return "samples.long()"
    if facts["image"]:
        return "normalize(samples, scale_and_shift(MEAN, STD, 255.0)).permute(0, 3, 1, 2)" + CONTIGUOUS * (
            not facts["channels_last"]
        )
    return "normalize(samples, scale_and_shift(MEAN, STD))" + ".nan_to_num(nan=0.0)" * facts["missing"]


def _device(name: str) -> str:
    if name != "auto":
        return code(name)
    return '"cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"'


def _backends(compute: str, deterministic: bool) -> list[str]:
    lines = ["torch.set_num_threads(THREADS)  # another number sums in another order"]
    if compute == "tf32":
        lines.append('torch.set_float32_matmul_precision("high")  # tf32 on NVIDIA cards')
    else:
        lines.append("torch.backends.cudnn.allow_tf32 = False  # on by default, for convolutions")
    if deterministic:
        lines += [
            'os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")',
            "torch.backends.cudnn.deterministic = True",
            "torch.use_deterministic_algorithms(True)",
        ]
    return lines


def _settings(bundle: ExportBundle, facts: dict[str, Any]) -> list[Setting]:
    """The numbers the run was told, each under its own name in capitals, with the help the form shows."""
    config = bundle.config
    loop, schedule, optimizer = config.loop, config.schedule, config.optimizer
    settings = [setting(config, "seed")]
    settings += facts["data_settings"]
    settings += [setting(loop, name) for name in _present(loop, "epochs", "max_steps", "batch_size")]
    settings += [setting(loop, "accumulation")]
    before = loop.validation_batch_size or 2 * loop.batch_size  # what checkpoints of earlier versions do not say
    evaluation = int(bundle.manifest.get("evaluation_batch_size", before))
    settings.append(("", "EVALUATION_BATCH_SIZE", evaluation))
    if isinstance(schedule, OneCycle):
        settings.append(("The rate at the top.", "MAX_LR", schedule.peak(optimizer.lr)))
        names = ["pct_start", "div_factor", "final_div_factor"]
        names += ["base_momentum", "max_momentum"] * schedule.cycle_momentum
        settings += [setting(schedule, name) for name in names]
        start, three = "MAX_LR / DIV_FACTOR", schedule.three_phase
        rates = f"({start}, MAX_LR, {f'{start}, ' * three}{start} / FINAL_DIV_FACTOR)"
        settings.append(("The rates that it leads through.", "RATES", rates))
        if schedule.cycle_momentum:
            momenta = f"(MAX_MOMENTUM, BASE_MOMENTUM, MAX_MOMENTUM{', MAX_MOMENTUM' * three})"
            settings.append(("The momenta beside them.", "MOMENTA", momenta))
    else:
        settings.append(setting(optimizer, "lr"))
        skipped = {"kind", "decay_shape", "warmup_steps", "warmup_start_factor"}
        names = ["warmup_steps", "warmup_start_factor"] * facts["schedule"]["warmup"]
        names += [name for name in type(schedule).model_fields if name not in skipped]
        settings += [setting(schedule, name) for name in names] if not isinstance(schedule, Constant) or names else []
    settings += facts["weights_settings"] + facts["freezing_settings"]
    settings += [setting(optimizer, "weight_decay")] * facts["grouped"]
    if facts["listed"]:
        settings.append(("The optimizer's groups of parameters.", "GROUPS", facts["listed"]))
    settings += facts["task_settings"] + facts["teacher_settings"]
    names = _present(loop, "clip_norm", "clip_value", "ema_decay", "swa_every_steps", "swa_lr")
    names += ["swa_start"] if facts["swa"] else []  # 0 is a share, too
    names += _present(loop, "validate_every_steps", "early_stopping_patience")
    settings += [setting(loop, name) for name in names]
    if loop.early_stopping_patience and loop.early_stopping_min_delta:
        settings.append(setting(loop, "early_stopping_min_delta"))
    words = "Steps in a row whose gradient is not finite, after which training ends."
    settings.append((words, "MAX_SKIPPED_STEPS", loop.max_skipped_steps))
    if config.checkpoints.every_steps:
        settings.append(("Steps between two checkpoints.", "SAVE_EVERY_STEPS", config.checkpoints.every_steps))
    settings.append(("Threads for the arithmetic, as the run had them.", "THREADS", int(bundle.manifest["threads"])))
    return settings


def _lines(comment: str, name: str, value: Any) -> list[str]:
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


def _present(section: Section, *names: str) -> list[str]:
    return [name for name in names if getattr(section, name)]
