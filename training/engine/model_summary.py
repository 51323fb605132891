"""A network as the window shows it before a run."""

from __future__ import annotations

import torch

from training.config import RunConfig
from training.data.inspect import input_facts
from training.models import make_model, summarize
from training.models.networks.stages import stages
from training.objectives import make_objective
from training.optim.configured_groups import freeze_and_describe
from training.protocol.answers import ModelSummary, ParameterGroup


def summarize_model(config: RunConfig) -> ModelSummary:
    """The network of ``config`` for its data, with the groups its parameters are trained in. Raises InputError for settings that do not
    go together."""
    facts = input_facts(config)
    outputs = make_objective(config.objective, facts, torch.device("cpu")).outputs
    model = make_model(config.model, facts, outputs, config.seed)
    groups = freeze_and_describe(model, config.optimizer, stages(model))
    described = tuple(ParameterGroup.model_validate(group) for group in groups)
    return summarize(model, facts).model_copy(
        update={"input_shape": facts.shape, "outputs": outputs, "groups": described}
    )
