"""Language modelling: the next token at every place of a text."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from training.config.objective import LanguageModel
from training.core.losses import TokenCrossEntropy, widen
from training.core.scores import Metric, SummedMetrics, bits, count_tokens, perplexity, ratio, sum_nats
from training.facts import IGNORED, DataFacts
from training.objectives.objective import Objective


class LanguageModelObjective(Objective):
    """Cross-entropy over logits (n, T, tokens) and the tokens that follow (n, T) int64: the mean over all places that are
    not ``IGNORED``. Bits per character are measured where each token is a character."""

    probabilities = "softmax"

    def __init__(self, config: LanguageModel, facts: DataFacts, device: torch.device) -> None:
        super().__init__(facts, len(facts.names), device)
        if facts.vocabulary != "characters":
            self.unmeasured = {"bits_per_character": "the tokens are no characters"}
        self.loss = TokenCrossEntropy(IGNORED, config.label_smoothing)

    def make_metrics(self) -> Sequence[Metric]:
        nats = {"perplexity": perplexity, "bits_per_character": bits}
        return [
            SummedMetrics({name: score for name, score in nats.items() if name not in self.unmeasured}, sum_nats),
            SummedMetrics({"accuracy": ratio}, count_tokens),
        ]

    def predict(self, outputs: Tensor) -> Tensor:
        """Probabilities of the next token (n, T, tokens), float32."""
        return functional.softmax(widen(outputs), dim=-1)

    def initial_loss(self) -> float:
        """log of the number of tokens: the cross-entropy of equal probabilities."""
        return math.log(self.outputs)
