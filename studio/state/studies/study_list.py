"""The studies of the workspace, read in the background."""

from __future__ import annotations

from collections.abc import Callable

from studio.state.found_list import FoundList
from studio.state.studies.summary import StudySummary, read_summaries
from training.studies.folder import StudyFolder, remove_study


class StudyList(FoundList[StudySummary, StudyFolder]):
    """Those that are done are read once: they change no more."""

    def _delete(self, folder: StudyFolder) -> None:
        remove_study(folder)

    def _prepare(self) -> Callable[[], tuple[StudySummary, ...]]:
        known = {each.folder: each for each in self.items if each.state == "done"}
        return lambda: read_summaries(self._workspace, known)
