"""The GPT is the transformer of its papers, sees no later token, and holds tied weights once."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from training.config.sections.data.text import Gpt as GptSettings
from training.config.sections.optimizer import AdamW, Muon
from training.errors import InputError
from training.facts import DataFacts
from training.models.factory import make_model
from training.models.flops import step_flops
from training.models.generate import generate
from training.models.networks.gpt import Gpt, TiedLinear, apply_rotary, rotation
from training.models.networks.stages import stages
from training.models.summary import summarize
from training.optim.configured_groups import parameter_groups

CONTEXT, TOKENS = 12, 11


def text_facts(context: int = CONTEXT, tokens: int = TOKENS) -> DataFacts:
    return DataFacts("tokens", (context,), "tokens", tuple(map(str, range(tokens))), vocabulary="characters")


def gpt(seed: int = 0, **settings: Any) -> Gpt:
    config = GptSettings(**{"layers": 2, "heads": 2, "width": 8, **settings})
    made = make_model(config, text_facts(), TOKENS, seed)
    assert isinstance(made, Gpt)
    return made.eval()


def some_tokens(batch: int = 3, places: int = CONTEXT) -> Tensor:
    return torch.randint(0, TOKENS, (batch, places), generator=torch.Generator().manual_seed(1))


# ------------------------------------------------------------------------------------ the same by hand, in float64


def normed(x: Tensor, weights: dict[str, Tensor], name: str, kind: str) -> Tensor:
    if kind == "layer":
        x = x - x.mean(-1, keepdim=True)
    made = x / (x.pow(2).mean(-1, keepdim=True) + 1e-5).sqrt() * weights[f"{name}.weight"]
    return made + weights.get(f"{name}.bias", torch.zeros((), dtype=torch.float64))


def linear(x: Tensor, weights: dict[str, Tensor], name: str) -> Tensor:
    return x @ weights[f"{name}.weight"].T + weights.get(f"{name}.bias", torch.zeros((), dtype=torch.float64))


def turned(x: Tensor) -> Tensor:
    """(T, width): each pair of numbers as a complex one, multiplied by e^(i * place * 10000^(-2 * pair / width))."""
    places, width = x.shape
    pairs = torch.complex(x[:, : width // 2], x[:, width // 2 :])
    for place in range(places):
        for pair in range(width // 2):
            angle = place * 10_000.0 ** (-2 * pair / width)
            pairs[place, pair] *= complex(math.cos(angle), math.sin(angle))
    return torch.cat([pairs.real, pairs.imag], dim=1)


def attention_by_hand(x: Tensor, weights: dict[str, Tensor], name: str, heads: int, rotary: bool) -> Tensor:
    width = x.shape[1]
    all_queries, all_keys, all_values = linear(x, weights, f"{name}.qkv").split(width, dim=1)
    found = []
    for head in range(heads):
        own = slice(head * width // heads, (head + 1) * width // heads)
        queries, keys, values = all_queries[:, own], all_keys[:, own], all_values[:, own]
        if rotary:
            queries, keys = turned(queries), turned(keys)
        rows = []
        for place in range(len(x)):
            scores = torch.stack([queries[place] @ keys[earlier] for earlier in range(place + 1)])
            share = torch.softmax(scores / math.sqrt(width // heads), 0)
            rows.append((share.unsqueeze(1) * values[: place + 1]).sum(0))
        found.append(torch.stack(rows))
    return linear(torch.cat(found, dim=1), weights, f"{name}.project")


def by_hand(model: Gpt, tokens: Tensor) -> Tensor:
    """(T, tokens) logits of one text."""
    weights = {name: value.detach().double() for name, value in model.named_parameters()}
    activations: dict[str, Callable[[Tensor], Tensor]] = {
        "gelu": lambda z: z * 0.5 * (1 + torch.erf(z / math.sqrt(2))),
        "silu": lambda z: z / (1 + torch.exp(-z)),
        "relu": lambda z: z.clamp(min=0),
        "relu_squared": lambda z: z.clamp(min=0) ** 2,
    }
    activation = activations[model.activation]
    x = weights["token_embedding.weight"][tokens]
    if model.positions == "learned":
        x = x + weights["position_embedding.weight"][: len(tokens)]
    for number in range(model.layers):
        block = f"blocks.{number}"
        inside = normed(x, weights, f"{block}.attention_norm", model.norm)
        x = x + attention_by_hand(inside, weights, f"{block}.attention", model.heads, model.positions == "rotary")
        inside = normed(x, weights, f"{block}.mlp_norm", model.norm)
        x = x + linear(activation(linear(inside, weights, f"{block}.mlp.grow")), weights, f"{block}.mlp.shrink")
    head = weights.get("head.weight", weights["token_embedding.weight"])
    return normed(x, weights, "last_norm", model.norm) @ head.T


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"positions": "learned", "bias": True, "tie_weights": False},
        {"norm": "rms", "activation": "relu_squared"},
        {"activation": "silu", "heads": 4},
        {"norm": "rms", "activation": "relu", "positions": "learned", "heads": 1},
    ],
    ids=str,
)
def test_logits_are_those_computed_by_hand(settings: dict[str, Any]) -> None:
    model = gpt(**settings)
    with torch.no_grad():
        for parameter in model.parameters():  # biases and norms that begin as nothing would hide a fault
            parameter.add_(
                0.3 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(parameter.numel()))
            )
        tokens = some_tokens(2, 9)
        logits = model(tokens)
    assert logits.shape == (2, 9, TOKENS)
    for row, text in zip(logits, tokens, strict=True):
        torch.testing.assert_close(row.double(), by_hand(model, text), atol=2e-5, rtol=2e-5)


def test_rotary_scores_depend_on_the_distance_alone() -> None:
    places, width = 16, 6
    query, key = torch.randn(2, width, generator=torch.Generator().manual_seed(0))
    turns = rotation(places, width)
    queries, keys = (apply_rotary(vector.expand(1, 1, places, width), turns)[0, 0] for vector in (query, key))
    scores = queries @ keys.T
    for distance in range(places):
        diagonal = scores.diagonal(-distance)
        torch.testing.assert_close(diagonal, diagonal[0].expand(len(diagonal)), atol=1e-5, rtol=1e-5)
    assert scores[0, 0] == pytest.approx(float(query @ key), abs=1e-5)
    assert float(scores[:, 0].std()) > 0.1  # and do depend on it
    torch.testing.assert_close(queries.norm(dim=1), query.norm().expand(places))


@pytest.mark.parametrize("positions", ["rotary", "learned"])
def test_a_later_token_changes_no_earlier_logit(positions: str) -> None:
    model = gpt(positions=positions)
    tokens = some_tokens(1)
    with torch.no_grad():
        before = model(tokens)
        for place in range(CONTEXT):
            changed = tokens.clone()
            changed[0, place] = (changed[0, place] + 1) % TOKENS
            after = model(changed)
            assert torch.equal(after[:, :place], before[:, :place])
            assert not torch.equal(after[:, place], before[:, place])


def test_place_matters() -> None:
    for positions in ("rotary", "learned"):
        model = gpt(positions=positions)
        with torch.no_grad():
            first, second = model(torch.tensor([[1, 2, 3], [2, 1, 3]]))[:, -1]
        assert not torch.allclose(first, second, atol=1e-7)


def test_weights_are_drawn_as_gpt2_draws_them() -> None:
    model = make_model(GptSettings(layers=8, heads=4, width=128, bias=True), text_facts(64, 500), 500, seed=3)
    spreads = {name: float(value.detach().std()) for name, value in model.named_parameters()}
    for name, spread in spreads.items():
        if name.endswith("bias"):
            assert spread == 0.0
        elif "norm" not in name:
            expected = 0.02 / math.sqrt(16) if name.endswith(("project.weight", "shrink.weight")) else 0.02
            assert spread == pytest.approx(expected, rel=0.03), name


def test_weights_are_a_function_of_the_seed() -> None:
    state = torch.get_rng_state()
    one, same, other = gpt(seed=1).state_dict(), gpt(seed=1).state_dict(), gpt(seed=2).state_dict()
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert not torch.equal(one["token_embedding.weight"], other["token_embedding.weight"])


def test_gpt2_has_its_124_million_parameters() -> None:
    """124,439,808: https://huggingface.co/openai-community/gpt2, counted without the tied head."""
    settings = GptSettings(layers=12, heads=12, width=768, positions="learned", bias=True)
    with torch.device("meta"):
        model = Gpt(50257, 1024, **settings.model_dump(exclude={"kind"}))
    assert sum(parameter.numel() for parameter in model.parameters()) == 124_439_808


