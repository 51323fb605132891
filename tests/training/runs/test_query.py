"""The filter language: what it finds, and one sentence with a place for what cannot be read."""

from __future__ import annotations

import random
import time
from contextlib import suppress

import pytest

from training.errors import InputError
from training.runs.query import FilterError, Names, collect_names, complete, parse
from training.runs.query.conditions import Value

RUN: dict[str, Value] = {
    "name": "Wide Net",
    "run": "wide-net-20261126",
    "status": "completed",
    "dataset": "idx",
    "model": "resnet18",
    "tags": ("Paper", "two words"),
    "notes": "",
    "star": True,
    "archived": False,
    "step": 400.0,
    "created": time.time() - 3 * 86400,
    "duration": 5000.0,
    "optimizer.lr": 1e-3,
    "schedule.kind": "cosine",
    "model.hidden": "64, 32",
    "loop.swa_lr": None,
    "deterministic": False,
    "val/accuracy": 0.93,
    "best(val/accuracy)": 0.95,
    "val/loss": 0.2,
    "train/loss": 0.1,
    "train/f1": float("nan"),
}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('val/accuracy > 0.9 and lr < 1e-2 and "cosine" in schedule.kind', True),
        ("accuracy > 0.94", False),
        ("best(accuracy) > 94% and last(val/accuracy) < 94%", True),
        ("1e-4 < lr <= 0.001", True),
        ("1e-3 < lr < 1", False),
        ("train/loss < val/loss", True),
        ('schedule.kind = "COSINE"', True),
        ('"64" in model.hidden', True),
        ("star and not archived", True),
        ("deterministic", False),
        ("deterministic == false", True),
        ('"paper" in tags and tag == "two words" and tag != "else"', True),
        ('"pap" in tags', False),
        ("age > 2d and age < 4d and duration < 90min", True),
        ('created > "2020-01-01" and created < "2020-01-02"', False),
        ('status in ("failed", "completed")', True),
        ('status not in ("failed", "stopped")', True),
        ("wide resnet", True),
        ("wide vgg", False),
        ('"wide net" and not "vgg"', True),
        ("loop.swa_lr < 1 or loop.swa_lr >= 1 or swa_lr != 3", False),
        ("not loop.swa_lr < 1", True),
        ("train/f1 < 1 or train/f1 != 1", False),
        ("lr > 1 or lr < 1 and step = 400", True),
        ("(lr > 1 or lr < 1) and step = 401", False),
        ('schedule.kind > 3 or lr > "a" or lr != "a"', False),
    ],
)
def test_a_filter_finds_what_it_says(text: str, wanted: bool) -> None:
    assert parse(text).matches(RUN) is wanted


@pytest.mark.parametrize(
    ("text", "place", "told"),
    [
        ("tag:blue", (0, 8), 'a condition is written otherwise: "blue" in tags. To search'),
        ("night lr:0.1", (6, 12), "a condition is written otherwise: lr == 0.1."),
        ("acuracy > 0.9", (0, 7), "did you mean accuracy?"),
        ("star and optimzer.lr < 1", (9, 20), "did you mean optimizer.lr?"),
        ("loss < 1", (0, 4), "objective.loss or val/loss; write one of them"),
        ("schedule.kind == cosine", (17, 23), 'A text stands in quotation marks: "cosine"'),
        ("lr >", (4, 4), "expected a name, a number or a text"),
        ("lr > 1 lr", (7, 9), "expected and, or, or the end"),
        ("(lr > 1", (7, 7), "expected )"),
        ('lr > "x', (5, 6), "not closed"),
        ("lr > 3x", (5, 6), "this is no number"),
        ("lr ; 3", (3, 4), "no meaning here"),
        ("3 < 4", (4, 5), "has to be a name"),
        ("lr > 3 and 3", (11, 12), "a number alone says nothing"),
        ("best(f7) > 1", (5, 7), "no metric is called so"),
        ("tag > 3", (0, 3), "tags are compared with a text"),
        ("status > 3", (9, 10), "compared with a text"),
        ('created > "yesterday"', (10, 21), "this is no date"),
        ("lr in optimizer", (6, 15), "expected the values in brackets"),
        ("", (0, 0), "a filter has something to say"),
        ("(" * 99, (40, 41), "40 levels"),
        ("x" * 3000, (2000, 2000), "at most 2,000 characters"),
    ],
)
def test_what_cannot_be_read_is_one_sentence_with_its_place(text: str, place: tuple[int, int], told: str) -> None:
    with pytest.raises(FilterError) as refusal:
        parse(text)
    assert told in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert (refusal.value.start, refusal.value.end) == place


def test_whatever_is_typed_is_read_or_refused_and_never_run() -> None:
    draw = random.Random(7)
    pieces = [
        "lr",
        " ",
        "<",
        ">=",
        "and",
        "or",
        "not",
        "in",
        "(",
        ")",
        '"a"',
        "'",
        "`",
        "1e-3",
        "5d",
        "best",
        "tags",
        ",",
        "__import__",
        "\u202e",
        ".",
    ]
    for _ in range(5000):
        text = "".join(draw.choice(pieces) for _ in range(draw.randrange(12)))
        with suppress(InputError):
            assert parse(text).matches(RUN) in (True, False)


def test_names_that_runs_measured_count_too_and_are_completed() -> None:
    names = Names(collect_names().settings, {*collect_names().metrics, "val/height/rmse", "val/own score"})
    assert parse("height/rmse < 1", names).matches({"val/height/rmse": 0.5})
    assert parse("`own score` < 1", names).matches({"val/own score": 0.5})
    assert complete("star and lr", 11, names) == (9, 11, ["optimizer.lr", "optimizer.lr_decay"])
    assert complete("accura > 3", 4, names)[2][:2] == ["train/accuracy", "val/accuracy"]
    assert complete("accura", 6, Names((), names.metrics, {"val/rmse"}))[2] == []  # no run has it
    assert complete('"lr', 3, names)[2] == []
