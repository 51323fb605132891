"""What the script of a run says: a RunConfig as settings and lines of plain PyTorch, for the templates to put together."""

from __future__ import annotations

import pprint
import re
import textwrap
from importlib.resources import files
from pathlib import Path
from typing import Any

import torch

import training
from training import catalog
from training.config import RunConfig
from training.config.dataset import IdxDataset, ImageFolderDataset, ShapesDataset, SpiralDataset
from training.config.dataset_section import PartsSection
from training.config.fields import Section
from training.config.model import WhitenedCnn
from training.config.schedule import Constant, OneCycle
from training.config.tables import TableDataset
from training.config.text import TextDataset
from training.data.folder import list_folder
from training.data.source import silent
from training.errors import InputError
from training.export.architecture import describe_architecture
from training.export.material import Material
from training.export.network import definitions_of
from training.export.optimizer_listing import clipping, describe_averaging, describe_optimizer
from training.export.rows_listing import describe_rows, refuse_rows, row_settings
from training.export.task_listing import describe_task, refuse_task, task_settings
from training.export.variation import describe_variation, variation_settings
from training.models import make_model
from training.reading import visible
from training.runs.folder import read_json
from training.schedules import describe as describe_schedule

Setting = tuple[str, str, Any]  # comment, name, value
_WITH_LENGTH = ("linear", "cosine", "polynomial", "wsd")  # schedules laid out over the whole run
_AUTOCAST = {"bf16": "torch.bfloat16", "fp16": "torch.float16"}
_WIDTH = 118
_PACKAGES = {"image_folder": ["pillow", "numpy"], "table": ["polars"]}


def describe_run(material: Material, file: str) -> dict[str, Any]:
    """Everything the templates ask for. Raises InputError when the dataset's folder would be needed and is gone."""
    config = material.config
    _refuse_what_no_template_says(config)
    facts = _data(material) | describe_variation(config) | _model(material) | describe_task(material)
    if facts["mixed"] and facts["weighs"]:
        raise InputError(
            "objective: a script cannot mix samples whose classes have weights yet; export another format."
        )
    facts |= describe_optimizer(material) | _schedule(material)
    facts |= _loop(material, facts)
    slug = re.sub(r"[^a-z0-9]+", "-", config.name.lower()).strip("-") or "run"
    packages = ["torch"] + ["torchvision"] * (config.model.kind == "torchvision")
    facts |= {
        "name": _prose(config.name),
        "version": training.__version__,
        "source": _prose(f"{material.run.id}, {material.checkpoint.name}"),
        "packages": " and ".join(packages + _PACKAGES.get(config.dataset.kind, [])),
        "file": _prose(file),
        "as_compiled": config.precision.compile != "off" or config.precision.cuda_graphs != "off",
        "description": _code(f"Train {config.name}."),
        "out": _code(f"{slug}-run"),
        "settings": [line for setting in _settings(material, facts) for line in _lines(*setting)],
    }
    return facts


def _refuse_what_no_template_says(config: RunConfig) -> None:
    templates = {path.name for path in (files("training.export") / "templates").iterdir()}
    instead = "export safetensors, torch-export or onnx instead"
    if f"data_{config.dataset.kind}.jinja" not in templates:
        raise InputError(f"dataset.kind: a script cannot read data of kind {config.dataset.kind} yet; {instead}.")
    refuse_task(config, instead)
    if isinstance(config.dataset, TableDataset | TextDataset):
        refuse_rows(config.dataset, instead)
    if config.loop.after_skips == "roll_back":
        raise InputError(f"loop.after_skips: a script cannot go back after skipped steps yet; {instead}.")
    if config.model.kind in ("user_file", "timm", "torchvision_segmentation"):
        raise InputError(f"model.kind: a script cannot build a network of kind {config.model.kind} yet; {instead}.")
    if getattr(config.model, "pretrained", None) or getattr(config.model, "weights", None):
        raise InputError(f"model.pretrained: a script cannot begin with known weights yet; {instead}.")
    if config.loader.sampling != "shuffle":
        raise InputError(f"loader.sampling: a script cannot draw classes alike yet; {instead}.")
    if isinstance(config.dataset, PartsSection) and config.dataset.duplicates != "keep":
        raise InputError(f"dataset.duplicates: a script cannot leave duplicates out yet; {instead}.")
    if config.optimizer.freeze != "off":
        raise InputError(f"optimizer.freeze: a script cannot keep a part of the network as it is yet; {instead}.")