def test_tied_weights_are_one_tensor_and_saved_once() -> None:
    model = gpt()
    assert isinstance(model.head, TiedLinear)
    assert model.head.weight is model.token_embedding.weight
    assert "head.weight" not in model.state_dict()
    twin = copy.deepcopy(model)
    assert twin.head.weight is twin.token_embedding.weight
    assert twin.head.weight is not model.head.weight
    other = gpt(seed=5)
    other.load_state_dict(model.state_dict())
    with torch.no_grad():
        assert torch.equal(other(some_tokens()), model(some_tokens()))
    assert [name for name, _ in model.named_parameters()].count("head.weight") == 0
    free = gpt(tie_weights=False)
    assert "head.weight" in free.state_dict()
    with pytest.raises(RuntimeError, match="head"):
        free.load_state_dict(model.state_dict())


def test_stages_end_with_the_head() -> None:
    free, tied = stages(gpt(tie_weights=False)), stages(gpt())
    assert free[-1] == ["head.weight"]
    assert len(free) == len(tied) == 4
    assert all(name.startswith("blocks.1.") or name == "last_norm.weight" for name in free[-2])
    assert free[:-1] == tied[:-1]
    assert tied[-1] == []
    groups = parameter_groups(gpt(), Muon(), tied)
    named = {group["name"]: {id(each) for each in group["params"]} for group in groups}
    assert len(named["Muon"]) == 8  # four matrices of each block, the last one's, too
    with pytest.raises(InputError, match="the head's weights are those of the embedding"):
        parameter_groups(gpt(), AdamW(freeze="all_but_head"), tied)


