"""What a run ran on: versions, device, threads."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import version
from typing import Any

import numpy as np
import psutil
import torch

import training
from training.engine.device import describe_device


def environment(device: torch.device) -> dict[str, Any]:
    """Facts for ``environment.json``."""
    return {
        "trainwright": training.__version__,
        "python": platform.python_version(),
        "executable": sys.executable,
        "torch": torch.__version__,
        "torchvision": version("torchvision"),  # importing it would double the time an engine takes to start
        "numpy": np.__version__,
        "cuda": torch.version.cuda,
        "platform": platform.platform(),
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "memory_mb": psutil.virtual_memory().total // 2**20,
        "device": describe_device(device),
        "threads": torch.get_num_threads(),
    }
