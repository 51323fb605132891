"""The run of a configuration as the short script: its settings, data, network and loop put together."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import training
from training import catalog
from training.config import RunConfig
from training.config.rules.schedule_problems import goes_by_epochs
from training.config.sections import objective as tasks
from training.config.sections.data.dataset_section import DatasetSection
from training.config.sections.data.tables import RankingDataset
from training.config.sections.multi_task import MultiTask
from training.config.sections.objective_section import ObjectiveSection
from training.config.sections.schedule import ScheduleSection
from training.core.durations import read_duration
from training.errors import InputError
from training.metric_names import metric
from training.tutorial.assembly import count_network, fill_in
from training.tutorial.augmentation import describe_augmentation
from training.tutorial.data import DataText, augmentation_chain, describe_data
from training.tutorial.left_out import list_left_out
from training.tutorial.literals import code, prose
from training.tutorial.loop import (
    write_accelerator,
    write_after_step,
    write_epoch,
    write_forward,
    write_update,
    zeroes_first,
)
from training.tutorial.network import NetworkText, describe_network
from training.tutorial.rendering import make_environment
from training.tutorial.schedule import describe_optimizer, describe_schedule
from training.tutorial.teacher import describe_teacher

_TASKS = (
    *("classification", "binary", "multi_label", "regression", "multi_task", "ranking", "distillation"),
    *("segmentation", "language_model"),
)
_TOTAL = r"\btotal_steps\b(?!=)"
_MOVED = "inputs.to(DEVICE), targets.to(DEVICE)"
_DEVICE = '"cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"'


@dataclass(frozen=True)
class ShortScript:
    """``text`` of the script ``file``. ``network`` is a second file, of a person's own network, by its name; ``drawn`` the name of
    the file of samples that the script reads. ``own`` are the script's lines beside the network's class."""

    file: str
    text: str
    network: tuple[str, str] | None
    drawn: str
    own: int


def write_short_script(config: RunConfig, file: str, accelerate: bool = False) -> ShortScript:
    """The run as the script ``file``; with ``accelerate`` by Hugging Face's Accelerate. Raises InputError, naming the setting, for
    what it cannot say."""
    if config.objective.kind not in _TASKS:
        told = f"objective.kind: the short script does not say {config.objective.kind} yet; export --to script instead."
        raise InputError(told)
    stem = Path(file).stem
    module = re.sub(r"\W", "_", f"{stem}_network")
    drawn = f"{stem}_data.npz"
    network, data = describe_network(config, module), describe_data(config, drawn)
    facts = _facts(config, network, data, accelerate)
    beside = [drawn] * data.drawn + [f"{module}.py"] * bool(network.beside)
    environment = make_environment("training.tutorial")
    environment.globals.update(call=_call, hold_back=_hold_back)
    text = environment.get_template(f"{config.objective.kind}.jinja").render(
        **facts, version=training.__version__, file=prose(file), stem=prose(stem), beside=beside
    )
    networks = [network.code, facts["teacher"].code if facts["teacher"] else ""]
    text = fill_in(
        text,
        _settings(config, data, stem),
        module if network.beside else "",
        networks,
        accelerate or bool(facts["loading"]),
        data.whole,
    )
    return ShortScript(
        file=file,
        text=text,
        network=(f"{module}.py", network.beside) if network.beside else None,
        drawn=drawn if data.drawn else "",
        own=len(text.splitlines()) - count_network(text, networks),
    )


def _call(name: str, **arguments: object) -> str:
    """A call with those arguments that are given; texts stand as they are."""
    return f"{name}({', '.join(f'{key}={value}' for key, value in arguments.items() if value)})"


def _hold_back(count: str) -> str:
    """The lines that draw ``train`` and ``held``, numbers of so many samples."""
    order = f"order = torch.randperm({count}, generator=torch.Generator().manual_seed(SPLIT_SEED))"
    return f"{order}\n    held, train = order.tensor_split([round(VALIDATION_FRACTION * len(order))])"


def _facts(config: RunConfig, network: NetworkText, data: DataText, accelerate: bool) -> dict[str, Any]:
    loop, objective, precision = config.loop, config.objective, config.precision
    usual = metric(objective.metrics[0] if objective.kind != "language_model" else "perplexity")
    by_loss = config.monitor == "val/loss" or objective.kind in ("language_model", "multi_task")
    left_out = [*data.left_out, *list_left_out(config)]
    if config.monitor not in ("val/loss", f"val/{usual.name}") and objective.kind != "language_model":
        left_out.insert(0, f"{config.monitor}, which the run is judged by: here it is the {usual.title}")
    if data.kind == "idx" and not data.given:
        left_out.append("the test images, on which the run measures its best weights once, at the end")
    optimizer = describe_optimizer(config)
    schedule = describe_schedule(config, optimizer.several)
    augmentation = describe_augmentation(config.dataset)
    scaler = precision.compute == "fp16"
    parts = (
        ["model"]
        + ([] if optimizer.several else ["optimizer"])
        + ["scheduler"] * (bool(schedule.lines) and not optimizer.several)
    )
    named = {name: name for name in parts}
    if optimizer.several:
        named |= {"muon": "optimizers[0]", "adamw": "optimizers[1]"}
        named |= {"muon_rate": "schedulers[0]", "adamw_rate": "schedulers[1]"} if schedule.lines else {}
    named |= {"averaged": "averaged"} if loop.ema_decay else {}
    named |= {"scaler": "scaler"} if scaler and not accelerate else {}
    if accelerate:
        named["model"] = "accelerator.unwrap_model(model)"
    given = [f'"{name}": {value}' for name, value in named.items()]
    made = list(schedule.lines)
    if optimizer.several and made:
        made = ["schedulers = [make_scheduler(optimizer, total_steps) for optimizer in optimizers]"]
    made += ["scaler = torch.amp.GradScaler(DEVICE.type)  # lifts small gradients into float16's range"] * (
        "scaler" in named
    )
    if loop.ema_decay:
        made.append("averaged = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(EMA_DECAY), use_buffers=True)")
    made += [f"mix = {augmentation.mixing}"] * bool(augmentation.mixing)
    made += ["teacher = make_teacher(val_set[0][0].shape, outputs)"] * (objective.kind == "distillation")
    if accelerate:
        prepared = ", ".join(
            ["model", "optimizer", "train_loader", *["scheduler"] * (schedule.per in ("step", "epoch"))]
        )
        made.append(f"{prepared} = accelerator.prepare({prepared})")
    made.append(f"parts = {{{', '.join(given)}}}")
    balance = _balance(config, data)
    plain = data.whole and not accelerate and not balance and objective.kind != "distillation"
    brief = network.write_made(data.count) if plain else ""
    begin = [*network.begin, *_write_sampling(config, network, data)]
    training_set = "TensorDataset(inputs[train], targets[train])" if brief else "train_set"
    if brief and begin:
        begin, training_set = [f"train_set = {training_set}", *begin], "train_set"
    made = _write_total(config, made, bool(brief), optimizer.several)
    monitored = "val_loss" if by_loss else "score"
    better = "<" if by_loss or not usual.maximize else ">"
    if loop.early_stopping_min_delta:
        left_out.append(f"loop.early_stopping_min_delta = {loop.early_stopping_min_delta}")
    decoding = data.template in ("files", "masks") or bool(augmentation.before)
    return {
        "name": prose(config.name),
        "summary": _summarize(config),
        "launch": "accelerate launch" if accelerate else "python",
        "left_out": left_out,
        "data": data,
        "augment": ", ".join(augmentation.before).replace("(size", f"({data.size}"),
        "chain": augmentation_chain(config, data),
        "network": network,
        "extra": ", categories" if data.template == "table" else "",
        "heads": ", heads" if data.task == "tasks" else "",
        "optimizer": optimizer,
        "schedule": schedule,
        "measured": f"the metric ({usual.title})",
        "taken": ".item()",
        "shown": f"{usual.name} {{score:.4f}}",
        "maximize": better == ">",
        "forward": write_forward(config, accelerate),
        "accelerate": accelerate,
        "first": _before(
            [write_accelerator(config)] * accelerate
            + [f"torch.set_num_threads({precision.threads})"] * bool(precision.threads)
        ),
        "begin": _before(begin),
        "training_set": training_set,
        "made": [*optimizer.lines, *made],
        "sampler": config.loader.sampling == "balanced",
        "loading": ", num_workers=2" if decoding else "",
        "drop_last": _drop_last(config, network),
        "max_steps": loop.max_steps is not None,
        "brief": brief,
        "moved": "" if data.whole else f"inputs, targets = {f'mix({_MOVED})' if augmentation.mixing else _MOVED}\n",
        "zero": "optimizer.zero_grad()\n" if zeroes_first(config, optimizer, accelerate) else "",
        "update": write_update(config, optimizer, schedule, accelerate),
        "after_step": write_after_step(config, accelerate),
        "enumerated": loop.accumulation > 1 and not accelerate,
        "waited": ", waited" if loop.early_stopping_patience else "",
        "train": write_epoch(config),
        "judged": "averaged" if loop.ema_decay else "model",
        "weights": "averaged.module" if loop.ema_decay else named["model"],
        "monitored": monitored,
        "monitored_name": "loss" if by_loss else usual.name,
        "better": better,
        "objective": objective,
        "training_loss": "",
        "smoothing": getattr(objective, "label_smoothing", 0.0),
        "ignored": objective.ignore_index if getattr(objective, "ignore_index", -100) >= 0 else 0,  # type: ignore[union-attr]
        "threshold": getattr(objective, "threshold", 0.5),
        "balance": balance,
        "weights_given": _weights(objective),
        "teacher": describe_teacher(objective) if isinstance(objective, tasks.Distillation) else None,
        **_errors(objective),
    }


def _before(lines: list[str]) -> str:
    """``lines`` of ``main`` with what leads to the next one."""
    return "".join(f"{line}\n    " for line in lines)


def _write_sampling(config: RunConfig, network: NetworkText, data: DataText) -> list[str]:
    """What the loader of the training samples needs."""
    lines = []
    if config.loader.sampling == "balanced":
        draws = f"1 / torch.bincount({data.targets})[{data.targets}], len(train_set)"
        lines = [f"sampler = WeightedRandomSampler({draws})  # every class equally often"]
    if network.batch_norm and not getattr(config.loader, "drop_last", False):
        lines.append("alone = len(train_set) % BATCH_SIZE == 1  # batch norm has no mean to take over a single sample")
    return lines


def _write_total(config: RunConfig, made: list[str], brief: bool, several: bool) -> list[str]:
    """``made`` with the ``total_steps`` that it asks for: in a ``brief`` script a number that is used once stands where it is used."""
    steps = "math.ceil(len(train_loader) / ACCUMULATION)" if config.loop.accumulation > 1 else "len(train_loader)"
    most, total = config.loop.max_steps, f"EPOCHS * {steps}"
    asked = len(re.findall(_TOTAL, " ".join(made)))
    if most is None and not asked:
        return made
    if most is None and brief and asked == 1 and not several:
        return [re.sub(_TOTAL, total, line) for line in made]
    return [f"total_steps = {total if most is None else f'min({total}, MAX_STEPS)'}", *made]


def _drop_last(config: RunConfig, network: NetworkText) -> str:
    if getattr(config.loader, "drop_last", False):
        return ", drop_last=True"
    return ", drop_last=alone" if network.batch_norm else ""


def _balance(config: RunConfig, data: DataText) -> str:
    if not getattr(config.objective, "balanced", False):
        return ""
    if config.objective.kind == "multi_label":
        return f"(1 / {data.targets}.mean(0) - 1).to(DEVICE)"
    if config.objective.kind == "binary":
        return f"(1 / {data.targets}.float().mean() - 1).to(DEVICE)"
    if config.objective.kind == "segmentation":
        raise InputError(
            "objective.balanced: the short script does not count the pixels of classes; give class_weights instead."
        )
    counts = f"torch.bincount({data.targets})"
    return f"(len(train_set) / ({counts} * outputs)).to(DEVICE)"


def _weights(objective: ObjectiveSection) -> str:
    given = getattr(objective, "class_weights", ()) or getattr(objective, "pos_weight", None) or ()
    return f"torch.tensor({list(given) if isinstance(given, tuple) else given}, device=DEVICE)" if given else ""


def _errors(objective: ObjectiveSection) -> dict[str, Any]:
    """The loss of numbers."""
    if not isinstance(objective, tasks.Regression | MultiTask):
        return {"error": "", "loss_terms": []}
    errors = {"mse": "nn.MSELoss()", "l1": "nn.L1Loss()", "huber": f"nn.HuberLoss(delta={objective.delta})"}
    if isinstance(objective, MultiTask):
        return {"error": errors[objective.loss], "loss_terms": []}
    weights = {"mse": objective.mse_weight, "l1": objective.l1_weight, "huber": objective.huber_weight}
    terms = [f"{weights[name]} * {error}(outputs, targets)" for name, error in errors.items() if weights[name]]
    several = objective.loss == "weighted_sum"
    return {"error": errors.get(objective.loss, ""), "loss_terms": terms if several else []}


def _summarize(config: RunConfig) -> str:
    titles = [
        catalog.entry(part, getattr(config, part).kind).title for part in ("model", "dataset", "optimizer", "schedule")
    ]
    return prose(f"{titles[0]} on {titles[1]}, by {titles[2]}, {titles[3]}")


def _settings(config: RunConfig, data: DataText, stem: str) -> list[tuple[str, str, str]]:
    """Name, value and comment; a script has those that it uses."""
    dataset, loop, objective, optimizer = config.dataset, config.loop, config.objective, config.optimizer
    rows: list[tuple[str, object, str]] = [
        ("DATA", data.path, ""),
        ("BEST, LAST", f"{code(f'{stem}-best.pt')}, {code(f'{stem}-last.pt')}", ""),
        ("SEED", config.seed, ""),
        ("SPLIT_SEED", dataset.split_seed, "decides which samples are held out"),
        ("VALIDATION_FRACTION", dataset.validation_fraction, ""),
        ("CONTEXT", getattr(dataset, "context", 0), "tokens that the network sees at a time"),
        ("STRIDE", getattr(dataset, "stride", 0) or getattr(dataset, "context", 0), "tokens between two windows"),
        ("QUERY, MAX_ITEMS", _query(dataset), "the rows of one query are ranked against each other"),
        ("EPOCHS", loop.epochs, ""),
        ("MAX_STEPS", loop.max_steps, ""),
        ("BATCH_SIZE", loop.batch_size, ""),
        ("ACCUMULATION", loop.accumulation, "batches to an optimizer step"),
        ("LR", optimizer.lr, ""),
        ("HEAD_LR_FACTOR", optimizer.head_lr_factor, "the new head learns that much faster"),
        ("UNFREEZE_EPOCH", optimizer.unfreeze_epoch, ""),
        ("WEIGHT_DECAY", optimizer.weight_decay, ""),
        (
            "WARMUP",
            _warmup(config),
            "epochs of a rising rate" if goes_by_epochs(config.schedule) else "steps of a rising rate",
        ),
        ("CLIP_NORM", loop.clip_norm, "longest gradient"),
        ("EMA_DECAY", loop.ema_decay, "the moving average of the weights is judged and kept"),
        ("PATIENCE", loop.early_stopping_patience, "epochs without a better score before it ends"),
        (
            "MARGIN, TOP",
            f"{getattr(objective, 'margin', 0)}, {getattr(objective, 'top', 0)}",
            "of the loss, of the metric",
        ),
        ("SMOOTH, DICE_WEIGHT", f"{getattr(objective, 'smooth', 0)}, {getattr(objective, 'dice_weight', 0)}", ""),
        (
            "TEMPERATURE, ALPHA",
            f"{getattr(objective, 'temperature', 0)}, {getattr(objective, 'alpha', 0)}",
            "softness, share of the teacher",
        ),
        (
            "DEVICE",
            f"torch.device({_DEVICE if config.precision.device == 'auto' else code(config.precision.device)})",
            "",
        ),
        (
            "WEIGHTS",
            f"torch.tensor({list(getattr(objective, 'weights', ()))}, device=DEVICE)",
            "of each target's loss in their sum",
        ),
    ]
    return [(name, str(value), comment) for name, value, comment in rows]


def _query(dataset: DatasetSection) -> str:
    return f"{code(dataset.query_column)}, {dataset.max_items}" if isinstance(dataset, RankingDataset) else ""


def _warmup(config: RunConfig) -> str:
    section = config.schedule
    return f"{read_duration(section.warmup)[0]:g}" if isinstance(section, ScheduleSection) else ""
