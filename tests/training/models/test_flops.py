"""The work of a step, against torch's own counter."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from tests.training.known_facts import sample_facts
from training.config.sections.data.text import Gpt
from training.config.sections.model import Mlp, SmallCnn, UNet
from training.config.sections.pretrained import TorchvisionModel
from training.facts import DataFacts
from training.models import make_model
from training.models.flops import FLOP, step_flops

Section = SmallCnn | Mlp | UNet | TorchvisionModel
CASES: list[tuple[Section, tuple[int, ...]]] = [
    (Mlp(hidden=(128, 128)), (2,)),
    (SmallCnn(channels=(8, 16), hidden=32), (1, 28, 28)),
    (UNet(depth=2, width=8, up="transposed"), (3, 32, 32)),
    (TorchvisionModel(name="resnet18"), (3, 64, 64)),
    (TorchvisionModel(name="swin_t"), (3, 64, 64)),
]


@pytest.mark.slow
@pytest.mark.parametrize(("section", "shape"), CASES)
def test_the_work_is_what_torch_counts(section: Section, shape: tuple[int, ...]) -> None:
    model = make_model(section, sample_facts(shape), 10, 0)
    with FlopCounterMode(display=False) as counter:
        model(torch.randn(4, *shape)).sum().backward()
    # torch leaves out the first layer's gradient for its inputs, which nobody asks for
    assert step_flops(model, sample_facts(shape), 4) == pytest.approx(counter.get_total_flops(), rel=0.15)


def products(model: nn.Module, tokens: Tensor) -> int:
    """As torch counts those of a forward pass, which does so where attention is computed product by product."""
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
            model.eval()(tokens)
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
    return int(counter.get_total_flops()) // 2


def test_the_products_of_attention_count() -> None:
    facts = DataFacts("tokens", (96,), "tokens", tuple("abcdef"))
    gpt = make_model(Gpt(layers=2, heads=2, width=16), facts, 6, 0)
    counted = products(gpt, torch.zeros(1, 96, dtype=torch.int64))
    assert counted > 1.9 * sum(weight.numel() * 96 for weight in gpt.parameters())  # half of it is attention
    assert step_flops(gpt, facts, 3) == 3 * FLOP * counted
    attention = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(16, 2, 8, batch_first=True), 1, enable_nested_tensor=False
    )
    model = nn.Sequential(nn.Conv2d(3, 16, 4, 4), nn.Flatten(2), Turned(), attention)
    assert step_flops(model, sample_facts((3, 64, 64)), 1) == FLOP * products(model, torch.zeros(1, 3, 64, 64))


class Turned(nn.Module):
    """(B, C, N) -> (B, N, C)"""

    def forward(self, x: Tensor) -> Tensor:
        return x.transpose(1, 2)


def test_looking_leaves_the_network_as_it_was() -> None:
    model = make_model(TorchvisionModel(name="resnet18"), sample_facts((3, 64, 64)), 10, 0).train()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    modes = [module.training for module in model.modules()]
    state = torch.get_rng_state()
    step_flops(model, sample_facts((3, 64, 64)), 4, math.inf)
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
    assert [module.training for module in model.modules()] == modes
    assert torch.equal(torch.get_rng_state(), state)
    assert not any(module._forward_hooks for module in model.modules())


def test_nothing_is_computed_where_the_weights_alone_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    model = make_model(Mlp(hidden=(128, 128)), sample_facts((2,)), 3, 0)
    monkeypatch.setattr(model, "forward", lambda *_: pytest.fail("a sample was sent through"))
    assert step_flops(model, sample_facts((2,)), 64, enough=1e6) >= 1e6
