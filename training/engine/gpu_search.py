"""Why torch has no GPU where a person could expect one: left to the program, or asked for."""

from __future__ import annotations

import os
from dataclasses import dataclass

import torch

from training.events import Finding
from training.findings.machine import GPU
from training.system.gpus import NvidiaTraces

_CPU_MEANT = "Where the CPU is meant, set precision.device to cpu."


@dataclass(frozen=True)
class Obstacle:
    """Why torch cannot use the NVIDIA device of this machine, as the end of a sentence, and what to do."""

    reason: str
    remedy: str


def find_obstacle(traces: NvidiaTraces) -> Obstacle | None:
    """What stands between torch, which finds no GPU, and an NVIDIA device that is there; None where there is none."""
    if not traces.device:
        return None
    hidden = os.environ.get("CUDA_VISIBLE_DEVICES")
    if torch.version.cuda is None:
        return Obstacle(
            f"this torch ({torch.__version__}) is built without CUDA.",
            "Install a build with CUDA into the environment of the engine (pytorch.org, Get Started).",
        )
    if hidden is not None and hidden.strip() in ("", "-1"):
        how = f"is {hidden.strip()}" if hidden.strip() else "is empty"
        return Obstacle(
            f"CUDA_VISIBLE_DEVICES {how}, which hides it.",
            "Unset the variable, or set it to the GPU's number (0), and start again.",
        )
    if not traces.driver:
        return Obstacle(
            "no NVIDIA driver is loaded.",
            "Install the driver; in a container, start it with access to the GPU (--gpus all).",
        )
    which = "" if traces.driver == "installed" else f" {traces.driver}"
    return Obstacle(
        f"torch ({torch.__version__}, CUDA {torch.version.cuda}) cannot use it through the NVIDIA driver{which}.",
        "Update the driver, or install a torch for an older CUDA; nvidia-smi tells which CUDA the driver knows.",
    )


def explain_cpu(traces: NvidiaTraces) -> Finding | None:
    """A warning for a run that computes on the CPU of a machine with an NVIDIA device; None where there is none."""
    obstacle = find_obstacle(traces)
    if obstacle is None:
        return None
    title = "There is an NVIDIA GPU in this machine, but the run computes on the CPU"
    return GPU.find("warning", f"{title}: {obstacle.reason}", f"{obstacle.remedy} {_CPU_MEANT}")


def explain_missing(traces: NvidiaTraces) -> str:
    """Why there is no GPU for somebody who asked for one, and what to do."""
    obstacle = find_obstacle(traces)
    if obstacle is not None:
        return f"torch finds no GPU here, though there is one of NVIDIA's: {obstacle.reason} {obstacle.remedy}"
    if torch.version.cuda is None and torch.version.hip is None:
        return f"this torch ({torch.__version__}) is built for the CPU alone; use auto or cpu, or install a build for your GPU."
    return "torch finds no NVIDIA or AMD GPU here; use auto or cpu, or check the driver."


def describe_absence(traces: NvidiaTraces) -> str:
    """What to say beside "CPU" where torch is built for GPUs and there is none: nothing that has to be mended."""
    if traces.device or torch.version.cuda is None:
        return ""
    return f"torch is built for CUDA {torch.version.cuda}; there is no NVIDIA GPU here"
