"""Ways from one page to another, with something in hand."""

from __future__ import annotations

from studio.state.context import STUDIES, AppContext

WRONG_SETUP = "Some settings in Setup are wrong. Mend them first: a {} is of what Setup holds."
"""Of a study or a sweep."""


def list_runs(context: AppContext, query: str) -> None:
    """Show those runs on the Runs page that a filter finds."""
    context.show_page("runs")
    context.runs_asked.emit(query)


def compare_runs(context: AppContext, query: str) -> None:
    """And compare them."""
    list_runs(context, query)
    context.comparison_asked.emit()


def ask_for_study(context: AppContext, kind: str) -> None:
    """Ask for a new study of that kind on its page; while Setup holds something wrong, say so and stay."""
    if context.draft.config() is None:
        context.notifier.notify(WRONG_SETUP.format("study"), "warning")
        return
    context.show_page(STUDIES)
    context.studies.new_asked.emit(kind)
