"""A model card: ``README.md`` in the sections of the Hugging Face template, filled from facts; what only a person knows is marked."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from training.environment import list_facts
from training.errors import format_bytes, list_first
from training.metric_names import show_metric
from training.report.facts import RunFacts, find_changed_settings
from training.report.measured import describe_metrics, shorten, title_metric
from training.report.pages import render
from training.verify.runtimes import GRAPHS

_TASKS: Final = {
    ("image", "class"): "image-classification",
    ("image", "labels"): "image-classification",
    ("image", "mask"): "image-segmentation",
    ("vector", "class"): "tabular-classification",
    ("vector", "labels"): "tabular-classification",
    ("vector", "values"): "tabular-regression",
    ("tokens", "tokens"): "text-generation",
}
"""What Hugging Face calls a task, by what goes in and what is learned."""
_READING: Final = {"image": "decodes and resizes images", "tokens": "encodes text"}
"""What the file beside a graph does, by the layout; of all others it reads rows."""


@dataclass(frozen=True)
class CardFile:
    """The file that is described: its format, size, digest, the sentences of its proof, of which step it is, and the ``metrics`` that
    the run measured last up to that step, at ``measured``."""

    name: str
    format: str
    bytes: int
    sha256: str
    proof: str
    step: int
    layout: str
    target: str
    parameters: int
    metrics: Mapping[str, float]
    measured: int


def render_card(run: RunFacts, file: CardFile) -> str:
    """The text of the card."""
    chief = next((each.record for each in run.evaluations if each.record.step == file.step), None)
    kept = dict(chief.metrics) if chief else {}
    numbers = {name: each.value for name, each in kept.items() if each.value is not None}
    task = _TASKS.get((file.layout, file.target), "")
    return render(
        "training.report",
        "card.md.jinja",
        run=run,
        name=_escape(run.name),
        summary=_escape(run.summary),
        file=file,
        size=format_bytes(file.bytes),
        is_graph=file.name.endswith(GRAPHS),
        reading=_READING.get(file.layout, "reads rows"),
        front=_front_matter(run, task, chief.on if chief else "", numbers),
        data=[(title, _escape(value)) for title, value in _describe_data(run)],
        notes=[_escape(note) for note in (run.data.notes if run.data else ())],
        settings=[
            [_escape(cell) for cell in each] for each in (find_changed_settings(run.config) if run.config else ())
        ],
        metrics=[[_escape(cell) for cell in row] for row in describe_metrics(kept)],
        plain=[(_escape(title_metric(name)), show_metric(name, value)) for name, value in file.metrics.items()],
        on=_escape(chief.on) if chief else "",
        samples=chief.samples if chief else 0,
        environment=[(title, _escape(value)) for title, value in list_facts(run.environment)],
    )


def _escape(text: str) -> str:
    """As Markdown shows it: no markup, no new cell."""
    plain = shorten(text, 300).replace("&", "&amp;").replace("<", "&lt;")
    return "".join(f"\\{letter}" if letter in "\\`*_[]|#" else letter for letter in plain)


def _front_matter(run: RunFacts, task: str, on: str, metrics: Mapping[str, float]) -> list[str]:
    """YAML, which JSON is a part of: texts are quoted so."""
    lines = [
        "license: unknown  # to be filled in by the author: its identifier, such as apache-2.0",
        "language: []  # to be filled in by the author: of texts that go in or come out, such as en",
        *("library_name: pytorch", "tags:", "- trainwright"),
    ]
    lines += [f"- {_quote(tag)}" for tag in run.about.tags]
    if task:
        lines.append(f"pipeline_tag: {task}")
    if metrics:
        lines += [
            "model-index:",
            f"- name: {_quote(run.name)}",
            "  results:",
            "  - task:",
            f"      type: {task or 'other'}",
            "    dataset:",
            f"      name: {_quote(f'{run.record.dataset} ({on})')}",
            f"      type: {_quote(run.record.dataset or 'other')}",
            "    metrics:",
        ]
        lines += [
            line
            for name, value in metrics.items()
            for line in (f"    - type: {_quote(name)}", f"      value: {value!r}")
        ]
    return lines


def _quote(text: str) -> str:
    return json.dumps(shorten(text, 200), ensure_ascii=False)


def _describe_data(run: RunFacts) -> Sequence[tuple[str, str]]:
    data = run.data
    if data is None:
        return ()
    names = list_first(data.classes[:20], data.class_count)
    return (
        ("Kind", data.kind),
        ("Samples", ", ".join(f"{part} {count:,}" for part, count in data.samples.items())),
        ("One sample", " × ".join(map(str, data.shape))),
        ("Learned", f"{data.target}: {names}" if names else data.target),
        ("Fingerprint", data.fingerprint),
    )
