"""What a run ran on, and what it means for a resumed run that this is no longer the same."""

from __future__ import annotations

import functools
import os
import platform
import socket
import sys
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
import psutil
import torch

import training
from training.config import RunConfig
from training.config.paths import path_settings
from training.config.rules.weights_fit import as_weights_know
from training.engine.compile.compiler import compiler_facts
from training.engine.device import AutoSettings, describe_device
from training.engine.machine import find_driver, name_devices, shared_memory
from training.engine.session import Session
from training.engines.search import name_environment
from training.environment import Environment, SourceState
from training.events import Finding, inform, warn
from training.optim.optimizers import implementation
from training.runs.folder import RunFolder
from training.runs.records.environment import read_environment
from training.runs.records.forms import Manifest
from training.runs.records.history import read_history
from training.runs.source_state import source_state
from training.system.hardware import core_count, name_processor
from training.system.installed import Package, list_packages

DECIDING = {
    "cpu": (
        "DNNL_CPU_ISA_HINTS", "DNNL_DEFAULT_FPMATH_MODE", "DNNL_MAX_CPU_ISA", "KMP_DETERMINISTIC_REDUCTION", "MKL_CBWR",
        "MKL_ENABLE_INSTRUCTIONS", "OMP_DYNAMIC", "ONEDNN_CPU_ISA_HINTS", "ONEDNN_DEFAULT_FPMATH_MODE",
        "ONEDNN_MAX_CPU_ISA", "OPENBLAS_CORETYPE",
    ),
    "cuda": (
        "CUBLAS_WORKSPACE_CONFIG", "NVIDIA_TF32_OVERRIDE", "PYTORCH_TUNABLEOP_ENABLED",
        "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "TORCH_CUDNN_V8_API_DISABLED",
    ),
}  # fmt: skip
"""Environment variables by which a device's libraries choose how they compute, and so the bits of a result."""

VARIABLES = (
    *DECIDING["cpu"], *DECIDING["cuda"], "ATEN_CPU_CAPABILITY", "CUDA_VISIBLE_DEVICES", "KMP_AFFINITY", "KMP_BLOCKTIME",
    "MKL_DYNAMIC", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "OMP_SCHEDULE", "PYTORCH_ENABLE_MPS_FALLBACK",
)  # fmt: skip
"""These, and others that explain a result; what ATEN_CPU_CAPABILITY and the numbers of threads decide is told by its effect."""

BREAKING = {
    "device_type": "another kind of device computes with other kernels and draws dropout from another generator",
    "device_name": "another model of GPU adds up in another order",
    "instructions": "other CPU instructions add up in another order",
    "threads": "another number of threads adds up in another order",
    "ranks": "another number of processes adds up in another order",
    "torch": "another version of torch may compute in another order",
    "cuda": "another version of CUDA brings other kernels",
    "cudnn": "another version of cuDNN brings other convolutions",
    "channels_last": "images in another memory order take other kernels",
    "optimizer": "the optimizer's fused and foreach kernels round otherwise",
    "tf32": "without TensorFloat-32 matrix products are rounded otherwise",
    "compiler": "another compiler puts the step's sums together in another order",
}
"""Facts that decide the bits of a result, with the reason."""

TELLING = ("trainwright", "python", "torchvision", "numpy", "processor", "driver", "platform", "devices")
"""Facts that hardly ever change a result but explain one that did."""

MOST_THREADS = 4096  # a larger number was edited, or is another program's

_WORDS = {
    "trainwright": "Trainwright",
    "python": "Python",
    "numpy": "NumPy",
    "processor": "the CPU",
    "driver": "the driver",
    "platform": "the operating system",
    "devices": "the number of GPUs",
    "device_type": "kind of device",
    "device_name": "device",
    "instructions": "CPU instructions",
    "ranks": "processes",
    "cuda": "CUDA",
    "cudnn": "cuDNN",
    "channels_last": "channels last",
    "optimizer": "optimizer kernels",
    "tf32": "TensorFloat-32",
}


