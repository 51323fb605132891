"""Text by a language model: one token after another, each drawn from what the model expects."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from training.core import counter_rng


@torch.no_grad()
def generate(
    model: Callable[[Tensor], Tensor],
    prompt: Sequence[int],
    count: int,
    *,
    context: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    seed: int = 0,
    first: int = 0,
    device: torch.device | str = "cpu",
) -> Iterator[int]:
    """``count`` tokens that go on with ``prompt`` (at least one token), of which the model sees the last ``context``.

    ``model`` answers (1, T, V) logits to (1, T) int64 tokens on ``device`` and is in evaluation mode. Logits are divided by
    ``temperature``; 0 takes the likeliest token each time. Only the ``top_k`` likeliest are drawn from, and of these the fewest
    that together have the probability ``top_p`` (nucleus sampling: Holtzman et al. 2019). Token number n, from ``first`` on, is a
    function of ``seed``, n and what came before.
    """
    tokens = list(prompt)
    draws = counter_rng.uniform(seed, "generate", 0, torch.arange(first, first + count)).double()
    for number in range(count):
        seen = torch.tensor([tokens[-context:]], dtype=torch.int64, device=device)
        logits: Tensor = model(seen)[0, -1].double().cpu()
        tokens.append(_choose_token(logits, temperature, top_k, top_p, float(draws[number])))
        yield tokens[-1]


def _choose_token(logits: Tensor, temperature: float, top_k: int | None, top_p: float | None, draw: float) -> int:
    """The token at the place ``draw`` (0 to 1) of the distribution's running sum."""
    if temperature == 0.0:
        return int(logits.argmax())
    logits = logits / temperature
    if top_k is not None and top_k < len(logits):
        logits = logits.masked_fill(logits < torch.topk(logits, top_k).values[-1], float("-inf"))
    if top_p is not None and top_p < 1.0:
        likeliest = torch.sort(torch.softmax(logits, 0), descending=True, stable=True)
        before = likeliest.values.cumsum(0) - likeliest.values
        logits[likeliest.indices[before >= top_p]] = float("-inf")
    reached = torch.cumsum(torch.softmax(logits, 0), 0)
    return int(torch.searchsorted(reached, draw * reached[-1], right=True).clamp(max=len(logits) - 1))
