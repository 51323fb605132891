"""Text that a language model goes on with, piece by piece."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from training.answering.model import UsableModel
from training.answering.samples import encode_text
from training.data.texts.vocabulary import Vocabulary
from training.errors import InputError
from training.models.generate import generate

_MOST_TOKENS = 1_000_000
_MOST_BYTES = 4
"""Of a character in UTF-8."""


@dataclass(frozen=True)
class Sampling:
    """How the next ``tokens`` are drawn, as ``models.generate`` says."""

    tokens: int = 500
    temperature: float = 0.8
    top_k: int | None = None
    top_p: float | None = None
    seed: int = 0

    def require_bounds(self, prompt: str, call: Callable[[str], str]) -> None:
        """Raise InputError for a number out of bounds and an empty prompt; ``call`` says what a setting is called."""
        if not 0 <= self.tokens <= _MOST_TOKENS:
            raise InputError(f"{call('tokens')} {self.tokens}: must be between 0 and {_MOST_TOKENS:,}.")
        if not math.isfinite(self.temperature) or self.temperature < 0.0:
            raise InputError(f"{call('temperature')} {self.temperature:g}: must be 0 or greater, for example 0.8.")
        if self.top_k is not None and self.top_k < 1:
            raise InputError(f"{call('top_k')} {self.top_k}: must be at least 1.")
        if self.top_p is not None and not 0.0 < self.top_p <= 1.0:
            raise InputError(f"{call('top_p')} {self.top_p:g}: must be greater than 0 and at most 1.")
        if not 0 <= self.seed < 1 << 31:
            raise InputError(f"{call('seed')} {self.seed}: must be between 0 and {(1 << 31) - 1:,}.")
        if not prompt:
            raise InputError(f"{call('prompt')}: must hold something to go on with.")


def continue_text(model: UsableModel, prompt: str, sampling: Sampling, call: str = "--prompt") -> Iterator[str]:
    """Piece by piece what ``model`` adds to ``prompt``, whole characters each; ``call`` is what the prompt is called. Raises InputError
    at once for a model of no text, and for a prompt it cannot read."""
    tokens = read_prompt(model, prompt, call)  # first: a model of no text has no vocabulary
    return join_pieces(model.vocabulary, continue_tokens(model, tokens, sampling))


def read_prompt(model: UsableModel, prompt: str, call: str) -> list[int]:
    """Its tokens. Raises InputError as ``continue_text`` says."""
    if model.kind != "tokens":
        raise InputError(
            f"{model.path} is no language model (its task is {model.record.task}); choose another checkpoint."
        )
    try:
        return encode_text(model, prompt).tolist()
    except InputError as error:
        raise InputError(f"{call}: {error.message}.") from error


def continue_tokens(model: UsableModel, tokens: list[int], sampling: Sampling, first: int = 0) -> Iterator[int]:
    """The tokens that follow ``tokens``, of which the last ``first`` were drawn before."""

    def ask(seen: Tensor) -> Tensor:
        return torch.from_numpy(model.token_logits(seen[0].tolist())).unsqueeze(0)

    return generate(
        ask,
        tokens,
        sampling.tokens,
        context=model.data.shape[0],
        temperature=sampling.temperature,
        top_k=sampling.top_k,
        top_p=sampling.top_p,
        seed=sampling.seed,
        first=first,
    )


def join_pieces(vocabulary: Vocabulary, tokens: Iterator[int]) -> Iterator[str]:
    """The text of ``tokens`` as they come, in pieces of whole characters."""
    waiting: list[int] = []
    for token in tokens:
        waiting.append(token)
        piece = vocabulary.decode(waiting)
        # Half a character of several bytes waits for the rest; one that never comes is shown as what it is.
        if not piece.endswith("\ufffd") or len(waiting) >= _MOST_BYTES:
            yield piece
            waiting = []
    if waiting:
        yield vocabulary.decode(waiting)