def describe_machine() -> Environment:
    """What runs are computed on here, whatever they are."""
    return Environment(
        host=socket.gethostname(),
        platform=platform.platform(),
        processor=name_processor(),
        instructions=torch.backends.cpu.get_cpu_capability(),
        cores=core_count(),
        memory_mb=psutil.virtual_memory().total // 2**20,
        trainwright=training.__version__,
        python=platform.python_version(),
        executable=sys.executable,
        engine=name_environment(Path(sys.executable)),
        torch=torch.__version__,
        torchvision=_find_version("torchvision"),  # importing it would double the time an engine takes to start
        numpy=np.__version__,
        cuda=torch.version.cuda,
        driver=find_driver(),
        devices=torch.cuda.device_count(),
        device_names=name_devices(),
        shm_mb=None if (shm := shared_memory()) is None else shm // 2**20,
    )


def describe_environment(
    session: Session, source: Path | None = None, packages: str | None = None, ranks: int = 1
) -> Environment:
    """What this attempt is computed on. ``source`` is the configuration file the run was started with, ``packages`` the digest
    of what is installed; ``ranks`` processes share the run."""
    device, config = session.device, session.config
    attempt = Environment(
        cudnn=torch.backends.cudnn.version() if device.type == "cuda" else None,
        device=describe_device(device),
        device_type=device.type,
        device_name=torch.cuda.get_device_name(device) if device.type == "cuda" else None,
        device_index=device.index or 0,
        tf32=_has_tf32(device) if config.precision.compute == "tf32" else None,
        threads=torch.get_num_threads(),
        channels_last=session.data.facts.layout == "image" and session.data.channels_last,
        optimizer=implementation(session.optimizer),
        compile=config.precision.compile,
        compiler=compiler_facts(device) if config.precision.compile != "off" else None,
        seeds=_seeds(config),
        weights=session.beginning.record if session.beginning else None,
        data=session.data.source.fingerprint,
        packages=packages,
        variables={name: os.environ[name] for name in VARIABLES if name in os.environ},
        code={"trainwright": _own_source(), **_sources(config, source)},
    )
    if config.loop.slots > 1:
        attempt = attempt.model_copy(update={"ranks": ranks})
    return describe_machine().model_copy(update={name: getattr(attempt, name) for name in attempt.model_fields_set})


def look_around() -> None:
    """Ask the machine, and git about this program, what never changes while a process lives, before a run waits for it."""
    platform.platform()
    name_processor()
    _own_source()
    find_driver()
    installed_packages()


@functools.cache
def installed_packages() -> tuple[Package, ...]:
    """What is installed beside this program; loaded once, so once is enough. This program itself where it was loaded from: PYTHONPATH
    may hide the folder that an editable installation names."""
    here = Path(training.__file__).resolve().parents[1].as_uri()
    return tuple(
        replace(package, origin="folder", url=here)
        if package.name == "trainwright" and package.origin == "editable" and package.url != here
        else package
        for package in list_packages()
    )


def _has_tf32(device: torch.device) -> bool:
    """Ampere and later multiply in TensorFloat-32 when asked."""
    return device.type == "cuda" and torch.cuda.get_device_capability(device) >= (8, 0)


def _seeds(config: RunConfig) -> dict[str, int]:
    seeds = {"seed": config.seed, "dataset.split_seed": config.dataset.split_seed}
    drawn = getattr(config.dataset, "data_seed", None)
    return seeds if drawn is None else {**seeds, "dataset.data_seed": drawn}


@functools.cache
def _own_source() -> SourceState:
    """The commit of this very program where it runs from a checkout; its code was loaded once, so once is enough."""
    return source_state(Path(training.__file__).parent, ".py")


def _sources(config: RunConfig, source: Path | None) -> dict[str, SourceState]:
    """The git state of the configuration file and of every file that the configuration names, data excepted."""
    files = {"config": source} if source is not None else {}
    for section in (config.model, config.objective):
        for name in path_settings(type(section)):
            files[f"{section.kind}.{name}"] = Path(str(getattr(section, name)))
    return {
        name: source_state(path).model_copy(update={"file": str(path)})
        for name, path in files.items()
        if path.is_file()
    }


# ----------------------------------------------------------------------------------------- one attempt and the next


