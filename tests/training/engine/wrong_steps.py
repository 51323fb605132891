"""Steps of ``core.step`` in wrong orders, written out whole: each runs to its end and gives other weights than torch's loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from tests.training.stepping import set_lr
from training.optim.averaging import WeightAverage


def rate_set_after_the_step(
    model: Any,
    parameters: Any,
    loss: Any,
    optimizer: Any,
    micro_batches: Any,
    lr: float,
    *,
    scaler: Any,
    autocast: Any,
    clip: Any,
    guard: Any,
) -> tuple[Tensor, Tensor, Any]:
    optimizer.zero_grad(set_to_none=True)
    total = torch.zeros(())
    for inputs, targets, weight in micro_batches:
        with autocast():
            outputs = model(inputs)
        part = loss(outputs, targets, weight)
        scaler.scale(part).backward()
        total = total + part.detach()
    scaler.unscale_(optimizer)
    norm = clip(parameters)
    stepped = guard(optimizer.step, norm)
    scaler.update()
    set_lr(optimizer, lr)
    return total, norm, stepped


def gradients_never_set_to_zero(
    model: Any,
    parameters: Any,
    loss: Any,
    optimizer: Any,
    micro_batches: Any,
    lr: float,
    *,
    scaler: Any,
    autocast: Any,
    clip: Any,
    guard: Any,
) -> tuple[Tensor, Tensor, Any]:
    set_lr(optimizer, lr)
    total = torch.zeros(())
    for inputs, targets, weight in micro_batches:
        with autocast():
            outputs = model(inputs)
        part = loss(outputs, targets, weight)
        scaler.scale(part).backward()
        total = total + part.detach()
    scaler.unscale_(optimizer)
    norm = clip(parameters)
    stepped = guard(optimizer.step, norm)
    scaler.update()
    return total, norm, stepped


def gradients_set_to_zero_for_each_micro_batch(
    model: Any,
    parameters: Any,
    loss: Any,
    optimizer: Any,
    micro_batches: Any,
    lr: float,
    *,
    scaler: Any,
    autocast: Any,
    clip: Any,
    guard: Any,
) -> tuple[Tensor, Tensor, Any]:
    set_lr(optimizer, lr)
    total = torch.zeros(())
    for inputs, targets, weight in micro_batches:
        optimizer.zero_grad(set_to_none=True)
        with autocast():
            outputs = model(inputs)
        part = loss(outputs, targets, weight)
        scaler.scale(part).backward()
        total = total + part.detach()
    scaler.unscale_(optimizer)
    norm = clip(parameters)
    stepped = guard(optimizer.step, norm)
    scaler.update()
    return total, norm, stepped


def gradients_set_to_zero_after_backward(
    model: Any,
    parameters: Any,
    loss: Any,
    optimizer: Any,
    micro_batches: Any,
    lr: float,
    *,
    scaler: Any,
    autocast: Any,
    clip: Any,
    guard: Any,
) -> tuple[Tensor, Tensor, Any]:
    set_lr(optimizer, lr)
    total = torch.zeros(())
    for inputs, targets, weight in micro_batches:
        with autocast():
            outputs = model(inputs)
        part = loss(outputs, targets, weight)
        scaler.scale(part).backward()
        total = total + part.detach()
    optimizer.zero_grad(set_to_none=False)
    scaler.unscale_(optimizer)
    norm = clip(parameters)
    stepped = guard(optimizer.step, norm)
    scaler.update()
    return total, norm, stepped


def clipped_before_unscaled(
    model: Any,
    parameters: Any,
    loss: Any,
    optimizer: Any,
    micro_batches: Any,
    lr: float,
    *,
    scaler: Any,
    autocast: Any,
    clip: Any,
    guard: Any,
) -> tuple[Tensor, Tensor, Any]:
    set_lr(optimizer, lr)
    optimizer.zero_grad(set_to_none=True)
    total = torch.zeros(())
    for inputs, targets, weight in micro_batches:
        with autocast():
            outputs = model(inputs)
        part = loss(outputs, targets, weight)
        scaler.scale(part).backward()
        total = total + part.detach()
    norm = clip(parameters)
    scaler.unscale_(optimizer)
    stepped = guard(optimizer.step, norm)
    scaler.update()
    return total, norm, stepped


def stepped_before_unscaled(
    model: Any,
    parameters: Any,
    loss: Any,
    optimizer: Any,
    micro_batches: Any,
    lr: float,
    *,
    scaler: Any,
    autocast: Any,
    clip: Any,
    guard: Any,
) -> tuple[Tensor, Tensor, Any]:
    set_lr(optimizer, lr)
    optimizer.zero_grad(set_to_none=True)
    total = torch.zeros(())
    for inputs, targets, weight in micro_batches:
        with autocast():
            outputs = model(inputs)
        part = loss(outputs, targets, weight)
        scaler.scale(part).backward()
        total = total + part.detach()
    norm = torch.nn.utils.get_total_norm([parameter.grad for parameter in parameters])
    stepped = guard(optimizer.step, norm)
    scaler.unscale_(optimizer)
    clip(parameters)
    scaler.update()
    return total, norm, stepped


def stepped_before_clipped(
    model: Any,
    parameters: Any,
    loss: Any,
    optimizer: Any,
    micro_batches: Any,
    lr: float,
    *,
    scaler: Any,
    autocast: Any,
    clip: Any,
    guard: Any,
) -> tuple[Tensor, Tensor, Any]:
    set_lr(optimizer, lr)
    optimizer.zero_grad(set_to_none=True)
    total = torch.zeros(())
    for inputs, targets, weight in micro_batches:
        with autocast():
            outputs = model(inputs)
        part = loss(outputs, targets, weight)
        scaler.scale(part).backward()
        total = total + part.detach()
    scaler.unscale_(optimizer)
    norm = torch.nn.utils.get_total_norm([parameter.grad for parameter in parameters])
    stepped = guard(optimizer.step, norm)
    clip(parameters)
    scaler.update()
    return total, norm, stepped


def stepped_for_each_micro_batch(
    model: Any,
    parameters: Any,
    loss: Any,
    optimizer: Any,
    micro_batches: Any,
    lr: float,
    *,
    scaler: Any,
    autocast: Any,
    clip: Any,
    guard: Any,
) -> tuple[Tensor, Tensor, Any]:
    set_lr(optimizer, lr)
    optimizer.zero_grad(set_to_none=True)
    total = torch.zeros(())
    for inputs, targets, weight in micro_batches:
        with autocast():
            outputs = model(inputs)
        part = loss(outputs, targets, weight)
        scaler.scale(part).backward()
        total = total + part.detach()
        scaler.unscale_(optimizer)
        norm = clip(parameters)
        stepped = guard(optimizer.step, norm)
        scaler.update()
    return total, norm, stepped


def average_before_the_step(
    model: Any,
    parameters: Any,
    loss: Any,
    optimizer: Any,
    micro_batches: Any,
    lr: float,
    *,
    scaler: Any,
    autocast: Any,
    clip: Any,
    guard: Any,
    average: WeightAverage,
) -> tuple[Tensor, Tensor, Any]:
    set_lr(optimizer, lr)
    optimizer.zero_grad(set_to_none=True)
    total = torch.zeros(())
    for inputs, targets, weight in micro_batches:
        with autocast():
            outputs = model(inputs)
        part = loss(outputs, targets, weight)
        scaler.scale(part).backward()
        total = total + part.detach()
    scaler.unscale_(optimizer)
    norm = clip(parameters)
    average.update(bool(torch.isfinite(norm)))
    stepped = guard(optimizer.step, norm)
    scaler.update()
    return total, norm, stepped


WRONG: list[Callable[..., Any]] = [
    rate_set_after_the_step,
    gradients_never_set_to_zero,
    gradients_set_to_zero_for_each_micro_batch,
    gradients_set_to_zero_after_backward,
    clipped_before_unscaled,
    stepped_before_unscaled,
    stepped_before_clipped,
    stepped_for_each_micro_batch,
    average_before_the_step,
]
