"""By which Python a cluster's machines train, and with which variables: those of an engine's process that is started here."""

from __future__ import annotations

from collections.abc import Mapping

from training.errors import InputError
from training.system.interpreter import NO_ENGINE, NO_ENGINE_ADVICE, engine_environment, own_interpreter


def python_of(image: str = "") -> str:
    """The program: the container's where there is an ``image``, else the one here, which the cluster's machines have in the same place.
    Raises InputError where there is none."""
    if image:
        return "python"
    found = own_interpreter()
    if not found:
        raise InputError(f"{NO_ENGINE}.", NO_ENGINE_ADVICE)
    return found


def engine_exports(image: str = "") -> Mapping[str, str]:
    """The variables; without what only means something here where there is an ``image``."""
    variables = engine_environment({}, python_of(image))
    if image:
        variables.pop("PYTHONPATH", None)
    return variables
