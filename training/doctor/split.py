"""Whether samples that judge the model are also trained on."""

from __future__ import annotations

import torch
from pydantic import JsonValue

from training.config.sections.data.dataset_section import PartsSection
from training.data.batching.batches import Data
from training.data.duplicates import Duplicates, find_duplicates
from training.data.source import ReportProgress
from training.errors import pluralize
from training.events import Finding, FindingLevel
from training.findings.data import CONFLICTS, LEAST_CONFLICTS, ONE_IS_WRONG, SAMPLED
from training.findings.split import DUPLICATES, FEW_COPIES, MANY_ALIKE, NEAR_DUPLICATES

_SHOWN = 3


def duplicate_findings(
    data: Data, config: object, report_progress: ReportProgress, whole: bool = False
) -> list[Finding]:
    """A warning for the same samples, another for images that look alike; nothing when there are none. ``whole``: of all
    samples, however many there are."""
    source, facts = data.source, data.facts
    if facts.layout == "tokens":
        return []  # windows of one text
    decoding = data.report.batches.mode == "streamed" and source.reading == "files"
    found = find_duplicates(source, data.splits, data.raw, decoding, report_progress, whole)
    result = _tell_share(data, found) if found.partial else []
    looked = (
        f" of the {found.held:,} that were compared"
        if found.partial
        else f" of {pluralize(found.held, 'held-out sample')}"
    )
    result += _tell_exact(data, config, found, looked) if found.exact else []
    if found.near:
        result.append(
            NEAR_DUPLICATES.find(
                "warning" if len(found.near) >= MANY_ALIKE * found.held else "info",
                f"{len(found.near):,}{looked} look almost like one that is trained on: {_examples(data, found.near)}.",
                f"Copies in another size or format, or neighboring frames? Then {_advise_apart(config)}, or remove them.",
                evidence={"samples": len(found.near), "pairs": [list(pair) for pair in found.near[:_SHOWN]]},
            )
        )
    return result


def _tell_exact(data: Data, config: object, found: Duplicates, looked: str) -> list[Finding]:
    """Samples that are the same: of copies with other targets that they disagree, else that they are trained on."""
    targets, count = data.source.targets, len(found.exact)
    conflicts = sum(not torch.equal(targets[a], targets[b]) for a, b in found.exact)
    evidence = {"samples": count, "pairs": [list(pair) for pair in found.exact[:_SHOWN]]}
    if 2 * conflicts > count:
        title = (
            f"{conflicts:,}{looked} are equal to a training sample with another target: {_examples(data, found.exact)}."
        )
        level: FindingLevel = "warning" if conflicts >= LEAST_CONFLICTS * found.held and not found.by_chance else "info"
        return [CONFLICTS.find(level, title, ONE_IS_WRONG, place="parts", evidence={**evidence, "samples": conflicts})]
    other = f", {conflicts:,} of them with another target" if conflicts else ""
    few = found.by_chance or count < FEW_COPIES * found.held
    advice, fix = _advise_copies(data, config, found)
    title = f"{count:,}{looked} are trained on, too{other}: {_examples(data, found.exact)}."
    return [DUPLICATES.find("info" if few else "warning", title, advice, evidence=evidence, fix=fix)]


def _advise_copies(data: Data, config: object, found: Duplicates) -> tuple[str, dict[str, JsonValue]]:
    """What to do, and the setting that does it: none that would leave nothing to validate on."""
    advice = "The metrics look better than the model is."
    if found.by_chance:
        return "Rows of so few different numbers are equal by chance.", {}
    held = {number for number, _ in found.exact}
    if not isinstance(config, PartsSection):
        return advice, {}
    if not all(number in held for number in data.splits["validation"].tolist()):
        return f"{advice} Leave them out of validation.", {"dataset.duplicates": "drop_from_validation"}
    if config.validation == "auto" and "validation" in data.source.parts:
        return f"{advice} Hold out training samples instead.", {"dataset.validation": "split"}
    return f"{advice} Keep one copy of each.", {}


def _tell_share(data: Data, found: Duplicates) -> list[Finding]:
    """How many of all samples were compared."""
    train = len(data.splits["train"])
    held = sum(len(numbers) for part, numbers in data.splits.items() if part != "train")
    title = (
        f"{found.trained:,} of {train:,} training samples ({found.trained / train:.0%}) and {found.held:,} of {held:,} held-out ones "
        f"({found.held / max(held, 1):.0%}), drawn by chance, were compared for copies."
    )
    evidence = {"trained": found.trained, "of_trained": train, "held": found.held, "of_held": held}
    return [SAMPLED.find("info", title, "check --whole compares all of them, which takes longer.", evidence=evidence)]


def _advise_apart(config: object) -> str:
    """How images of the same are kept in one part."""
    if hasattr(config, "group_column"):
        return "name the column that says whom or what they show as dataset.group_column"
    return "put all that show the same person or thing into the same part"


def _examples(data: Data, pairs: list[tuple[int, int]]) -> str:
    return "; ".join(f"{data.source.name(held)} and {data.source.name(trained)}" for held, trained in pairs[:_SHOWN])
