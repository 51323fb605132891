"""A small GPT: a decoder-only transformer that predicts the next token at each place.

The blocks are those of GPT-2 (Radford et al. 2019): norms before attention and MLP, weights drawn with a standard deviation of
0.02, those that end a residual branch with 0.02 / sqrt(2 * layers). Rotary positions: Su et al. 2021, arXiv 2104.09864, in the
form of GPT-NeoX (the halves of a head belong together). Weight tying: Press and Wolf 2017, arXiv 1608.05859.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from training.config.sections.data.text import Gpt as GptSettings
from training.errors import InputError
from training.facts import DataFacts

_SPREAD = 0.02
_ROTARY_BASE = 10_000.0


def make_gpt(config: GptSettings, facts: DataFacts, outputs: int) -> Gpt:
    """(B, T) int64 tokens to (B, T, outputs) logits, T at most the context of the data. Raises InputError for other data."""
    if facts.layout != "tokens" or outputs != len(facts.names):
        raise InputError(
            "model.kind: gpt predicts the next token of a text; choose text data and the task language_model."
        )
    return Gpt(vocabulary=outputs, context=facts.shape[0], **config.model_dump(exclude={"kind"}))


class Gpt(nn.Module):
    """(B, T) int64 tokens to (B, T, vocabulary) logits of the token after each; T is at most ``context``."""

    rotation: Tensor | None

    def __init__(
        self,
        vocabulary: int,
        context: int,
        layers: int,
        heads: int,
        width: int,
        dropout: float,
        positions: str,
        norm: str,
        activation: str,
        bias: bool,
        tie_weights: bool,
    ) -> None:
        super().__init__()
        self.vocabulary, self.context = vocabulary, context
        self.layers, self.heads, self.width = layers, heads, width
        self.dropout, self.positions, self.norm = dropout, positions, norm
        self.activation, self.bias, self.tie_weights = activation, bias, tie_weights
        self.token_embedding = nn.Embedding(vocabulary, width)
        learned = positions == "learned"
        self.position_embedding = nn.Embedding(context, width) if learned else None
        self.embedding_dropout = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(
            Block(heads, width, dropout, _norm(norm, width, bias), _norm(norm, width, bias), activation, bias)
            for _ in range(layers)
        )
        self.last_norm = _norm(norm, width, bias)
        self.head = TiedLinear(self.token_embedding) if tie_weights else nn.Linear(width, vocabulary, bias=False)
        self.register_buffer("rotation", None if learned else rotation(context, width // heads), persistent=False)
        self._draw_weights()

    def forward(self, tokens: Tensor) -> Tensor:
        """(B, T, vocabulary)"""
        places = tokens.shape[1]
        x = self.token_embedding(tokens)
        if self.position_embedding is not None:
            x = x + self.position_embedding.weight[:places]
        turned = None if self.rotation is None else self.rotation[:, :places]
        x = self.embedding_dropout(x)
        for block in self.blocks:
            x = block(x, turned)
        logits: Tensor = self.head(self.last_norm(x))
        return logits

    def _draw_weights(self) -> None:
        for name, module in self.named_modules():
            if isinstance(module, nn.Linear | nn.Embedding) and not isinstance(module, TiedLinear):
                ends_branch = name.endswith((".project", ".shrink"))
                nn.init.normal_(module.weight, std=_SPREAD / math.sqrt(2 * self.layers) if ends_branch else _SPREAD)
            if isinstance(module, nn.Linear) and module.bias is not None:
                nn.init.zeros_(module.bias)


class Block(nn.Module):
    """Attention to all earlier places, then an MLP at each; both add to what came in."""

    def __init__(
        self, heads: int, width: int, dropout: float, norm: nn.Module, mlp_norm: nn.Module, activation: str, bias: bool
    ) -> None:
        super().__init__()
        self.attention_norm = norm
        self.attention = Attention(heads, width, dropout, bias)
        self.mlp_norm = mlp_norm
        self.mlp = Mlp(width, dropout, activation, bias)

    def forward(self, x: Tensor, rotation: Tensor | None) -> Tensor:
        """(B, T, width) from (B, T, width)"""
        x = x + self.attention(self.attention_norm(x), rotation)
        made: Tensor = x + self.mlp(self.mlp_norm(x))
        return made


class Attention(nn.Module):
    """Scaled dot-product attention of several heads; no place sees a later one."""

    def __init__(self, heads: int, width: int, dropout: float, bias: bool) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width, bias=bias)
        self.project = nn.Linear(width, width, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, rotation: Tensor | None) -> Tensor:
        """(B, T, width) from (B, T, width)"""
        batch, places, width = x.shape
        split = self.qkv(x).view(batch, places, 3, self.heads, width // self.heads)
        queries, keys, values = split.permute(2, 0, 3, 1, 4).unbind(0)
        if rotation is not None:
            queries, keys = apply_rotary(queries, rotation), apply_rotary(keys, rotation)
        dropout = self.dropout.p if self.training else 0.0
        seen = functional.scaled_dot_product_attention(queries, keys, values, dropout_p=dropout, is_causal=True)
        made: Tensor = self.dropout(self.project(seen.transpose(1, 2).reshape(batch, places, width)))
        return made


class Mlp(nn.Module):
    """Two linear layers, four times as wide between them."""

    def __init__(self, width: int, dropout: float, activation: str, bias: bool) -> None:
        super().__init__()
        self.grow = nn.Linear(width, 4 * width, bias=bias)
        self.shrink = nn.Linear(4 * width, width, bias=bias)
        self.dropout = nn.Dropout(dropout)
        self.activation = activation

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, width) from (B, T, width)"""
        made: Tensor = self.dropout(self.shrink(_ACTIVATIONS[self.activation](self.grow(x))))
        return made


class TiedLinear(nn.Linear):
    """A linear layer on the weights of an embedding. Files hold them once, under the embedding's name."""

    def __init__(self, embedding: nn.Embedding) -> None:
        super().__init__(embedding.embedding_dim, embedding.num_embeddings, bias=False, device="meta")
        self.weight = embedding.weight

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        pass

    def _load_from_state_dict(self, *_: Any) -> None:
        pass


def relu_squared(x: Tensor) -> Tensor:
    """So et al. 2021, arXiv 2109.08668."""
    return functional.relu(x).square()


_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": functional.gelu,
    "silu": functional.silu,
    "relu": functional.relu,
    "relu_squared": relu_squared,
}


def _norm(kind: str, width: int, bias: bool) -> nn.Module:
    return nn.LayerNorm(width, bias=bias) if kind == "layer" else nn.RMSNorm(width, eps=1e-5)


def rotation(places: int, width: int) -> Tensor:
    """(2, places, width / 2): cosine and sine of the angle by which each place turns each pair of a head of ``width``."""
    pairs = torch.arange(width // 2, dtype=torch.float64)
    angles = torch.outer(torch.arange(places, dtype=torch.float64), _ROTARY_BASE ** (-2.0 * pairs / width))
    return torch.stack([angles.cos(), angles.sin()]).float()


def apply_rotary(x: Tensor, rotation: Tensor) -> Tensor:
    """``x`` (B, heads, T, width) with number i and number i + width / 2 of each head turned as a point in the plane."""
    cosine, sine = rotation[0], rotation[1]
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cosine - second * sine, second * cosine + first * sine], dim=-1).to(x.dtype)
