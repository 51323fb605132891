"""Looks at a network and its loss before a step: a copy is asked, and what it answers tells what the network does."""

from __future__ import annotations

import copy
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack

from training.config.sections.objective import OwnLoss
from training.config.sections.user_file import UserFile
from training.doctor.probes.gradients import gradient_findings
from training.doctor.probes.independence import future_findings, mixing_findings, random_findings
from training.doctor.probes.look import Look, look_at
from training.doctor.probes.outputs import ending_findings, find_answers, linear_findings
from training.doctor.probes.own_loss import own_loss_findings
from training.doctor.probes.scale import scale_findings
from training.doctor.probes.start import start_findings
from training.engine.session import Session
from training.events import Finding
from training.findings.network import START
from training.findings.probes import INIT_SCALE, SATURATING

logger = logging.getLogger(__name__)

Probe = Callable[[Look], list[Finding]]


def _outputs(look: Look) -> list[Finding]:
    answers = find_answers(look)
    return [*ending_findings(look, answers), *linear_findings(look, answers)]


PROBES: tuple[Probe, ...] = (
    start_findings,
    scale_findings,
    _outputs,
    random_findings,
    mixing_findings,
    future_findings,
    gradient_findings,
    own_loss_findings,
)
_OF_SETTINGS: tuple[Probe, ...] = (start_findings, scale_findings)
"""What settings and data can bring about in a network of the program's own."""
_AT_LEISURE, _AT_ONCE = 1.0, 0.1
"""Seconds that a probe is to take in a check, and before each start: by what is computed."""
_PATIENCE = 3.0
"""How many times that one may take before no other is made."""


def probe_findings(session: Session) -> list[Finding]:
    """All of them, in the order in which they matter; the session stays what it was."""
    return _ask(session, PROBES, _AT_LEISURE, must=True)


def quick_probe_findings(session: Session) -> list[Finding]:
    """Those that tell something of this network, as long as none takes long."""
    own = isinstance(session.config.model, UserFile) or isinstance(session.config.objective, OwnLoss)
    return _ask(session, PROBES if own else _OF_SETTINGS, _AT_ONCE, must=False)


def _ask(session: Session, probes: Sequence[Probe], seconds: float, must: bool) -> list[Finding]:
    found: list[Finding] = []
    with ExitStack() as stack:
        try:
            look = stack.enter_context(look_at(session, seconds, must))
        except (TypeError, RuntimeError, copy.Error):  # a network that cannot be copied is never called here
            logger.info("The network cannot be copied, so nothing is asked of it", exc_info=True)
            return []
        if not look.batches:
            return []
        for probe in probes:
            began = time.monotonic()
            found += _try(probe, look)
            if not must and time.monotonic() - began > _PATIENCE * seconds:
                break
    return _fold(found)


def _fold(found: list[Finding]) -> list[Finding]:
    """Without what another explains: a high first loss by weights that are too large, a gradient that does not come through by their size."""
    scale = [finding for finding in found if finding.code == INIT_SCALE.code]
    saturating = [finding for finding in found if finding.code == SATURATING.code]
    explained = [
        *scale[1:],
        *saturating[:-1],
        *(each for each in found if scale and each.code == START.code and each.level != "ok" and not _is_of_data(each)),
    ]
    return [finding for finding in found if finding not in explained]


def _is_of_data(finding: Finding) -> bool:
    return finding.place == "inputs"


def _try(probe: Probe, look: Look) -> list[Finding]:
    """A network may refuse what no sample is like: then nothing is said."""
    try:
        return probe(look)
    except Exception:
        look.restore()
        logger.info("%s could not be done", probe.__name__, exc_info=True)
        return []
