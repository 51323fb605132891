"""How many threads a run takes by itself, and how many samples at a time without gradients: functions of its settings."""

from __future__ import annotations

import os

import psutil
import pytest

from tests.training.known_facts import sample_facts
from training.config.sections.model import Mlp, SmallCnn
from training.engine.device import choose_threads
from training.models import make_model
from training.models.flops import samples_at_once

needs_cores = pytest.mark.skipif((psutil.cpu_count(logical=False) or 1) < 2, reason="needs two cores")


def test_little_work_gets_one_thread_and_a_request_is_obeyed() -> None:
    model = make_model(Mlp(hidden=(128, 128)), sample_facts((2,)), 3, 0)
    assert choose_threads(None, model, sample_facts((2,)), 64) == 1
    assert choose_threads(5, model, sample_facts((2,)), 64) == 5


@needs_cores
@pytest.mark.skipif(len(getattr(os, "sched_getaffinity", lambda _: {0, 1})(0)) < 2, reason="needs two cores")
def test_the_batch_and_the_use_of_each_weight_count_not_the_number_of_weights() -> None:
    small = make_model(Mlp(hidden=(128, 128)), sample_facts((2,)), 3, 0)
    assert choose_threads(None, small, sample_facts((2,)), 1024) > 1
    network = make_model(SmallCnn(channels=(8, 16), hidden=32), sample_facts((1, 28, 28)), 10, 0)
    assert choose_threads(None, network, sample_facts((1, 28, 28)), 128) > 1
    large = make_model(Mlp(hidden=(512, 512)), sample_facts((2,)), 3, 0)
    assert choose_threads(None, large, sample_facts((2,)), 16) == 1


def test_light_networks_are_measured_with_more_samples_at_a_time() -> None:
    small = make_model(Mlp(hidden=(128, 128)), sample_facts((2,)), 3, 0)
    assert samples_at_once(small, sample_facts((2,)), 64) == 1024
    assert samples_at_once(small, sample_facts((2,)), 4096) == 4096
    middling = make_model(Mlp(hidden=(256, 256)), sample_facts((2,)), 3, 0)
    assert 64 < samples_at_once(middling, sample_facts((2,)), 64) < 1024
    network = make_model(SmallCnn(), sample_facts((1, 28, 28)), 10, 0)
    assert samples_at_once(network, sample_facts((1, 28, 28)), 64) == 64
