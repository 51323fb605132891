"""Looks before a run starts: opens the data, builds the model, tries one real batch; trains nothing, writes nothing."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path

from training.config import RunConfig
from training.config.files import config_data
from training.config.rules.inactive_settings import list_inactive_on_purpose
from training.data.prepared import PreparedData
from training.doctor.data import opened_findings
from training.doctor.device import compile_findings, device_findings, disk_finding
from training.doctor.inputs import conflict_findings
from training.doctor.loader import loader_findings
from training.doctor.memory import step_findings
from training.doctor.network import norm_findings, own_network_findings
from training.doctor.probes import probe_findings
from training.doctor.quick import quick_findings
from training.doctor.run_time import WARM, measure_run_time
from training.doctor.samples import sample_findings
from training.doctor.split import duplicate_findings
from training.engine.assemble import assemble
from training.engine.runs.outcome import explain
from training.engine.session import Session
from training.errors import ConfigError, LabelRangeError, NonFiniteError, TooLargeError, TrainingError, describe_error
from training.events import Finding
from training.findings import without_idle_fix, without_muted
from training.findings.data import NONFINITE
from training.findings.folding import is_explained
from training.findings.labels import LABEL_RANGE
from training.findings.machine import MEMORY
from training.findings.settings import FAULT, INACTIVE, INVALID, TIME
from training.protocol.answers import RunTime
from training.system.process import give_back_memory
from training.system.untrusted import escape_unprintable

logger = logging.getLogger(__name__)

_LAST = 0.9
"""The share of a check that lies behind it when steps are timed."""
Report = Callable[[str, float | None], None]


def preflight(
    config: RunConfig,
    workspace: Path,
    report: Report = lambda text, fraction: None,
    kept: PreparedData | None = None,
    tell_time: Callable[[RunTime], object] = lambda run_time: None,
    whole: bool = False,
) -> list[Finding]:
    """Findings in the order they matter; an "error" among them means that the run could not start or would be useless. What
    ``config`` mutes is left out.

    What ``kept`` holds is not opened again, and what is opened stays there for the run. ``tell_time`` hears how long a run
    that could start will take. Of very many samples some are compared, and it is said how many; ``whole``: all of them. What ``report`` raises
    ends the check.
    """
    phase = ""
    canceled: TrainingError | None = None

    def note(text: str, fraction: float | None) -> None:
        nonlocal phase, canceled
        phase = text
        try:
            report(text, fraction)
        except TrainingError as error:
            canceled = error
            raise

    found: list[Finding] = []
    try:
        session = assemble(config, note, kept=kept)
        try:
            for some in _looks(session, workspace, note, whole):
                found += some
                give_back_memory()  # of what was looked at, before the next look takes its own
            note("timing some steps", _LAST)
            if all(item.level != "error" for item in found) and (run_time := measure_run_time(session)) is not None:
                tell_time(run_time)
                each = f"{WARM} warm steps of {run_time.step * 1e3:,.{1 if run_time.step < 0.1 else 0}f} ms"
                found.append(TIME.ok(f"The run takes {run_time}, by {each}."))
                found += loader_findings(session, run_time)
        finally:
            session.data.close()
    except ConfigError as error:
        found += [
            INVALID.find("error", str(problem), place=problem.path, fix=problem.fix) for problem in error.problems
        ]
    except TooLargeError as error:
        found.append(MEMORY.find_error(error))
    except (NonFiniteError, LabelRangeError) as error:
        found.append((NONFINITE if isinstance(error, NonFiniteError) else LABEL_RANGE).find_error(error))
    except Exception as error:
        if canceled is not None:
            raise canceled from None
        logger.info("The check found a fault", exc_info=True)
        unforeseen = f"An unexpected fault would end the run: {escape_unprintable(describe_error(error), 300)}"
        found.append(FAULT.find_error(explain(error, config, phase) or TrainingError(unforeseen)))
    found = [finding for finding in found if not is_explained(finding, found)]
    return without_muted(without_idle_fix(found, config_data(config)), config.muted_findings)


def _looks(session: Session, workspace: Path, report: Report, whole: bool) -> Iterator[list[Finding]]:
    """What there is to say, one look after the other."""
    data = session.data
    report("looking at settings and columns", 0.0)
    yield opened_findings(session)
    yield quick_findings(session)
    report("comparing samples that are alike", 0.1)
    yield conflict_findings(data, whole)
    yield sample_findings(session, report)
    idle = list_inactive_on_purpose(session.config, data.source.parts)  # what was set and does nothing
    yield [INACTIVE.find("info", f"{clause}.") for clause in idle]
    yield duplicate_findings(data, session.config.dataset, report, whole)
    report("trying the network on a batch", 0.7)
    yield own_network_findings(session)
    yield norm_findings(session)
    yield device_findings(session)
    yield probe_findings(session)
    yield step_findings(session)
    report("looking at what is compiled, and at the disk", 0.8)
    yield compile_findings(session, report)
    yield [disk_finding(session, workspace)]
