"""What is known of the data that the draft names: one question to the engine, which several pages show the answer of."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from studio.engine.host import EngineHost
from studio.panels.data.engine_query import DEBOUNCE, EngineQuery
from studio.panels.data.sample_pages import SamplePages
from studio.state.context import AppContext
from studio.state.drafts.draft import Draft
from studio.state.drafts.recipes import place
from training.config import RunConfig
from training.protocol.answers import DatasetReport
from training.protocol.messages import InspectDataset


def _dataset_key(config: RunConfig) -> object:
    return (config.dataset, config.seed)


def data_chosen(draft: Draft) -> tuple[object, object]:
    """Where the data lies, and what is to be learned of it, as far as the form tells."""
    data = draft.settings()
    return place(data), [data["dataset"].get(name) for name in ("targets", "task", "label_separator", "query_column")]


class DataLook(QObject):
    """``question`` is asked while any page looks at it; ``pages`` goes through the passages or rows of its answer.

    Signals: `samples_asked()` somebody wants to see the samples, `sample_asked(int)` the image at a place of the training part.
    """

    samples_asked, sample_asked = Signal(), Signal(int)

    def __init__(self, engine: EngineHost, draft: Draft, parent: QObject, *, delay: int = DEBOUNCE) -> None:
        super().__init__(parent)
        self.question = EngineQuery(
            engine, InspectDataset, DatasetReport, draft, ("dataset",), _dataset_key, data_chosen, self, delay=delay
        )
        self.pages = SamplePages(engine, self.question, self)
        self._lookers: set[str] = set()

    def set_active(self, looker: str, active: bool) -> None:
        """Say whether ``looker``, a page, can be seen: only then somebody needs an answer."""
        before = bool(self._lookers)
        self._lookers = self._lookers | {looker} if active else self._lookers - {looker}
        if active or before != bool(self._lookers):
            self.question.set_active(bool(self._lookers))


def look_at_data(context: AppContext, delay: int = DEBOUNCE) -> DataLook:
    """The one look of the program, made for the first page that asks for it. ``delay``: milliseconds of rest before a question."""
    if not isinstance(context.data_look, DataLook):
        context.data_look = DataLook(context.engine, context.draft, context, delay=delay)
    return context.data_look