def _prose(text: str) -> str:
    """``text`` as it may stand inside the script's docstring: nothing in it can end that and become code, which would run
    as soon as the script is compared with the engine. A name may come from a stranger's file."""
    return visible(text, 300).replace("\\", "/").replace('"', "'")


def _code(value: Any) -> str:
    """A value as Python source, with the double quotes of the rest of the script."""
    text = repr(value)
    if isinstance(value, str) and text.startswith("'") and '"' not in text:
        return f'"{text[1:-1]}"'
    return text


def _data(material: Material) -> dict[str, Any]:
    dataset = material.config.dataset
    parts = {"train": ""}
    validation = "held back"
    if isinstance(dataset, IdxDataset):
        report = read_json(material.run.data_file)
        known = report.get("samples", {}) if report else {}
        if dataset.validation == "test" or "test" in known or (not known and any(Path(dataset.path).glob("t10k-*"))):
            parts["test"] = ""
    if isinstance(dataset, ImageFolderDataset):
        parts = _folders(dataset)
    if isinstance(dataset, IdxDataset | ImageFolderDataset):
        if dataset.validation == "test":
            validation = "test"
        elif dataset.validation == "auto" and "validation" in parts:
            validation = "given"
        if validation != "given":
            parts.pop("validation", None)
    return {
        "dataset": dataset.kind,
        "path": hasattr(dataset, "path"),
        "parts": parts,
        "validation": "given" if isinstance(dataset, TextDataset) else validation,
        "missing": material.normalisation.missing,
        "tokens": material.facts.layout == "tokens",
        **describe_rows(material),
        "tested": "test" in parts and validation != "test",
        "image": material.facts.layout == "image",
        "channels": material.facts.shape[0],
        "picture_bytes": torch.Size(material.facts.shape).numel(),
    }


def _folders(dataset: ImageFolderDataset) -> dict[str, str]:
    """Part to folder name, from the dataset itself: it alone knows what its folders are called."""
    try:
        listing = list_folder(Path(dataset.path), silent)
    except InputError as error:
        raise InputError(
            f"{error.message} The script is written from the dataset; bring it back to where the run had it."
        ) from error
    parts: dict[str, str] = {}
    for path, owner in zip(listing.paths, listing.owners, strict=True):
        part = listing.groups[owner][0]
        parts.setdefault(part, Path(path).parts[0])
    divided = any(note.startswith("parts found") for note in listing.notes)
    return parts if divided else {"train": "."}


def _model(material: Material) -> dict[str, Any]:
    config = material.config
    if isinstance(config.model, WhitenedCnn):
        raise InputError(
            "model.kind: a script cannot make the first layer of a whitened_cnn from the training pictures yet; export "
            "another format."
        )
    architecture = describe_architecture(material)
    facts = {
        "model_title": catalog.entry("model", config.model.kind).summary,
        "builder": architecture["builder"],
        "buffers": any(True for _ in material.model.buffers()),
        "dropout": _draws(material),
        "channels_last": material.facts.layout == "image" and _channels_last(material),
    }
    facts["network_code"] = definitions_of(material.model).text
    if architecture["builder"] == "torch.nn.Sequential":
        return facts | {"layers": [_layer(layer) for layer in architecture["layers"]]}
    if architecture["builder"] == "file":
        return facts | {"network": _layer(architecture)}
    arguments = {name: _code(value) for name, value in architecture["arguments"].items()}
    replaced = [(layer["name"], _layer(layer)) for layer in architecture["replaced"]]
    return facts | {"function": architecture["name"], "arguments": arguments, "replaced": replaced}


