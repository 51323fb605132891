"""Buckets of gradients that go off during the backward pass, as on GPUs: every rank sends as many as any other, also where one is cut short."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from training.engine.ranks import gradients
from training.engine.ranks.gradients import GradientSum
from training.engine.ranks.group import Ranks


class Doubling(Ranks):
    """As beside another rank that has the same gradients."""

    count = 2

    def __init__(self) -> None:
        self.sent: list[int] = []

    def begin_adding(self, tensor: Tensor) -> Callable[[], None]:
        self.sent.append(tensor.numel())
        tensor *= 2
        return lambda: None


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> nn.Sequential:
    monkeypatch.setattr(gradients, "travels_early", lambda device: True)
    monkeypatch.setattr(gradients, "BUCKET_BYTES", 1)  # one for each parameter
    return nn.Sequential(nn.Linear(3, 5), nn.Linear(5, 7))


def make_step(network: nn.Sequential, sums: GradientSum, hook: Callable[[Tensor], None] | None = None) -> None:
    network.zero_grad()
    sums.begin()
    sums.begin_last_pass()
    between = network[0](torch.ones(2, 3))
    if hook is not None:
        between.register_hook(hook)
    network[1](between).sum().backward()


def test_each_goes_off_once_it_is_whole_from_the_second_step_on(network: nn.Sequential) -> None:
    ranks = Doubling()
    sums = GradientSum(list(network.parameters()), ranks)
    make_step(network, sums)
    assert ranks.sent == []
    assert sums.finish()
    sums.cut_again()
    sums.put()
    assert ranks.sent == [7, 35, 5, 15]
    ranks.sent.clear()
    make_step(network, sums)
    assert ranks.sent == [7, 35, 5, 15]
    alone = [parameter.grad.clone() for parameter in network.parameters() if parameter.grad is not None]
    assert not sums.finish()
    sums.put()
    for parameter, own in zip(network.parameters(), alone, strict=True):
        torch.testing.assert_close(parameter.grad, 2 * own)


def test_a_step_that_is_cut_short_sends_what_the_others_wait_for_before_the_next_one(network: nn.Sequential) -> None:
    def run_out(gradient: Tensor) -> None:
        raise MemoryError

    ranks = Doubling()
    sums = GradientSum(list(network.parameters()), ranks)
    make_step(network, sums)
    sums.finish()
    sums.cut_again()
    sums.put()
    ranks.sent.clear()
    with pytest.raises(MemoryError):
        make_step(network, sums, run_out)
    assert (ranks.sent, sums.sent) == ([7, 35], 2)
    sums.expect(4)  # another rank has got through
    make_step(network, sums)
    assert ranks.sent == [7, 35, 5, 15] * 2
