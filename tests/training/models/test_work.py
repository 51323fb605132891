"""The work of a step, against torch's own counter."""

from __future__ import annotations

import math

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from tests.training.known_facts import sample_facts
from training.config.model import Mlp, SmallCnn
from training.config.zoo import TorchvisionModel
from training.models import make_model
from training.models.work import step_work

CASES: list[tuple[SmallCnn | Mlp | TorchvisionModel, tuple[int, ...]]] = [
    (Mlp(hidden=(128, 128)), (2,)),
    (SmallCnn(channels=(8, 16), hidden=32), (1, 28, 28)),
    (TorchvisionModel(name="resnet18"), (3, 64, 64)),
]


@pytest.mark.parametrize(("section", "shape"), CASES)
def test_the_work_is_what_torch_counts(section: SmallCnn | Mlp | TorchvisionModel, shape: tuple[int, ...]) -> None:
    model = make_model(section, sample_facts(shape), 10, 0)
    with FlopCounterMode(display=False) as counter:
        model(torch.randn(4, *shape)).sum().backward()
    # torch leaves out the first layer's gradient for its inputs, which nobody asks for
    assert step_work(model, sample_facts(shape), 4) == pytest.approx(counter.get_total_flops(), rel=0.15)


def test_looking_leaves_the_network_as_it_was() -> None:
    model = make_model(TorchvisionModel(name="resnet18"), sample_facts((3, 64, 64)), 10, 0).train()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    modes = [module.training for module in model.modules()]
    state = torch.get_rng_state()
    step_work(model, sample_facts((3, 64, 64)), 4, math.inf)
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
    assert [module.training for module in model.modules()] == modes
    assert torch.equal(torch.get_rng_state(), state)
    assert not any(module._forward_hooks for module in model.modules())


def test_nothing_is_computed_where_the_weights_alone_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    model = make_model(Mlp(hidden=(128, 128)), sample_facts((2,)), 3, 0)
    monkeypatch.setattr(model, "forward", lambda *_: pytest.fail("a sample was sent through"))
    assert step_work(model, sample_facts((2,)), 64, enough=1e6) >= 1e6
