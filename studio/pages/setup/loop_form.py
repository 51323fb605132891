"""The form of ``[loop]``, which says beside the epochs where the run ends before them."""

from __future__ import annotations

from studio.forms.section_form import SectionForm
from studio.pages.setup.previews.preview_model import PreviewModel
from studio.state.drafts.setting_specs import specs


class LoopForm(SectionForm):
    """Max steps stands among the advanced settings: a person who reads the epochs would not see that it is what ends the run."""

    def __init__(self, previews: PreviewModel) -> None:
        super().__init__(previews.draft, "loop", icon_name="refresh")
        self._previews = previews
        previews.changed.connect(self._tell_limit)
        self._tell_limit()

    def _tell_limit(self) -> None:
        length = self._previews.length()
        limited = length is not None and length.limited and not length.assumed
        note = ""
        if limited and length is not None:
            steps = f"{length.total_steps:,} step{'s' if length.total_steps != 1 else ''}"
            note = f"Stops at {steps} ({specs('loop')['max_steps'].title})"
        if row := self.find_row("loop.epochs"):
            row.set_note(note)
