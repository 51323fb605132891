"""Settings that a sweep varies, called as the forms call them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from studio.forms.messages import KindOf, kinds_of, read_value, tell_value, title_of
from studio.pages.studies.words import in_words
from training.config import RunConfig
from training.config.diff import Change
from training.sweeps.dimension import Dimension, Value, show_value
from training.sweeps.space import Space


class SettingNames:
    """``base`` is the configuration that trials change; None where it cannot be read."""

    def __init__(self, space: Space, base: RunConfig | None) -> None:
        self._space = space
        self._kind_of: KindOf = kinds_of(base) if base is not None else lambda _section: ""

    @cached_property
    def titles(self) -> Mapping[str, str]:
        """By paths; of two that are called the same the path is told, too."""
        paths = [each.path for each in self._space.dimensions]
        found = {path: title_of(Change(path, None, None), self._kind_of) for path in paths}
        every = list(found.values())
        return {path: title if every.count(title) == 1 else f"{title} ({path})" for path, title in found.items()}

    def say(self, text: str) -> str:
        """What the engine tells, as the window says it."""
        return in_words(text, self._kind_of)

    def tell(self, dimension: Dimension, value: Value) -> str:
        """A value that was tried."""
        if dimension.sort != "choice":
            return show_value(value, dimension.sort)
        read = read_value(value) if isinstance(value, str) and value.startswith("[") else value
        return tell_value(Change(dimension.path, read, read), self._kind_of, read)
