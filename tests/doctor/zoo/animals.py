"""All that the zoo has."""

from __future__ import annotations

from tests.doctor.zoo.case import Case, Healthy


def every_animal() -> tuple[Case | Healthy, ...]:
    """The faulty runs, and then the healthy ones."""
    return ()
