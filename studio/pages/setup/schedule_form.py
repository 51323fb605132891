"""The form of ``[schedule]``, which knows how long the run is."""

from __future__ import annotations

from studio.forms.section_form import SectionForm
from studio.pages.setup.previews.preview_model import PreviewModel


class ScheduleForm(SectionForm):
    """Says beside each stretch of the run how many steps it comes to, once the dataset was read."""

    def __init__(self, previews: PreviewModel) -> None:
        super().__init__(previews.draft, "schedule", icon_name="chart")
        self._previews = previews
        previews.changed.connect(self._tell_length)

    def _tell_length(self) -> None:
        length = self._previews.length()
        if length is None or length.assumed:
            self.set_length(0, 0)
        else:
            self.set_length(length.total_steps, length.steps_per_epoch)
