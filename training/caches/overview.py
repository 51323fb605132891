"""All caches together: what they take, and how they are cleared."""

from __future__ import annotations

from dataclasses import dataclass

from training.caches import compiled, decoded
from training.caches.users import are_used
from training.errors import InputError, format_bytes

IN_USE = "Something is being trained and may use the cache. Clear it once that has ended."


@dataclass(frozen=True)
class CacheSizes:
    """Bytes."""

    images: int = 0
    code: int = 0

    @property
    def total(self) -> int:
        """Of all together."""
        return self.images + self.code

    def __str__(self) -> str:
        """What there is, as part of a sentence; "" for nothing."""
        kinds = ((self.images, "decoded images"), (self.code, "compiled code"))
        return " and ".join(f"{format_bytes(size)} of {name}" for size, name in kinds if size)


def measure() -> CacheSizes:
    """What they take now."""
    return CacheSizes(sum(size for _, _, size in decoded.list_caches(decoded.usual_home())), compiled.measure())


def clear() -> CacheSizes:
    """Delete all that can be deleted; returns what is left. Raises InputError, with nothing deleted, while somebody trains."""
    if are_used():
        raise InputError(IN_USE)
    for folder, _, _ in decoded.list_caches(decoded.usual_home()):
        decoded.remove(folder)
    compiled.clear()
    return measure()
