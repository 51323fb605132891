"""The moving average equals torch's own, and a refused update leaves it as it was."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from training.optim.averaging import EMA


def net() -> nn.Sequential:
    torch.manual_seed(2)
    return nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Linear(6, 3))


def wander(model: nn.Module, step: int) -> None:
    generator = torch.Generator().manual_seed(step)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator))
    model(torch.randn(8, 4, generator=generator))  # moves batch norm's statistics


@pytest.mark.parametrize("decay", [0.0, 0.5, 0.999])
def test_equals_averaged_model(decay: float) -> None:
    model = net()
    theirs = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(decay), use_buffers=True)
    ours = EMA(model, decay)
    for step in range(30):
        wander(model, step)
        theirs.update_parameters(model)
        ours.update(torch.tensor(True) if step % 2 else True)
    averaged = ours.shadow
    assert set(averaged) == set(model.state_dict())
    for name, wanted in theirs.module.state_dict().items():
        if wanted.is_floating_point():
            torch.testing.assert_close(averaged[name], wanted, rtol=1e-6, atol=1e-7)
        else:
            assert torch.equal(averaged[name], model.state_dict()[name])
    assert int(ours.count) == 30


@pytest.mark.parametrize("refused", [[0], [3], [0, 1, 5]], ids=str)
def test_refused_updates_leave_no_trace(refused: list[int]) -> None:
    model, calm = net(), net()
    guarded, wanted = EMA(model, 0.9), EMA(calm, 0.9)
    for step in range(7):
        kept = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        wander(model, step)
        if step in refused:
            guarded.update(torch.tensor(False))
            model.load_state_dict(kept)
        else:
            guarded.update(torch.tensor(True))
            wander(calm, step)
            wanted.update()
    for name, tensor in guarded.shadow.items():
        assert torch.equal(tensor, wanted.shadow[name]), name
    assert int(guarded.count) == 7 - len(refused)


def test_swapped_puts_the_average_in_and_takes_it_out() -> None:
    model = net()
    ema = EMA(model, 0.9)
    for step in range(5):
        wander(model, step)
        ema.update()
    own = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    average = {name: tensor.clone() for name, tensor in ema.shadow.items()}
    places = [parameter.data_ptr() for parameter in model.parameters()]
    with ema.swap_weights():
        assert all(torch.equal(tensor, average[name]) for name, tensor in model.state_dict().items())
        assert [parameter.data_ptr() for parameter in model.parameters()] == places
    assert all(torch.equal(tensor, own[name]) for name, tensor in model.state_dict().items())
    assert all(torch.equal(tensor, average[name]) for name, tensor in ema.shadow.items())
    assert not torch.equal(own["0.weight"], average["0.weight"])


def test_swapped_restores_after_an_error() -> None:
    model = net()
    ema = EMA(model, 0.9)
    wander(model, 1)
    own = model.state_dict()["0.weight"].clone()
    with pytest.raises(ZeroDivisionError), ema.swap_weights():
        raise ZeroDivisionError
    assert torch.equal(model.state_dict()["0.weight"], own)


def test_goes_on_from_its_state() -> None:
    model, again = net(), net()
    whole, first = EMA(model, 0.7), EMA(again, 0.7)
    for step in range(6):
        wander(model, step)
        whole.update()
        wander(again, step)
        if step == 3:
            saved = {name: tensor.clone() for name, tensor in first.shadow.items()}
            first, updates = EMA(again, 0.7), int(first.count)
            first.load_state_dict(saved, updates)
        first.update()
    assert all(torch.equal(tensor, first.shadow[name]) for name, tensor in whole.shadow.items())


def test_average_is_not_the_model_itself() -> None:
    model = net()
    ema = EMA(model, 0.9)
    with torch.no_grad():
        model.get_parameter("0.weight").fill_(math.pi)
    assert not torch.equal(ema.shadow["0.weight"], model.get_parameter("0.weight"))
