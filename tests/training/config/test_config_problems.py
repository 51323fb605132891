"""Every fault in a configuration is one plain sentence that names the field."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from training.config import parse_config
from training.errors import ConfigError

NAN, INF = math.nan, math.inf


def problems(data: dict[str, Any]) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        parse_config(data)
    assert caught.value.exit_code == 2
    return [str(problem) for problem in caught.value.problems]


def adamw(**settings: Any) -> dict[str, Any]:
    return {"optimizer": {"kind": "adamw", **settings}}


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        # unknown keys, with the nearest known name
        ({"optimiser": {}}, "optimiser: unknown key in the top level; did you mean 'optimizer'?"),
        (adamw(lrr=1.0), "optimizer.lrr: unknown key in [optimizer] with kind 'adamw'; did you mean 'lr'?"),
        (adamw(speed=0.9), "optimizer.speed: unknown key in [optimizer] with kind 'adamw'; known are "),
        (
            adamw(momentum=0.9),
            "optimizer.momentum: unknown key in [optimizer] with kind 'adamw'; sgd, rmsprop, muon have it.",
        ),
        (
            {"model": {"kind": "mlp", "freeze": "off"}},
            "model.freeze: unknown key in [model] with kind 'mlp'; did you mean optimizer.freeze?",
        ),
        ({"batch_size": 3}, "batch_size: unknown key in the top level; did you mean loop.batch_size?"),
        (
            {"loop": {"seed": 1}},
            "loop.seed: unknown key in [loop]; did you mean seed at the top level, before all sections?",
        ),
        ({"loop": {"epoch": 3}}, "loop.epoch: unknown key in [loop]; did you mean 'epochs'?"),
        ({"objective": {"los": "x"}}, "objective.los: unknown key in [objective]; did you mean 'loss'?"),
        # kinds
        (
            {"optimizer": {"lr": 1.0}},
            "optimizer: needs a kind: one of adafactor, adagrad, adam, adamw, muon, nadam, radam, rmsprop, sgd.",
        ),
        ({"optimizer": {"kind": "adma"}}, "optimizer: unknown kind 'adma'; did you mean 'adam'?"),
        (
            {"optimizer": {"kind": "zzz"}},
            "optimizer: unknown kind 'zzz'; choose one of adafactor, adagrad, adam, adamw, muon, nadam, radam, rmsprop, sgd.",
        ),
        ({"optimizer": {"kind": ["sgd"]}}, "optimizer: unknown kind "),
        (
            {"optimizer": {"kind": 5}},
            "optimizer: unknown kind '5'; choose one of adafactor, adagrad, adam, adamw, muon, nadam, radam, rmsprop, sgd.",
        ),
        ({"objective": {"kind": "regresion"}}, "objective: unknown kind 'regresion'; did you mean 'regression'?"),
        # sections
        ({"loop": 5}, "loop: must be a section of keys, but is 5."),
        ({"loop": []}, "loop: must be a section of keys, but is []."),
        ({"optimizer": "adamw"}, "optimizer: must be a section of keys, but is 'adamw'."),
        ({"dataset": {"kind": "idx"}}, "dataset.path: is required; give a value."),
        ({"dataset": {"kind": "idx", "path": ""}}, "dataset.path: must not be empty; give a value."),
        # bounds
        (adamw(lr=-1), "optimizer.lr: must be greater than 0.0, but is -1."),
        (adamw(lr=101.0), "optimizer.lr: must be at most 100.0, but is 101.0."),
        (adamw(betas=[0.9, 1.0]), "optimizer.betas.1: must be less than 1.0, but is 1.0."),
        ({"loop": {"epochs": 0}}, "loop.epochs: must be at least 1, but is 0."),
        ({"seed": -1}, "seed: must be at least 0, but is -1."),
        ({"seed": 2**31}, "seed: must be at most 2147483647, but is 2147483648."),
        ({"loop": {"epochs": 10**400}}, "loop.epochs: must be at most 1000000, but is 1000"),
        # NaN and infinity
        (adamw(lr=NAN), "optimizer.lr: must be an ordinary number, not infinity or NaN."),
        (adamw(lr=INF), "optimizer.lr: must be an ordinary number, not infinity or NaN."),
        (adamw(betas=[0.9, NAN]), "optimizer.betas.1: must be an ordinary number, not infinity or NaN."),
        ({"loop": {"clip_norm": -INF}}, "loop.clip_norm: must be an ordinary number, not infinity or NaN."),
        ({"loop": {"epochs": INF}}, "loop.epochs: must be a whole number, but is inf."),
        # types
        (adamw(lr="fast"), "optimizer.lr: must be a number, but is 'fast'."),
        (adamw(lr=True), "optimizer.lr: must be a number, but is True."),
        ({"seed": 1.5}, "seed: must be a whole number, but is 1.5."),
        ({"seed": 1.0}, "seed: must be a whole number, but is 1.0."),
        ({"seed": True}, "seed: must be a whole number, but is True."),
        ({"deterministic": 1}, "deterministic: must be true or false, but is 1."),
        ({"name": 5}, "name: must be text in quotes, but is 5."),
        ({"loop": {"epochs": ""}}, "loop.epochs: must be a whole number, but is ''."),
        ({"objective": {"loss": "mse"}}, "objective.loss: must be 'cross_entropy', but is 'mse'."),
        # lists
        ({"model": {"kind": "mlp", "hidden": 5}}, "model.hidden: must be a list of values, but is 5."),
        ({"model": {"kind": "mlp", "hidden": [1, "a"]}}, "model.hidden.1: must be a whole number, but is 'a'."),
        ({"model": {"kind": "mlp", "hidden": [1] * 65}}, "model.hidden: takes at most 64 values."),
        ({"model": {"kind": "small_cnn", "channels": [1, 2, 3]}}, "model.channels: takes at most 2 values."),
        ({"model": {"kind": "small_cnn", "channels": [1]}}, "model.channels.1: is required; give a value."),
        ({"schedule": {"kind": "multi_step", "milestones": []}}, "schedule.milestones: needs at least one value."),
        # names
        ({"name": ""}, "name: must not be empty; give a value."),
        ({"name": "x" * 81}, "name: must have at most 80 characters."),
        ({"name": "   "}, "name: must be one line of visible text, but is '   '."),
        ({"name": "a\nb"}, r"name: must be one line of visible text, but is 'a\nb'."),
        ({"name": "a\x1b[31mb"}, r"name: must be one line of visible text, but is 'a\x1b[31mb'."),
        ({"name": "a\x00b"}, r"name: must be one line of visible text, but is 'a\x00b'."),
        ({"name": "a\x85b"}, r"name: must be one line of visible text, but is 'a\x85b'."),
        ({"name": "a\u2028b"}, r"name: must be one line of visible text, but is 'a\u2028b'."),
        ({"name": "a\u202eb"}, r"name: must be one line of visible text, but is 'a\u202eb'."),
        ({"precision": {"device": "tpu"}}, "precision.device: must be auto, cpu, cuda, cuda:N or mps, but is 'tpu'."),
        # settings that do not go together
        (
            {"dataset": {"kind": "spiral"}},
            "model.kind: small_cnn needs images, but spiral gives points; choose mlp or tabular.",
        ),
        (
            {"optimizer": {"kind": "sgd", "momentum": 0.0}},
            "optimizer.nesterov: needs momentum above 0; set momentum to 0.9 or switch nesterov off.",
        ),
        (
            {"schedule": {"kind": "one_cycle", "base_momentum": 0.99}},
            "schedule.base_momentum: must not exceed max_momentum; lower it.",
        ),
        (
            {"schedule": {"kind": "cosine", "warmup": 10}, "loop": {"max_steps": 10}},
            "schedule.warmup: the warm-up of 10 steps must be shorter than the run, which has 10 steps (loop.max_steps); write "
            'less, for example "5 %" of the run, or train longer.',
        ),
        (
            {"schedule": {"kind": "multi_step", "milestones": [5, 3]}},
            "schedule.milestones: must rise from each to the next, for example 1000, 2000.",
        ),
        (
            {"dataset": {"kind": "idx", "path": ".", "validation": "test", "test_fraction": 0.3}},
            "dataset.test_fraction: nothing is held out where dataset.validation is test: the test part",
        ),
        (
            {"model": {"kind": "torchvision", "name": "resnet19"}},
            "model.name: torchvision has no classification network 'resnet19'; did you mean 'resnet18'?",
        ),
        (
            {"model": {"kind": "torchvision", "name": "zzz"}},
            "model.name: torchvision has no classification network 'zzz'; choose another, for example resnet18.",
        ),
        (
            {"dataset": {"kind": "idx", "path": "/no/such/folder"}},
            f"dataset.path: {Path('/no/such/folder')} does not exist; check the spelling or choose another folder.",
        ),
    ],
)
def test_sentence(data: dict[str, Any], sentence: str) -> None:
    (found,) = problems(data)
    assert found.startswith(sentence)
    assert len(found) < 300
    assert found.isprintable()


def test_all_faults_are_reported_at_once_with_the_file() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_config(
            {"seed": "x", "loop": {"epochs": 0, "batch": 1}, "optimizer": {"kind": "sgd", "lr": 0.0}}, "job.toml"
        )
    paths = [problem.path for problem in caught.value.problems]
    assert paths == ["seed", "optimizer.lr", "loop.epochs", "loop.batch"]
    assert str(caught.value).startswith("job.toml: seed: must be a whole number")


def test_whole_numbers_serve_as_numbers() -> None:
    config = parse_config({"optimizer": {"kind": "adamw", "lr": 1}, "loop": {"clip_norm": 0}})
    assert (config.optimizer.lr, config.loop.clip_norm) == (1.0, 0.0)


@pytest.mark.parametrize("name", ["a b", "Ünïcode – 雪", "x" * 80, " lead", "C:\\path/like", "👩‍🔬"])
def test_names_people_use(name: str) -> None:
    assert parse_config({"name": name}).name == name