def _layer(layer: dict[str, Any]) -> str:
    """A layer of ``describe_architecture`` as the call that makes it; what comes in and goes out needs no names."""
    if layer.get("builder") == "torch.nn.Sequential":
        return f"nn.Sequential({', '.join(_layer(part) for part in layer['layers'])})"
    if layer.get("builder") == "file":
        parts = [_layer(part) for part in layer["parts"]]
        return f"{layer['call']}({', '.join(parts + [f'{name}={_code(value)}' for name, value in layer['arguments'].items()])})"
    plain = [str(value) for name, value in layer["arguments"].items() if name.startswith(("in_", "out_"))]
    named = [f"{name}={value!r}" for name, value in layer["arguments"].items() if not name.startswith(("in_", "out_"))]
    if layer["type"] in ("MaxPool2d", "Dropout"):
        named[0] = named[0].partition("=")[2]
    return f"nn.{layer['type']}({', '.join(plain + named)})"


def _draws(material: Material) -> bool:
    """Whether the model draws random numbers while training (dropout, stochastic depth)."""
    config = material.config
    model = make_model(config.model, material.facts, material.objective.outputs, config.seed).train()
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        before = torch.get_rng_state()
        model(material.normalisation.apply(material.samples()[:2]))
        return not torch.equal(before, torch.get_rng_state())


def _schedule(material: Material) -> dict[str, Any]:
    config = material.config.schedule
    facts = config.model_dump() | {
        "warmup": not isinstance(config, OneCycle) and config.warmup_steps > 0,
        "uses_length": config.kind in _WITH_LENGTH,
        "words": textwrap.wrap(describe_schedule(config), _WIDTH - 4),
    }
    arguments = ['progress["step"]']
    if facts["uses_length"] or isinstance(config, OneCycle):
        arguments.append("total_steps")
    if config.kind == "plateau":
        arguments.append('plateau["factor"]')
    return {"schedule": facts, "rate_arguments": ", ".join(arguments)}


def _loop(material: Material, facts: dict[str, Any]) -> dict[str, Any]:
    config = material.config
    loop, checkpoints, precision = config.loop, config.checkpoints, config.precision
    train_input = "normalise(vary(samples[batch], batch, epoch))" if facts["varied"] else "normalise(samples[batch])"
    if facts["erased"] or facts["mixed"]:
        train_input = "inputs"
    scaler = precision.compute == "fp16"
    arguments = ["model", "optimizer"] + ["scaler"] * scaler + ["samples", facts["truth"]]
    arguments.append("micro_batches" if loop.accumulation > 1 else "batch")
    return {
        "accumulation": loop.accumulation,
        "batch_size": loop.batch_size,
        "max_steps": loop.max_steps,
        **describe_averaging(material),
        "patience": loop.early_stopping_patience,
        "min_delta": "EARLY_STOPPING_MIN_DELTA" if loop.early_stopping_min_delta else "0.0",
        "validate_every": loop.validate_every_steps,
        "save_due": "step % SAVE_EVERY_STEPS == 0" if checkpoints.every_steps else "epoch_ended",
        "maximize": config.maximize,
        "autocast": _AUTOCAST.get(precision.compute, ""),
        "scaler": scaler,
        "train_input": train_input,
        "class_count": len(material.facts.names),
        "train_targets": "targets" if train_input == "inputs" else f"{facts['truth']}[batch]",
        "step_arguments": ", ".join(arguments + ["train"] * bool(facts["mixed"]) + ["epoch"] * facts["augmented"]),
        "clipping": clipping(loop.clip_norm, loop.clip_value, facts["divides"]),
        "device": _device(precision.device),
        "backends": _backends(precision.compute, config.deterministic),
    }


def _channels_last(material: Material) -> bool:
    """As the run had it; checkpoints of earlier versions leave that to their configuration."""
    return bool(material.manifest.get("channels_last", material.config.precision.channels_last != "off"))


def _device(name: str) -> str:
    if name != "auto":
        return _code(name)
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


