"""The run as one plain PyTorch file, checked against the engine before it is handed over."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import torch
from jinja2 import Environment, PackageLoader, StrictUndefined
from torch import Tensor, nn

from training.atomic import write_stream
from training.config.schedule import OneCycle
from training.core import counter_rng
from training.data.augment import Augmenter
from training.engine.teacher import told_of_teacher
from training.errors import InputError, TrainingError, in_words
from training.export.check_eval import evaluates_alike
from training.export.core_source import paste_core
from training.export.data_listing import data_name
from training.export.freezing_listing import frozen_alike
from training.export.listing import describe_run
from training.export.material import SAMPLES, Material
from training.export.own_file import joined, refuse_clash
from training.export.place import make_parents, remove_made
from training.export.prepared_tensors import is_prepared, read_size, refuse_large
from training.export.rows_listing import rows_alike
from training.export.teacher_listing import SecondFile, describe_teacher, importable, taught_alike, teacher_bytes
from training.export.weights_listing import begun_alike
from training.models import make_model
from training.models.stages import stages
from training.optim import parameter_groups
from training.reading import MEGABYTE, UnfitFile, read_bytes
from training.schedules import make_schedule
from training.schedules.formulas import ANNEALS

_MARK = "Written by Trainwright "
_IMPORTS = {
    **{name: f"import {name}" for name in ("argparse", "gzip", "hashlib", "math", "os", "re", "unicodedata", "zlib")},
    "bisect_right": "from bisect import bisect_right",
    "Callable": "from collections.abc import Callable",
    "Collection": "from collections.abc import Collection",
    "Iterable": "from collections.abc import Iterable",
    "Iterator": "from collections.abc import Iterator",
    "Mapping": "from collections.abc import Mapping",
    "Sequence": "from collections.abc import Sequence",
    "AbstractContextManager": "from contextlib import AbstractContextManager",
    "contextmanager": "from contextlib import contextmanager",
    "nullcontext": "from contextlib import nullcontext",
    "deepcopy": "from copy import deepcopy",
    "dataclass": "from dataclasses import dataclass",
    "lru_cache": "from functools import lru_cache",
    "partial": "from functools import partial",
    "Path": "from pathlib import Path",
    "Any": "from typing import Any",
    "BinaryIO": "from typing import BinaryIO",
    "Literal": "from typing import Literal",
    "NamedTuple": "from typing import NamedTuple",
    "Self": "from typing import Self",
    "BadZipFile": "from zipfile import BadZipFile",
    "": "",  # from here on what is not Python's own
    "np": "import numpy as np",
    "pl": "import polars as pl",
    "timm": "import timm",
    "torch": "import torch",
    "torchvision": "import torchvision",
    "NDArray": "from numpy.typing import NDArray",
    "Image": "from PIL import Image, ImageOps",
    "load_file": "from safetensors.torch import load_file",
    "Tokenizer": "from tokenizers import Tokenizer, models, pre_tokenizers, trainers",
    "Tensor": "from torch import Tensor",
    "nn": "from torch import nn",
    "functional": "from torch.nn import functional",
    "adamw": "from torch.optim.adamw import adamw",
}
"""What a script may need, by the name it uses; only what it does use is written."""

_TRIED_STEPS = 1000
_OTHER_PIXELS = (
    " It decodes JPEGs on the CPU, the run had them decoded on a GPU (loader.decoder): some pixels differ a little, and "
    "so do its losses and weights."
)


def export_script(
    load: Callable[[], Material], out: Path, large_data: bool = False, tell: Callable[[str], None] = lambda words: None
) -> dict[str, Any]:
    """Write the run of a checkpoint as a script to ``out``, a path ending in .py, and beside it the teacher of a run that
    distils and the samples of data that no script reads by itself. ``tell`` hears how large those are before they are
    written; ``large_data`` says that they may be. Raises InputError when it cannot be."""
    out = out.expanduser().absolute()
    _refuse_to_overwrite(out)
    material = load()
    data = out.with_name(data_name(out.name))
    if not large_data:
        refuse_large(read_size(material), data)
    files: dict[Path, Callable[[BinaryIO], object]] = {}
    size = ""
    if material.prepared is not None:
        if not large_data:
            refuse_large(material.prepared.size, data)
        if data.exists() and not is_prepared(data):
            raise InputError(f"{data}: is there already and not an export of ours; choose another name for the script.")
        files[data] = material.prepared.write
        size = f" ({in_words(material.prepared.size)})"
        tell(f"The samples go beside the script, into {data}{size}.")
    text = render(material, out.name)
    teacher = None
    if material.teacher is not None:
        teacher = render_teacher(material, out.name)
        beside, weights = (out.with_name(f"{teacher.module}{suffix}") for suffix in (".py", ".pt"))
        _refuse_to_overwrite(beside)
        if weights.exists() and not beside.exists():
            raise InputError(
                f"{weights}: is there already and not an export of ours; choose another name for the script."
            )
        files |= {weights: _of(teacher_bytes(material)), beside: _of(teacher.text.encode())}
    files[out] = _of(text.encode())
    difference = prove_script(material, text, teacher)
    _write(files)
    pixels = _OTHER_PIXELS if material.config.loader.decoder == "gpu" else ""
    return {
        "format": "script",
        "path": str(out),
        "files": [str(path) for path in reversed(files)],
        "max_difference": difference,
        "summary": f"Exported the run as a script to {out}; its initial weights, order, rates and weight decay equal the "
        f"run's, and its model on {SAMPLES} samples: largest difference {difference:.3g}."
        + (f" It reads its samples from {data.name} beside it{size}." if size else "")
        + pixels,
    }


def _of(data: bytes) -> Callable[[BinaryIO], object]:
    return lambda stream: stream.write(data)


def _write(files: dict[Path, Callable[[BinaryIO], object]]) -> None:
    """All of them in one folder, or none that was not there before."""
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


def _refuse_to_overwrite(out: Path) -> None:
    if out.suffix != ".py":
        raise InputError(f"{out}: a script's name must end in .py; choose another name.")
    if out.is_dir():
        raise InputError(f"{out}: a folder is in the way; choose another name.")
    if out.exists() and not _is_ours(out):
        raise InputError(f"{out}: is there already and not an export of ours; choose another name.")


def _is_ours(out: Path) -> bool:
    try:
        return _MARK.encode() in read_bytes(out, MEGABYTE)[:8000]
    except UnfitFile:  # a pipe or a device, or larger than any script
        return False


def render(material: Material, file: str) -> str:
    """The script's text; ``file`` is the name it will have."""
    facts = describe_run(material, file)
    last = f"from {facts['teacher_module']} import make_teacher" if facts["distils"] else ""
    return _rendered("script.jinja", facts, last)


