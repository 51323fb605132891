"""Asks by which engine a run goes on that was computed by another one than the next run takes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtWidgets import QWidget

from studio.actions.question import MAY_DIFFER, Answer, ask
from studio.state.context import AppContext
from training.engines.of_runs import RunEngine
from training.engines.search import name_environment


def ask_for_engine(context: AppContext, parent: QWidget, engine: RunEngine, go_on: Callable[..., object]) -> None:
    """Have the run go on by ``engine``, its own, or by the one in use; one that is gone is told, and cannot be chosen."""
    chosen = context.settings.get().interpreter
    other = name_environment(Path(chosen)) if chosen else ""
    answers = [] if engine.is_gone else [Answer("own", f"Resume with {engine.name}", "primary")]
    if chosen:
        answers.append(Answer("chosen", f"Resume with {other}", "primary" if engine.is_gone else "secondary"))
    answers.append(Answer("engines", "Engines …"))
    if engine.is_gone:
        title = f"The engine {engine.name} is gone"
        text = f"This run was trained with {engine.python}, which is not there any more. {MAY_DIFFER}"
    else:
        title = f"Resume with the engine {engine.name}?"
        used = f"{other} ({chosen}) is in use now. " if chosen else ""
        text = f"This run was trained with {engine.name} ({engine.python}). {used}{MAY_DIFFER}"
    answer = ask(parent, title, text, answers)
    if answer == "own":
        go_on(python=engine.python)
    elif answer == "chosen":
        go_on()
    else:
        context.live.settle()
        if answer == "engines":
            context.engines_asked.emit()
