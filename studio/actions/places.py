"""Ways from one page to another, with something in hand."""

from __future__ import annotations

from studio.state.context import STUDIES, AppContext


def list_runs(context: AppContext, query: str) -> None:
    """Show those runs on the Runs page that a filter finds."""
    context.show_page("runs")
    context.runs_asked.emit(query)


def compare_runs(context: AppContext, query: str) -> None:
    """And compare them."""
    list_runs(context, query)
    context.comparison_asked.emit()


def ask_for_study(context: AppContext, kind: str) -> None:
    """Ask for a new study of that kind on its page."""
    context.show_page(STUDIES)
    context.studies.new_asked.emit(kind)
