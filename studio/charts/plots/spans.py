"""Stretches of an axis, from a low end to a high one."""

Span = tuple[float, float]


def span_extents(extents: list[Span]) -> Span | None:
    """From the lowest start to the highest end; None for none."""
    return (min(low for low, _ in extents), max(high for _, high in extents)) if extents else None


def clamp_span(span: Span, limits: Span) -> Span:
    """``span`` moved into ``limits``, and no wider than they are: these themselves where it reaches as far as they do."""
    width = span[1] - span[0]
    if width >= limits[1] - limits[0]:
        return limits
    low = min(max(span[0], limits[0]), limits[1] - width)
    return low, low + width


def zoom_span(span: Span, center: float, share: float) -> Span:
    """``share`` of a span, with ``center`` where it was in it."""
    low, high = span
    return center + (low - center) * share, center + (high - center) * share
