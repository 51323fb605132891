"""The spiral as an Accelerate script, for ``tests.benchmarks.start``: prints when its first step was done, and ends there."""

import math
import time

import numpy as np
import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

EPOCHS, WARM_UP = 40, 50

torch.manual_seed(0)
accelerator = Accelerator(cpu=True)
generator = np.random.default_rng(0)
arms = np.arange(3000) % 3
radius = np.sqrt(generator.uniform(size=len(arms)))
angle = 4 * radius + 2 * np.pi / 3 * arms + 0.2 * generator.normal(size=len(arms))
points = torch.from_numpy(np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1)).float()
points = (points - points.mean(0)) / points.std(0)
order = torch.randperm(len(points))
samples = TensorDataset(points[order[600:]], torch.from_numpy(arms)[order[600:]])
loader = DataLoader(samples, batch_size=64, shuffle=True)
model = nn.Sequential(nn.Linear(2, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 3))
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
rest = EPOCHS * len(loader) - WARM_UP


def factor(step: int) -> float:
    """By which the rate of ``step`` is multiplied: warm-up, then cosine."""
    return (step + 1) / WARM_UP if step < WARM_UP else 0.5 * (1 + math.cos(math.pi * (step - WARM_UP) / rest))


scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
criterion = nn.CrossEntropyLoss()
inputs, targets = next(iter(loader))
loss = criterion(model(inputs), targets)
accelerator.backward(loss)
accelerator.clip_grad_norm_(model.parameters(), 1.0)
optimizer.step()
scheduler.step()
optimizer.zero_grad()
print(time.time(), flush=True)
