"""Language modelling: the next token at every place of a text."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from training.config.objective import LanguageModel
from training.facts import IGNORED, DataFacts
from training.objectives.confusion import ratio
from training.objectives.numbers import widened
from training.objectives.objective import Counter, Objective


class LanguageModelObjective(Objective):
    """Cross-entropy over logits (n, T, tokens) and the tokens that follow (n, T) int64: the mean over all places that are
    not ``IGNORED``."""

    weighs = True
    probabilities = "softmax"

    def __init__(self, config: LanguageModel, facts: DataFacts, device: torch.device) -> None:
        super().__init__(facts, len(facts.names), device)
        if facts.vocabulary != "characters":
            self.unmeasured = {"bits_per_character": "the tokens are no characters"}
        self._label_smoothing = config.label_smoothing

    def loss_sum(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return functional.cross_entropy(
            widened(outputs).flatten(0, -2),
            targets.flatten(),
            ignore_index=IGNORED,
            reduction="sum",
            label_smoothing=self._label_smoothing,
        )

    def weigh(self, targets: Tensor) -> Tensor:
        return (targets != IGNORED).sum().float()

    def counters(self) -> Sequence[Counter]:
        return [_TokenCounter("bits_per_character" not in self.unmeasured, self.device)]

    def predict(self, outputs: Tensor) -> Tensor:
        """Probabilities of the next token (n, T, tokens), float32."""
        return functional.softmax(widened(outputs), dim=-1)

    def initial_loss(self) -> float:
        """log of the number of tokens: the cross-entropy of equal probabilities."""
        return math.log(self.outputs)


class _TokenCounter(Counter):
    """perplexity, e to the mean cross-entropy in nats; accuracy; bits_per_character, that mean in bits, where each token
    is a character."""

    def __init__(self, characters: bool, device: torch.device) -> None:
        self._characters = characters
        self._device = device
        kind = torch.float32 if device.type == "mps" else torch.float64
        self._nats = torch.zeros((), dtype=kind, device=device)
        self._counts = torch.zeros(2, dtype=torch.int64, device=device)  # tokens, right ones

    def update(self, outputs: Tensor, targets: Tensor) -> None:
        logits, targets = widened(outputs).flatten(0, -2), targets.flatten()
        self._nats.add_(functional.cross_entropy(logits, targets, ignore_index=IGNORED, reduction="sum"))
        seen = targets != IGNORED
        self._counts.add_(torch.stack([seen.sum(), ((logits.argmax(-1) == targets) & seen).sum()]))

    def compute(self) -> dict[str, float]:
        tokens, right = self._counts.tolist()
        nats = ratio(self._nats.item(), tokens)
        found = {"perplexity": math.exp(nats) if nats < 700.0 else math.inf, "accuracy": ratio(right, tokens)}
        if nats != nats:
            found["perplexity"] = math.nan
        return found | ({"bits_per_character": nats / math.log(2.0)} if self._characters else {})