def _settings(material: Material, facts: dict[str, Any]) -> list[Setting]:
    """The numbers the run was told, each under its own name in capitals, with the help the form shows."""
    config = material.config
    loop, schedule, optimizer = config.loop, config.schedule, config.optimizer
    settings = [_setting(config, "seed")]
    settings += _data_settings(material, facts)
    settings += [_setting(loop, name) for name in _present(loop, "epochs", "max_steps", "batch_size")]
    settings += [_setting(loop, "accumulation")] * (loop.accumulation > 1)
    before = loop.validation_batch_size or 2 * loop.batch_size  # what checkpoints of earlier versions do not say
    evaluation = int(material.manifest.get("evaluation_batch_size", before))
    settings.append(("", "EVALUATION_BATCH_SIZE", evaluation))
    if isinstance(schedule, OneCycle):
        settings.append(("The rate at the top.", "MAX_LR", schedule.max_lr or optimizer.lr))
        names = ["pct_start", "div_factor", "final_div_factor"]
        names += ["base_momentum", "max_momentum"] * schedule.cycle_momentum
        settings += [_setting(schedule, name) for name in names]
    else:
        settings.append(_setting(optimizer, "lr"))
        skipped = {"kind", "decay_shape", "warmup_steps", "warmup_start_factor"}
        names = ["warmup_steps", "warmup_start_factor"] * facts["schedule"]["warmup"]
        names += [name for name in type(schedule).model_fields if name not in skipped]
        if schedule.kind == "cosine_restarts" and schedule.t_mult == 1:
            names.remove("t_mult")
        settings += [_setting(schedule, name) for name in names] if not isinstance(schedule, Constant) or names else []
    settings += [_setting(optimizer, "weight_decay")] * facts["grouped"]
    if facts["listed"]:
        settings.append(("The optimizer's groups of parameters.", "GROUPS", facts["listed"]))
    settings += [_setting(config.objective, "label_smoothing")] if facts["label_smoothing"] else []
    settings += task_settings(material)
    names = _present(loop, "clip_norm", "clip_value", "ema_decay", "swa_every_steps", "swa_lr")
    names += ["swa_start"] if facts["swa"] else []  # 0 is a share, too
    names += _present(loop, "validate_every_steps", "early_stopping_patience")
    settings += [_setting(loop, name) for name in names]
    if loop.early_stopping_patience and loop.early_stopping_min_delta:
        settings.append(_setting(loop, "early_stopping_min_delta"))
    settings.append(_setting(loop, "max_skipped_steps"))
    if config.checkpoints.every_steps:
        settings.append(("Steps between two checkpoints.", "SAVE_EVERY_STEPS", config.checkpoints.every_steps))
    settings.append(("Threads for the arithmetic, as the run had them.", "THREADS", int(material.manifest["threads"])))
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


def _data_settings(material: Material, facts: dict[str, Any]) -> list[Setting]:
    dataset = material.config.dataset
    settings: list[Setting] = []
    if hasattr(dataset, "path"):
        settings.append(("", "DATA", _code(dataset.path)))
    settings += row_settings(material, facts)
    if isinstance(dataset, ImageFolderDataset):
        settings += [("Each part and its folder.", "PARTS", facts["parts"]), ("", "CLASSES", material.facts.names)]
    if isinstance(dataset, SpiralDataset):
        settings += [_setting(dataset, name) for name in ("samples", "turns", "noise", "data_seed")]
    if isinstance(dataset, ShapesDataset):
        settings += [_setting(dataset, "samples"), ("Side of each square picture.", "SIDE", dataset.image_size)]
        settings += [_setting(dataset, "noise")] * (dataset.noise > 0) + [_setting(dataset, "data_seed")]
    if isinstance(dataset, ImageFolderDataset):
        settings += [("", "HEIGHT", material.facts.shape[1]), ("", "WIDTH", material.facts.shape[2])]
    settings += [_setting(dataset, name) for name in variation_settings(material.config)]
    if facts["validation"] == "held back":
        settings += [_setting(dataset, "validation_fraction"), _setting(dataset, "split_seed")]
    mean, std = material.normalisation.mean, material.normalisation.std
    if facts["tokens"]:
        return settings
    return [*settings, ("Measured on the training samples.", "MEAN", mean), ("", "STD", std)]


def _present(section: Section, *names: str) -> list[str]:
    return [name for name in names if getattr(section, name)]


def _setting(section: Section, name: str) -> Setting:
    text = type(section).model_fields[name].description or ""
    # What an empty field would mean is the form's business; here there is a value.
    return re.sub(r" (0 or empty|Empty):.*", "", text), name.upper(), getattr(section, name)
