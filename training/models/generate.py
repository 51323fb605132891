"""Text by a language model: one token after another, each drawn from what the model expects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn

from training.core import counter_rng


@torch.no_grad()
def generate(
    model: nn.Module,
    prompt: Sequence[int],
    count: int,
    *,
    context: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    seed: int = 0,
) -> Iterator[int]:
    """``count`` tokens that go on with ``prompt`` (at least one token), of which the model sees the last ``context``.

    ``model`` answers (1, T, V) logits to (1, T) int64 tokens and is in evaluation mode. Logits are divided by
    ``temperature``; 0 takes the likeliest token each time. Only the ``top_k`` likeliest are drawn from. Token number n
    is a function of ``seed``, n and what came before.
    """
    device = next(model.parameters()).device
    tokens = list(prompt)
    draws = counter_rng.uniform(seed, "generate", 0, torch.arange(count)).double()
    for number in range(count):
        seen = torch.tensor([tokens[-context:]], dtype=torch.int64, device=device)
        logits: Tensor = model(seen)[0, -1].double().cpu()
        tokens.append(_choose_token(logits, temperature, top_k, float(draws[number])))
        yield tokens[-1]


def _choose_token(logits: Tensor, temperature: float, top_k: int | None, draw: float) -> int:
    """The token at the place ``draw`` (0 to 1) of the distribution's running sum."""
    if temperature == 0.0:
        return int(logits.argmax())
    logits = logits / temperature
    if top_k is not None and top_k < len(logits):
        logits = logits.masked_fill(logits < torch.topk(logits, top_k).values[-1], float("-inf"))
    reached = torch.cumsum(torch.softmax(logits, 0), 0)
    return int(torch.searchsorted(reached, draw * reached[-1], right=True).clamp(max=len(logits) - 1))
