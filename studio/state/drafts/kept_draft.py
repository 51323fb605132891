"""What the forms held at the last end, for the next start."""

from __future__ import annotations

from studio.services.app_settings import draft_file, read_object, write_object
from studio.state.drafts.draft import Draft


def recall_draft(draft: Draft) -> None:
    """Put what the forms held at the last end back into them."""
    if data := read_object(draft_file()):
        draft.set_data(data)


def remember_draft(draft: Draft) -> None:
    """Keep what the forms hold for the next start."""
    write_object(draft_file(), draft.data())
