"""How a batch is shared out among processes."""

from __future__ import annotations

from training.errors import InputError, pluralize


def describe_share(samples: int, count: int) -> str:
    """ "256 = 8 x 32": how a batch is shared out."""
    low, more = divmod(samples, count)
    each = f"{low}" if not more else f"{low} or {low + 1}"
    return f"{samples} = {count} x {each}"


def refuse_other_count(slots: int, count: int) -> None:
    """Raise InputError where ``count`` processes cannot share ``slots``."""
    if slots % count == 0:
        return
    fitting = ", ".join(str(number) for number in range(1, slots + 1) if slots % number == 0)
    raise InputError(
        f"loop.slots: {pluralize(slots, 'slot')} cannot be shared out among {count} processes.",
        f"Use {fitting} of them, or set loop.slots to a multiple of {count}, which makes another run.",
        fix={"loop.slots": count},
    )
