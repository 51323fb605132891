"""Whether a planted fault is one: the case measured against its twin."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path

from tests.doctor.zoo.case import Case, Harm, Healthy
from tests.doctor.zoo.trial import Trial, command, read_trial
from training.metric_names import metric as known_metric


@dataclass(frozen=True)
class Verdict:
    """What was measured of a case and of its twin (of a healthy run: of itself, against ``least``)."""

    name: str
    kind: str
    measure: str
    case: float
    twin: float
    least: float
    harmful: bool
    seconds: float

    def row(self) -> str:
        """Of the table."""
        values = f"{self.case:.4g} | {self.twin:.4g} | {self.least:g}"
        return f"| {self.name} | {self.kind} | {self.measure} | {values} | {'yes' if self.harmful else '**no**'} | {self.seconds:.0f} |"


HEAD = "| name | kind | measure | case | twin | least | as meant | s |\n|---|---|---|---|---|---|---|---|"


def validate(case: Case | Healthy, out: Path) -> Verdict | None:
    """Measure ``case`` as it was trained in ``out``; None where it was not."""
    if isinstance(case, Healthy):
        trial = read_trial(out / case.name / "healthy")
        return None if trial is None else _judge_healthy(case, trial)
    faulty, sound = (read_trial(out / case.name / part) for part in ("case", "twin"))
    if faulty is None or sound is None:
        return None
    seconds = max(faulty.outcome["seconds"], sound.outcome["seconds"])
    bad, good = measure(case.harm, faulty), measure(case.harm, sound)
    return Verdict(
        case.name,
        case.kind,
        describe(case.harm),
        bad,
        good,
        case.harm.least,
        sound.completed and is_worse(case.harm, bad, good),
        seconds,
    )


def describe(harm: Harm) -> str:
    """The measure in words."""
    words = {
        "validation": f"val/{harm.metric}",
        "fresh": f"{harm.metric} on fresh samples",
        "claim": f"val/{harm.metric} minus {harm.metric} on fresh samples",
        "speed": "samples a second",
        "refused": "completed",
    }
    return words[harm.by] if isinstance(harm.by, str) else harm.words


def measure(harm: Harm, trial: Trial) -> float:
    """What ``harm`` looks at, of one run. NaN where the run did not complete."""
    if harm.by == "refused":
        return float(trial.completed)
    if not trial.completed:
        return math.nan
    if harm.by == "validation":
        return trial.metric(harm.metric)
    if harm.by == "speed":
        return float(trial.outcome["record"]["samples_per_second"])
    if callable(harm.by):
        return harm.by(trial)
    fresh = measure_fresh(trial, harm.metric)
    return fresh if harm.by == "fresh" else _claimed(trial, harm.metric) - fresh


def measure_fresh(trial: Trial, metric: str) -> float:
    """``metric`` of the run's best checkpoint on the samples in ``fresh``, by the command ``evaluate``."""
    (place,) = (path for path in trial.folder.glob("fresh*"))
    return _read(evaluate(trial, str(place)), metric)


def _claimed(trial: Trial, metric: str) -> float:
    """``metric`` of the same checkpoint on the run's own validation part."""
    return _read(evaluate(trial, "validation"), metric)


def _read(metrics: dict[str, dict[str, float]], name: str) -> float:
    """NaN where it cannot be measured, as AUROC of a part that has one class left."""
    value: float | None = metrics[name]["value"]
    return math.nan if value is None else value


def evaluate(trial: Trial, on: str) -> dict[str, dict[str, float]]:
    """The metrics that ``training evaluate`` tells of the best checkpoint, kept beside the run."""
    kept = trial.folder / f"metrics-{Path(on).stem}.json"
    if not kept.exists():
        assert trial.run is not None
        code, record, said = command(["evaluate", str(trial.run), "--on", on, "--json", "--trust"], trial.folder)
        if code:
            raise RuntimeError(f"{trial.folder}: {said}")
        kept.write_text(json.dumps(record["metrics"]))
    metrics: dict[str, dict[str, float]] = json.loads(kept.read_text())
    return metrics


def is_worse(harm: Harm, bad: float, good: float) -> bool:
    """Whether a run with ``bad`` has the harm, beside one with ``good``."""
    if harm.by == "claim":
        return bad >= harm.least and good <= harm.least / 2
    if harm.by == "refused":
        return bad < good
    if math.isnan(bad):  # it failed, or its numbers are no numbers any more
        return not math.isnan(good)
    if harm.by == "speed":
        return good >= harm.least * bad
    higher = callable(harm.by) or known_metric(f"val/{harm.metric}").maximize
    return (good - bad if higher else bad - good) >= harm.least


def _judge_healthy(case: Healthy, trial: Trial) -> Verdict:
    value = trial.metric(case.metric)
    higher = known_metric(f"val/{case.metric}").maximize
    learned = value >= case.least if higher else value <= case.least
    return Verdict(
        case.name, "healthy", f"val/{case.metric}", value, math.nan, case.least, learned, trial.outcome["seconds"]
    )