def earlier_environment(folder: RunFolder, step: int) -> Environment:
    """Where the steps up to ``step`` were done last: that of the newest attempt that had begun before."""
    attempts = read_history(folder.events_file).attempts
    known = [
        attempt.environment for attempt in attempts if attempt.step < step and attempt.environment.model_fields_set
    ]
    return known[-1] if known else read_environment(folder)


def read_auto_settings(folder: RunFolder, config: RunConfig, device: torch.device, ranks: int = 1) -> AutoSettings:
    """What the run chose by itself when it began, while it computes on that kind of device: it keeps that. How many threads, in as many
    processes alone: those share the cores."""
    began = read_environment(folder)
    if not began.model_fields_set:  # damaged: its first attempt tells, too
        attempts = read_history(folder.events_file).attempts
        began = attempts[0].environment if attempts else began
    if began.device_type not in (None, device.type):
        return AutoSettings()
    threads = began.threads if 0 < (began.threads or 0) <= MOST_THREADS else None
    threads = threads if began.ranks in (None, ranks) else None
    free, unordered = config.precision.threads is None, config.precision.channels_last == "auto"
    return AutoSettings(threads if free else None, began.channels_last if unordered else None)


def read_normalization(config: RunConfig, manifest: Manifest) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
    """The mean and spread of images that the weights of a checkpoint know, where they are not to be measured."""
    if not as_weights_know(config):
        return None
    return tuple(manifest.data.mean), tuple(manifest.data.std)


def compare(before: Environment, now: Environment, step: int) -> list[Finding]:
    """What a person should know who resumes at ``step`` where ``now`` holds a run whose steps were done in ``before``."""
    values = {key: (getattr(before, key), getattr(now, key)) for key in (*BREAKING, *TELLING)}
    changes = {
        key: _say_change(_WORDS.get(key, key), old, new)
        for key, (old, new) in values.items()
        if key in before.model_fields_set and old != new
    }
    breaking = [
        f"{changes.pop(key)} ({BREAKING[key]})"
        for key in tuple(changes)
        if key in BREAKING and _matters(key, before, now)
    ]
    telling = [change for key, change in changes.items() if key in TELLING]
    deciding = DECIDING.get(str(now.device_type), ()) if _matters("variables", before, now) else ()
    old, new = before.variables, now.variables
    for name in dict.fromkeys([*old, *new]) if "variables" in before.model_fields_set else ():
        if old.get(name) == new.get(name):
            continue
        change = _say_change(name, old.get(name), new.get(name))
        if name in deciding:
            breaking.append(f"{change} (it chooses kernels, and others add up in another order)")
        else:
            telling.append(change)
    telling += [
        f"the code of {name} {state} → {now.code[name]}"
        for name, state in before.code.items()
        if name in now.code and str(state) != str(now.code[name])
    ]
    found = []
    if breaking:
        title = "The run goes on, but not to the bit as it would have where it was: what it computes on differs."
        also = f" Also: {'; '.join(telling)}." if telling else ""
        advice = f"{'; '.join(breaking)}.{also} The results stay as good; only their last digits are others."
        found.append(warn(title, advice, step=step))
    elif telling:
        title = "The run goes on in another environment; what decides its bits is the same."
        found.append(inform(title, f"{'; '.join(telling)}.", step=step))
    threads, cores = now.threads or 1, now.cores or 1
    if threads > cores:
        title = f"The run keeps its {threads} threads, though this machine has {cores} cores."
        advice = (
            f"So its sums stay the same to the bit, but it is slow here. Resume with --set precision.threads={cores} to be "
            "faster; the last digits then differ."
        )
        fix = {"precision.threads": cores}
        found.append(inform(title, advice, step=step, fix=fix))
    return found


def _matters(key: str, before: Environment, now: Environment) -> bool:
    """Whether the difference in ``key`` touches what computes; the kind of device explains what follows from it."""
    if key == "device_type":
        return True
    if before.device_type not in (None, now.device_type):
        return key == "torch"
    if key in ("instructions", "threads"):
        return now.device_type == "cpu"
    if key in ("cuda", "cudnn"):
        return now.device_type == "cuda"
    return True


def _say_change(name: str, old: object, new: object) -> str:
    return f"{name} {'none' if old is None else old} → {'none' if new is None else new}"


def _find_version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:  # an engine may do without
        return None
