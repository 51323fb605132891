"""What a model is built for is what the data then gives."""

from dataclasses import replace

import pytest
import torch

from training.config import RunConfig
from training.data.inspect import input_facts
from training.data.preparation import prepare


@pytest.mark.parametrize(
    "dataset",
    [{"kind": "shapes", "samples": 60, "image_size": 20}, {"kind": "spiral", "samples": 30}],
    ids=lambda d: d["kind"],
)
def test_input_facts_are_those_of_the_prepared_data(dataset: dict[str, object]) -> None:
    config = RunConfig.model_validate({"dataset": dataset, "model": {"kind": "mlp"}})
    with prepare(config, torch.device("cpu")) as data:
        assert input_facts(config) == replace(data.facts, ranges=())  # which only reading tells
