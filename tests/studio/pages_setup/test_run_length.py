"""The page's arithmetic is the engine's."""

import pytest
from PySide6.QtWidgets import QLabel

from studio.pages.setup.page import SetupPage
from studio.pages.setup.previews.run_length import run_length
from tests.studio.pages_setup.fakes import FakeContext, answer
from training.config import RunConfig
from training.core.batch_plan import BatchPlan


@pytest.mark.parametrize("samples", [1, 2, 31, 32, 33, 64, 65, 1000, 60_000])
@pytest.mark.parametrize(("batch_size", "accumulation"), [(1, 1), (32, 1), (32, 3), (64, 8), (10**6, 1)])
def test_steps_are_counted_as_the_engine_counts_them(samples: int, batch_size: int, accumulation: int) -> None:
    config = RunConfig.model_validate({"loop": {"batch_size": batch_size, "accumulation": accumulation, "epochs": 3}})
    length = run_length(config, samples)
    assert length.steps_per_epoch == BatchPlan(samples, batch_size, accumulation).steps
    assert length.total_steps == 3 * length.steps_per_epoch


def test_a_dropped_batch_is_no_step() -> None:
    config = RunConfig.model_validate({"loop": {"batch_size": 32, "epochs": 3}, "loader": {"drop_last": True}})
    assert run_length(config, 95).total_steps == 3 * 2
    assert run_length(config, 20).total_steps == 3  # the data refuses it


def test_the_step_limit_and_the_assumption() -> None:
    config = RunConfig.model_validate({"loop": {"max_steps": 7}})
    assert run_length(config, 6400).total_steps == 7
    assert run_length(config, 6400).limited
    assert not run_length(config, 64).limited
    assert run_length(config, None).assumed


def test_max_steps_is_told_beside_the_epochs_it_cuts_off(page: SetupPage, context: FakeContext) -> None:
    def told() -> list[str]:
        page.tabs.setCurrentIndex(3)
        row = next(form for form in page.forms if form.section == "loop").rows()["loop.epochs"]
        return [
            label.text() for label in row.findChildren(QLabel) if "Stops" in label.text() and label.isVisibleTo(row)
        ]

    context.draft.apply({"loop.batch_size": 32, "loop.epochs": 10, "loop.max_steps": 1000})
    assert told() == []  # how many samples there are is not known yet
    answer(context, train=4800)  # 150 steps an epoch
    assert told() == ["Stops at 1,000 steps (Max steps)"]
    context.draft.set("loop.epochs", 6)
    assert told() == []
    context.draft.set("loop.max_steps", 1)
    assert told() == ["Stops at 1 step (Max steps)"]
    context.draft.set("loop.max_steps", None)
    assert told() == []
