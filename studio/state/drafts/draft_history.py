"""Undo and redo over snapshots. Small data (a few hundred bytes a step) is worth no cleverer way."""

from __future__ import annotations

from studio.state.drafts.setting_specs import Settings, copy_settings


class DraftHistory:
    """Steps back and forth. Edits of one setting in a row are one step, so that undo takes words, not letters."""

    def __init__(self, limit: int = 200) -> None:
        self._limit = limit
        self._past: list[tuple[str, Settings]] = []  # what each step was about, and what stood before it
        self._future: list[tuple[str, Settings]] = []
        self._group = ""

    def remember(self, before: Settings, group: str) -> None:
        """Note what stood before an edit; a following edit of the same non-empty ``group`` belongs to the same step."""
        if group and group == self._group:
            return
        self._group = group
        self._past = [*self._past, (group, copy_settings(before))][-self._limit :]
        self._future.clear()

    def step(self, before: Settings, follows: str = "") -> None:
        """Note what stood before a step of its own; one that ``follows`` from settings of that section belongs to the last step
        where that was about them."""
        self.close_group()
        last = self._past[-1][0] if self._past else ""
        if not follows or last.partition(".")[0] != follows:
            self.remember(before, f"{follows}." if follows else "")
            self.close_group()

    def close_group(self) -> None:
        """The next edit is a step of its own, whatever it edits."""
        self._group = ""

    def undo(self, present: Settings) -> Settings | None:
        """What stood before the last step; None when there is none."""
        return self._move(present, self._past, self._future)

    def redo(self, present: Settings) -> Settings | None:
        """What the last undo took back; None when there is none."""
        return self._move(present, self._future, self._past)

    @property
    def can_undo(self) -> bool:
        """Whether there is a step to take back."""
        return bool(self._past)

    @property
    def can_redo(self) -> bool:
        """Whether an undo can itself be undone."""
        return bool(self._future)

    def _move(
        self, present: Settings, source: list[tuple[str, Settings]], target: list[tuple[str, Settings]]
    ) -> Settings | None:
        self.close_group()
        if not source:
            return None
        group, snapshot = source.pop()
        target.append((group, copy_settings(present)))
        return snapshot
