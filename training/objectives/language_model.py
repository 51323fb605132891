"""Language modeling: the next token at every place of a text."""

from __future__ import annotations

import math

import torch

from training.config.sections.objective import LanguageModel
from training.core.losses import Loss, token_cross_entropy, weigh_classes
from training.core.scores import Metric, bits_per_token, count_correct, perplexity, sum_nats
from training.facts import DataFacts
from training.objectives.objective import Objective, bind


def make_language_model(config: LanguageModel, facts: DataFacts, device: torch.device) -> Objective:
    """Cross-entropy over logits (n, T, tokens) and the tokens that follow (n, T) int64: the mean over all places that are
    not to be ignored. Bits per character are measured where each token is a character."""
    metrics = {"perplexity": Metric(sum_nats, perplexity), "accuracy": Metric(count_correct)}
    bits = {"bits_per_character": Metric(sum_nats, bits_per_token)}
    of_characters = facts.vocabulary == "characters"
    return Objective(
        outputs=len(facts.names),
        loss=Loss(bind(token_cross_entropy, label_smoothing=config.label_smoothing or None), weigh_classes),
        metrics=metrics | bits if of_characters else metrics,
        unmeasured={} if of_characters else {"bits_per_character": "the tokens are no characters"},
        probabilities="softmax",
        initial_loss=math.log(len(facts.names)),  # of equal probabilities
    )
