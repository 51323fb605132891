"""Losses with weights of their own inside a compiled step."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.training.catalog.task_samples import small
from tests.training.stepping import take_step
from training.config import RunConfig
from training.engine.assemble import assemble
from training.engine.compile import compile_session, compiler
from training.engine.runs.run import start_run

needs_compiler = pytest.mark.skipif(compiler.cpp_compiler() is None, reason="no C++ compiler here")


def steps(config: RunConfig) -> tuple[list[tuple[float, float]], dict[str, torch.Tensor]]:
    """Losses and norms of an epoch's windows, and the weights afterwards."""
    session = assemble(config, lambda *_: None)
    compile_session(session, lambda *_: None)
    assert (session.compiled is not None) == (config.precision.compile == "step")
    with session.data as data:
        seen = []
        for window in data.steps(0):
            loss, norm = take_step(session, window)
            seen.append((loss.item(), norm.item()))
        return seen, {name: tensor.clone() for name, tensor in session.model.state_dict().items()}


CASES = {
    # Not by Adam: a bias behind all scores changes no loss, and Adam makes whole steps of its gradient's rounding.
    "ranking": ("optimizer.kind=sgd",),
    "distillation": (),
}


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize(("kind", "accumulation"), [("ranking", 3), ("distillation", 3)])
def test_compiled_steps_are_the_eager_ones_up_to_rounding(kind: str, accumulation: int, tmp_path: Path) -> None:
    teacher = Path(start_run(small("classification", tmp_path / "taught"), tmp_path).folder)
    given = (
        *CASES[kind],
        "model.dropout=0.0",
        f"loop.accumulation={accumulation}",
        "loop.batch_size=5",
        "precision.threads=1",
    )
    eager, wanted = steps(small(kind, tmp_path / "data", *given, teacher=teacher))
    made, found = steps(small(kind, tmp_path / "data", *given, "precision.compile=step", teacher=teacher))
    assert len(eager) > 1
    torch.testing.assert_close(torch.tensor(made), torch.tensor(eager), rtol=1e-4, atol=1e-6)
    for name in wanted:
        torch.testing.assert_close(found[name], wanted[name], rtol=1e-3, atol=1e-5)


FORMS: dict[str, tuple[str, ...]] = {
    "classification": ("objective.balanced=true", "objective.ignore_index=1", "objective.label_smoothing=0.1"),
    "binary": ("objective.balanced=true",),
    "multi_label": ("objective.balanced=true",),
    "regression": ("objective.loss=weighted_sum", "objective.huber_weight=1.0"),
    "segmentation": ("objective.loss=dice_cross_entropy", "objective.balanced=true"),
    "segmentation, one logit": ("objective.loss=dice_bce",),
    "language_model": ("objective.label_smoothing=0.1",),
}


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_loss_and_weight_are_one_graph_without_a_look_at_any_number(form: str, tmp_path: Path) -> None:
    """What torch captures for a compiled step; a machine's compiler is not asked."""
    session = assemble(small(form.partition(",")[0], tmp_path, *FORMS[form], "model.dropout=0.0"), lambda *_: None)
    objective = session.objective
    with session.data as data:
        batch = next(iter(next(data.steps(0))))
    outputs = session.model(batch.inputs).detach()

    def loss(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return objective.loss(
            outputs, targets, objective.loss_weight(targets) if objective.is_weighted else len(targets)
        )

    differentiated = torch.func.grad_and_value(loss)
    torch.compiler.reset()
    captured = torch.compile(differentiated, backend="aot_eager", fullgraph=True, dynamic=False)
    for found, wanted in zip(captured(outputs, batch.targets), differentiated(outputs, batch.targets), strict=True):
        torch.testing.assert_close(found, wanted)