def test_work_counts_every_place_and_the_tied_head() -> None:
    facts = text_facts()
    for tie_weights in (True, False):
        model = gpt(tie_weights=tie_weights)
        weights = 2 * 12 * 8 * 8 + TOKENS * 8  # of each block 4 width^2 in attention, 8 width^2 in the MLP
        attention = 2 * 2 * CONTEXT * 8  # for each place: of each block two products with every place, of the width
        assert step_flops(model, facts, batch_size=3) == 6 * 3 * (weights + attention) * CONTEXT


def test_summary_lists_the_layers() -> None:
    summary = summarize(gpt(), text_facts())
    rows = {layer.name: layer for layer in summary.layers}
    assert rows["token_embedding"].output_shape == (CONTEXT, 8)
    assert rows["head"].output_shape == (CONTEXT, TOKENS)
    assert rows["head"].parameters == 0
    assert summary.parameters == 2 * 12 * 64 + TOKENS * 8 + 5 * 8


def test_other_data_is_refused() -> None:
    points = DataFacts("vector", (2,), "class", ("no", "yes"))
    with pytest.raises(InputError, match="gpt predicts the next token of a text"):
        make_model(GptSettings(), points, 2, 0)


def test_dropout_acts_in_training_alone() -> None:
    model = gpt(dropout=0.5)
    tokens = some_tokens()
    with torch.no_grad():
        assert torch.equal(model(tokens), model(tokens))
        model.train()
        assert not torch.equal(model(tokens), model(tokens))


# --------------------------------------------------------------------------------------------------- generated text


def test_generated_text_is_a_function_of_seed_and_prompt() -> None:
    model = gpt()
    arguments: dict[str, Any] = {"context": CONTEXT, "temperature": 1.0, "seed": 7}
    once = list(generate(model, [1, 2], 40, **arguments))
    assert once == list(generate(model, [1, 2], 40, **arguments))
    assert once[:10] == list(generate(model, [1, 2], 10, **arguments))
    assert once != list(generate(model, [1, 2], 40, **{**arguments, "seed": 8}))
    assert set(once) <= set(range(TOKENS))
    assert len(set(once)) > 3


def test_temperature_zero_takes_the_likeliest_token() -> None:
    model = gpt()
    tokens = [3]
    for token in generate(model, [3], 20, context=CONTEXT, temperature=0.0):
        with torch.no_grad():
            assert token == int(model(torch.tensor([tokens[-CONTEXT:]]))[0, -1].argmax())
        tokens.append(token)
    assert list(generate(model, [3], 20, context=CONTEXT, temperature=1.0, top_k=1)) == tokens[1:]


class Fixed(torch.nn.Module):
    """Answers the same logits at every place."""

    def __init__(self, logits: Tensor) -> None:
        super().__init__()
        self.logits = torch.nn.Parameter(logits)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.logits.expand(*tokens.shape, -1)


@pytest.mark.slow
def test_tokens_are_drawn_as_often_as_expected() -> None:
    probabilities = torch.tensor([0.5, 0.25, 0.0, 0.2, 0.05])
    drawn = list(generate(Fixed(probabilities.log()), [0], 20_000, context=1, seed=1))
    shares = torch.bincount(torch.tensor(drawn), minlength=5) / len(drawn)
    torch.testing.assert_close(shares, probabilities, atol=0.012, rtol=0.0)  # over three standard deviations
    assert shares[2] == 0.0
    colder = list(generate(Fixed(probabilities.log()), [0], 20_000, context=1, temperature=0.5, seed=1))
    shares = torch.bincount(torch.tensor(colder), minlength=5) / len(colder)
    torch.testing.assert_close(shares, probabilities**2 / (probabilities**2).sum(), atol=0.012, rtol=0.0)
    kept = list(generate(Fixed(probabilities.log()), [0], 2000, context=1, top_k=2, seed=1))
    assert set(kept) == {0, 1}


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU")
@pytest.mark.parametrize("positions", ["rotary", "learned"])
def test_a_gpu_answers_alike(positions: str) -> None:
    model, tokens = gpt(positions=positions), some_tokens()
    with torch.no_grad():
        expected = model(tokens)
    likeliest = list(generate(model, [1], 20, context=CONTEXT, temperature=0.0))
    on_gpu = model.cuda()
    assert isinstance(on_gpu.head, TiedLinear)
    assert on_gpu.head.weight is on_gpu.token_embedding.weight
    with torch.no_grad():
        torch.testing.assert_close(on_gpu(tokens.cuda()).cpu(), expected, atol=1e-3, rtol=1e-3)
    assert list(generate(on_gpu, [1], 20, context=CONTEXT, temperature=0.0)) == likeliest
