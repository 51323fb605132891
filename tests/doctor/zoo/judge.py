"""What the program says of each case, twin and healthy run, before and during; and whether what it proposes cures.

A case is trained once, its twin once, and once more with the change that the first finding proposes. Findings stand in one order: errors,
then warnings, of each first those of ``check`` and then those of ``doctor``, in the program's own order; what the program folds into
another finding is not there. "Noticed" is any finding above a note; "named" goes by the first one alone.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.doctor.zoo.case import Case, Healthy
from tests.doctor.zoo.naming import causes_of
from tests.doctor.zoo.trial import ROOT, Trial, ask, run_trial
from tests.doctor.zoo.validate import is_worse, measure
from training.config import RunConfig, apply_overrides, parse_config
from training.config.files import config_data, load_config, overrides_of, save_config
from training.errors import TrainingError
from training.runs.cli_consent import trust_file

Record = Mapping[str, Any]
"""A finding, as ``--json`` has it, and ``when``: "before" or "during"."""

RANKS = {"error": 0, "warning": 1}


@dataclass(frozen=True)
class Opinion:
    """What the program says of one part of a case: findings above a note, in order. ``seconds`` are those of check and doctor."""

    part: str
    findings: tuple[Record, ...]
    seconds: float


@dataclass(frozen=True)
class Judgement:
    """Of a case. ``named`` and ``right_fix`` are those of the first finding. ``cured`` is None where no setting can cure it or nothing was tried, and False
    where the first finding proposes none; ``helped`` is likewise whether it got better by as much as the fault has to harm."""

    case: str
    kind: str
    causes: tuple[str, ...]
    findings: tuple[Record, ...]
    named: bool
    anywhere: bool
    right_fix: bool
    cured: bool | None
    helped: bool | None
    alarms: tuple[Record, ...]

    @property
    def noticed(self) -> bool:
        return bool(self.findings)


def judge_part(animal: Case | Healthy, part: str, out: Path) -> Opinion:
    """Train it where that was not done, and ask ``check`` and ``doctor``. What was answered by the very same program is kept."""
    trial = run_trial(animal, part, out)
    kept = trial.folder / "opinion.json"
    asked = hashlib.sha256(f"{trial.outcome['digest']} {program_digest()}".encode()).hexdigest()
    if kept.exists() and (answer := json.loads(kept.read_text()))["asked"] == asked:
        return Opinion(part, tuple(answer["findings"]), answer["seconds"])
    found, seconds = _ask(["check", "config.toml", "--json", "--trust"], trial, "before")
    if trial.run is not None and (trial.run / "series.bin").exists():  # else it ended before its first step
        more, spent = _ask(["doctor", str(trial.run), "--json"], trial, "during")
        found, seconds = [*found, *more], seconds + spent
    findings = _in_order(found)
    kept.write_text(json.dumps({"asked": asked, "findings": findings, "seconds": seconds}))
    return Opinion(part, tuple(findings), seconds)


def _ask(words: list[str], trial: Trial, when: str) -> tuple[list[dict[str, Any]], float]:
    answer = ask(words, trial.folder)
    if "findings" not in answer.record:
        raise RuntimeError(f"{trial.folder}: {' '.join(words)} ended with {answer.code}: {answer.said}")
    found = [item | {"when": when} for item in answer.record["findings"] if item["level"] in RANKS]
    return found, answer.seconds


def _in_order(found: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each key once, with its worst level where it was told first; what is over is not there."""
    kept: dict[tuple[str, str], dict[str, Any]] = {}
    for item in found:
        if item.get("cleared_at") is not None:
            continue
        key = (item["code"], item["place"])
        before = kept.get(key)
        if before is None or RANKS[item["level"]] < RANKS[before["level"]]:
            kept[key] = item
    return sorted(kept.values(), key=lambda item: RANKS[item["level"]])


@cache
def program_digest() -> str:
    """Of all that can change what is found."""
    digest = hashlib.sha256()
    for file in sorted((ROOT / "training").rglob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def judge_case(case: Case, out: Path, cure: bool = True) -> Judgement:
    """All of one case and its twin."""
    opinion, twin = judge_part(case, "case", out), judge_part(case, "twin", out)
    config = configuration(out / case.name / "case")
    named = [bool(causes_of(item, config) & set(case.causes)) for item in opinion.findings]
    first = opinion.findings[0] if opinion.findings else None
    mended = mend(config, first["fix"]) if first is not None and first["fix"] else None
    curable = any(fix.settings for fix in case.fixes)
    cured, helped = (False, False) if curable and cure else (None, None)
    if cure and curable and mended is not None:
        cured, helped = try_cure(case, mended, out)
    return Judgement(
        case.name,
        case.kind,
        case.causes,
        opinion.findings,
        named=bool(named and named[0]),
        anywhere=any(named),
        right_fix=_is_right(case, first, mended),
        cured=cured,
        helped=helped,
        alarms=twin.findings,
    )


def configuration(folder: Path) -> RunConfig:
    """That of a trial."""
    path = folder / "config.toml"
    return load_config(path, trust_file(path, []))


def mend(config: RunConfig, fix: Mapping[str, Any]) -> RunConfig | None:
    """``config`` with the settings of a finding, as ``check --fix`` and the window's *Apply* make it; None where it is none."""
    data: dict[str, Any] = dict(config_data(config))
    try:
        apply_overrides(data, overrides_of(fix))
        return parse_config(data, paths=False)
    except TrainingError:
        return None


def _is_right(case: Case, first: Record | None, mended: RunConfig | None) -> bool:
    if first is None:
        return False
    if mended is not None and case.accepts(mended):
        return True
    said = f"{first['title']} {first['advice']} {first['place']}".lower()
    return any(name.lower() in said for fix in case.fixes for name in fix.names)


def try_cure(case: Case, mended: RunConfig, out: Path) -> tuple[bool, bool]:
    """Train from the start with ``mended``: whether that is no more worse than the twin, and whether the case is worse than that, by what
    the case is measured by."""
    trial = run_trial(case, "cured", out, write_cure(case, mended))
    if not trial.completed:
        return False, False
    faulty, cured, sound = (
        measure(case.harm, each) for each in (run_trial(case, "case", out), trial, run_trial(case, "twin", out))
    )
    if math.isnan(cured):
        return False, False  # nobody can tell
    gone = not is_worse(case.harm, cured, sound)
    return gone, gone or is_worse(case.harm, faulty, cured)


def write_cure(case: Case, mended: RunConfig) -> Callable[[Path], Path]:
    """Writes the case's data with the fault, and the mended settings."""

    def write(folder: Path) -> Path:
        case.write(folder, True)
        path = folder / "config.toml"
        path.unlink(missing_ok=True)
        moved = json.loads(json.dumps(dict(config_data(mended)), default=str))
        origin = f"{folder.parent / 'case'}"
        placed = parse_config(_replace(moved, origin, str(folder)), paths=False)
        save_config(placed, path)
        return path

    return write


def _replace(value: Any, before: str, after: str) -> Any:
    """Paths of the case's folder become those of this one."""
    if isinstance(value, dict):
        return {name: _replace(item, before, after) for name, item in value.items()}
    if isinstance(value, list):
        return [_replace(item, before, after) for item in value]
    return value.replace(before, after) if isinstance(value, str) else value


def judge_healthy(run: Healthy, out: Path) -> Opinion:
    """A run without a fault: each finding is a false alarm."""
    return judge_part(run, "healthy", out)
