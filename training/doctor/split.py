"""Whether samples that judge the model are also trained on."""

from __future__ import annotations

import torch

from training.config.sections.data.dataset_section import PartsSection
from training.data.batching.batches import Data
from training.data.duplicates import Duplicates, find_duplicates
from training.data.source import ReportProgress
from training.errors import pluralize
from training.events import Finding
from training.findings.data import CONFLICTS, LEAST_CONFLICTS, ONE_IS_WRONG, SAMPLED
from training.findings.split import DUPLICATES, MANY_ALIKE, NEAR_DUPLICATES

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
    if found.exact:
        conflicts = sum(not torch.equal(source.targets[a], source.targets[b]) for a, b in found.exact)
        pairs = [list(pair) for pair in found.exact[:_SHOWN]]
        other = f", {conflicts:,} of them with another target" if conflicts else ""
        if 2 * conflicts > len(found.exact):
            title = f"{conflicts:,}{looked} are equal to a training sample with another target: {_examples(data, found.exact)}."
            result.append(
                CONFLICTS.find(
                    "warning" if conflicts >= LEAST_CONFLICTS * found.held else "info",
                    title,
                    ONE_IS_WRONG,
                    place="parts",
                    evidence={"samples": conflicts, "pairs": pairs},
                )
            )
        droppable = isinstance(config, PartsSection)
        advice = "The metrics look better than the model is."
        result.append(
            DUPLICATES.find(
                "warning",
                f"{len(found.exact):,}{looked} are trained on, too{other}: {_examples(data, found.exact)}.",
                f"{advice} Leave them out of validation." if droppable else advice,
                evidence={"samples": len(found.exact), "pairs": pairs},
                fix={"dataset.duplicates": "drop_from_validation"} if droppable else {},
            )
        )
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