def render_teacher(material: Material, file: str) -> SecondFile:
    """What goes beside the script ``file`` of a run that distils."""
    with told_of_teacher():
        facts = describe_teacher(material, file)
        return SecondFile(facts["teacher_module"], _rendered("teacher.jinja", facts["teacher"]))


def _rendered(template: str, facts: dict[str, Any], last: str = "") -> str:
    """The text with what it imports; ``last`` is one more such line."""
    environment = Environment(
        loader=PackageLoader("training.export"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    text = paste_core(environment.get_template(template).render(facts), facts.get("network_code", ""))
    used = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    lines = [line for name, line in _IMPORTS.items() if name in used or not name]
    if "own_imports" in facts:
        refuse_clash("\n".join([*lines, last, text]), facts["network_code"], facts["own_imports"])
        lines = joined(lines, facts["own_imports"])
    imports = "\n".join(_together([*lines, "", last] if last else lines)).strip("\n")
    text = text.replace("\n#IMPORTS#\n", f"\n{imports}\n")  # a line of its own, which no name can be
    text = re.sub(r"\n{3,}(?=[ ])", "\n\n", text)  # where a part was left out, its blank lines stay behind
    return re.sub(r"\n{4,}", "\n\n\n", text).rstrip("\n") + "\n"


def _together(lines: Iterable[str]) -> list[str]:
    """Imports from one module in one line; empty lines stay."""
    found: dict[str, list[str]] = {}
    for line in lines:
        start, _, names = (line or " " * len(found)).partition(" import ")
        found.setdefault(start, []).extend(names.split(", ") if names else [])
    return [f"{start} import {', '.join(sorted(names))}" if names else start.strip() for start, names in found.items()]


def prove_script(material: Material, text: str, teacher: SecondFile | None = None) -> float:
    """Compare what the script computes with the engine, part by part; returns the largest difference of a logit. ``teacher``
    is its second file.

    Initial weights, order of samples, learning rates, weight decay and normalisation must be equal to the bit; so must
    the logits of the checkpoint's weights in the script's model. Raises TrainingError, naming the part, when they are not.
    """
    config = material.config
    # Its name is that of a module that is there: dataclasses look into theirs.
    script: dict[str, Any] = {"__name__": __name__, "__file__": "exported_script.py"}
    with importable(teacher):
        exec(compile(text, "exported script", "exec", dont_inherit=True), script)
    torch_state = torch.get_rng_state()
    try:
        torch.default_generator.manual_seed(config.seed)
        model = script["make_model"]()
    finally:
        torch.set_rng_state(torch_state)
    ours = make_model(config.model, material.facts, material.objective.outputs, config.seed, material.code_file)
    _require(_same(model.state_dict(), ours.state_dict()), "initial weights")
    _require(begun_alike(material, script, model, ours), "known weights")
    order = counter_rng.permutation(config.seed, 1, _TRIED_STEPS)
    _require(torch.equal(script["permutation"](config.seed, 1, _TRIED_STEPS), order), "order of samples")
    _require(rows_alike(material, script), "data")
    _require(_augmented_alike(material, script), "augmentation")
    _require(_rates_equal(material, script), "learning rates")
    _require(frozen_alike(material, script, model, ours), "frozen parts")
    groups = script["make_optimizer"](model).param_groups
    wanted = parameter_groups(ours, config.optimizer, stages(ours))
    _require(_by_name(groups, model, "weight_decay") == _by_name(wanted, ours, "weight_decay"), "weight decay")
    _require(_by_name(groups, model, "lr_scale") == _by_name(wanted, ours, "lr_scale"), "factors of the learning rate")
    difference = _compare_logits(material, script, model)
    _require(taught_alike(material, script), "teacher")
    _require(evaluates_alike(material, script), "loss or metric")
    return difference


def _require(same: bool, what: str) -> None:
    if not same:
        raise TrainingError(
            f"The script's {what} would differ from the run's; nothing was exported.",
            "Choose another format, and tell us.",
        )


def _same(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(tensor, other[name]) for name, tensor in one.items())


def _augmented_alike(material: Material, script: dict[str, Any]) -> bool:
    if "augment" not in script:
        return True
    pictures = material.samples().permute(0, 2, 3, 1).contiguous()
    numbers, masked = torch.arange(len(pictures)), material.facts.target == "mask"
    if masked:
        pictures = torch.cat([pictures, pictures[..., :1] % len(material.facts.names)], dim=3)
    ours = Augmenter(material.config.dataset, material.config.seed, mask=masked)(pictures, numbers, 1)
    return torch.equal(script["augment"](pictures, numbers, 1), ours)


def _rates_equal(material: Material, script: dict[str, Any]) -> bool:
    config = material.config.schedule
    steps = _TRIED_STEPS + getattr(config, "warmup_steps", 0)
    schedule = make_schedule(config, material.config.optimizer.lr, steps)
    rate, momenta = script["learning_rate"], script.get("MOMENTA")
    values = {"total_steps": steps, "factor": 1.0}
    wanted = {name: value for name, value in values.items() if name in inspect.signature(rate).parameters}
    anneal = ANNEALS[config.anneal_strategy].__name__ if isinstance(config, OneCycle) else ""

    def momentum(step: int) -> float | None:
        return momenta and script["one_cycle"](step, steps, script["PCT_START"], momenta, script[anneal])

    return all(
        (rate(step, **wanted), momentum(step)) == (schedule.lr(step), schedule.momentum(step)) for step in range(steps)
    )


def _by_name(groups: list[dict[str, Any]], model: nn.Module, setting: str) -> dict[str, float]:
    """A setting of each parameter's group by the parameter's name; 1 where it has none."""
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    return {names[id(parameter)]: group.get(setting, 1.0) for group in groups for parameter in group["params"]}


def _compare_logits(material: Material, script: dict[str, Any], model: nn.Module) -> float:
    model.load_state_dict(material.model.state_dict())
    samples = material.samples()
    expected = material.normalisation.apply(samples)
    inputs = script["make_inputs"](samples.permute(0, 2, 3, 1) if material.facts.layout == "image" else samples)
    _require(torch.equal(inputs, expected), "normalisation")
    with torch.inference_mode():
        found, own = model.eval()(expected), material.model(expected)
    # A run that went astray may be taken home as code, too: then both answer NaN.
    _require(torch.allclose(found, own, rtol=0.0, atol=0.0, equal_nan=True), "model")
    return float((found - own).abs().nan_to_num().max())
