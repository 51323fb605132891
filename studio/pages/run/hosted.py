"""The tabs that are made elsewhere: loaded when they are first shown, so that the pages know nothing of each other."""

from __future__ import annotations

from pkgutil import resolve_name

from PySide6.QtWidgets import QWidget

from studio.state.context import AppContext

EVALUATE = "studio.pages.evaluate.page:EvaluatePage"
TRY_IT = "studio.pages.tryit.page:TryItPage"


def make_hosted(target: str, context: AppContext) -> QWidget:
    """Build ``target``, "module:class", which takes the AppContext."""
    made: QWidget = resolve_name(target)(context)
    return made
