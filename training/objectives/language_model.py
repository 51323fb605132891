"""Language modelling: the next token at every place of a text."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from training.config.sections.objective import LanguageModel
from training.core.losses import Loss, token_cross_entropy, weigh_classes, widen
from training.core.scores import Metric, bits_per_token, count_correct, perplexity, sum_nats
from training.facts import DataFacts
from training.objectives.objective import Objective


class LanguageModelObjective(Objective):
    """Cross-entropy over logits (n, T, tokens) and the tokens that follow (n, T) int64: the mean over all places that are
    not to be ignored. Bits per character are measured where each token is a character."""

    probabilities = "softmax"

    def __init__(self, config: LanguageModel, facts: DataFacts, device: torch.device) -> None:
        super().__init__(facts, len(facts.names), device)
        if facts.vocabulary != "characters":
            self.unmeasured = {"bits_per_character": "the tokens are no characters"}
        smoothing: dict[str, Any] = {"label_smoothing": config.label_smoothing} if config.label_smoothing else {}
        self.loss = Loss(partial(token_cross_entropy, **smoothing), weigh_classes)
        self.metrics = {"perplexity": Metric(sum_nats, perplexity), "accuracy": Metric(count_correct)}
        if not self.unmeasured:
            self.metrics |= {"bits_per_character": Metric(sum_nats, bits_per_token)}

    def predict(self, outputs: Tensor) -> Tensor:
        """Probabilities of the next token (n, T, tokens), float32."""
        return functional.softmax(widen(outputs), dim=-1)

    def initial_loss(self) -> float:
        """log of the number of tokens: the cross-entropy of equal probabilities."""
        return math.log(self.outputs)
