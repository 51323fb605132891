"""What stands in ``model.json``: its records, in the order of the file."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue

from training.facts import Layout, Part, Target
from training.runs.export_place import Format, NamedFile

FORMAT: Format = "trainwright-model"


class _Record(BaseModel):
    """Entries that were not given are left out of the file."""

    model_config = ConfigDict(frozen=True)


class ExportedFile(NamedFile):
    format: str
    bytes: int
    sha256: str


class DerivedFrom(_Record):
    """``facts.Derivation``: how a feature is computed that is no column of the table."""

    column: str
    part: Part
    form: str
    low: str
    high: str
    buckets: int


class Feature(_Record):
    """Of a category the texts that its codes 1, 2, ... stand for; of a number the ``range`` of the training rows; of a mark the
    feature whose gaps it marks."""

    name: str
    categories: tuple[str, ...] | None
    marks: str | None
    derived: DerivedFrom | None = None
    range: tuple[float, float] | None = None


class Cells(_Record):
    """How cells that are texts are written: what stands for a missing value beside an empty one, and numbers."""

    missing: tuple[str, ...]
    thousands: str
    decimal: str


class Resizing(_Record):
    height: int
    width: int
    rule: str


class Spread(_Record):
    """Of values that were learned with zero mean and unit std."""

    mean: tuple[float, ...]
    std: tuple[float, ...]


class InputNormalization(_Record):
    formula: str
    divisor: float
    done_by: Literal["caller", "model"]
    mean: tuple[float, ...]
    std: tuple[float, ...]
    missing: bool


class Input(_Record):
    layout: Layout
    shape: tuple[int, ...]
    axes: tuple[str, ...]
    dtype: str
    meaning: str = ""
    value_range: tuple[int, int] = (0, 255)
    color_order: str = ""
    resizing: Resizing | None = None
    features: tuple[Feature, ...] = ()
    cells: Cells | None = None
    normalisation: InputNormalization | None  # so spelled in the files of all versions
    tokenizer: str = ""


class TaskOutput(_Record):
    """Which columns of the output answer one of several targets."""

    name: str
    classes: tuple[str, ...]
    first: int
    last: int


class Output(_Record):
    """From the probability ``threshold`` on it is a yes, where each label has one of its own from that of ``thresholds``. Scores are divided by ``temperature`` before they become probabilities."""

    kind: Target | Literal["embedding"]
    shape: tuple[str | int, ...]
    dtype: str
    meaning: str
    probabilities: str
    threshold: float | None
    thresholds: tuple[float, ...] | None = None
    temperature: float | None = None
    spread: Spread | None
    unit_length: bool
    tasks: tuple[TaskOutput, ...]


class GraphValue(_Record):
    """An input or output of a graph."""

    name: str
    dtype: str
    shape: tuple[str | int, ...]


class GraphFacts(_Record):
    """What the graph takes and answers. ``plain`` is the file beside it that answers logits alone, of samples as ``input`` says;
    ``quantized`` is "int8" or ""."""

    inputs: tuple[GraphValue, ...]
    outputs: tuple[GraphValue, ...]
    plain: str
    quantized: str = ""


class TensorFacts(_Record):
    name: str
    shape: tuple[int, ...]
    dtype: str


class WeightsFacts(_Record):
    which: str
    averaged: bool
    tensors: tuple[TensorFacts, ...]


class SourceFacts(_Record):
    """The run and the checkpoint that were exported."""

    run: str
    checkpoint: str
    step: int
    epoch: int
    metrics: dict[str, float]
    data_fingerprint: str
    config: dict[str, JsonValue]


class Versions(_Record):
    trained_with: JsonValue
    exported_with: dict[str, str]


class ModelJson(_Record):
    """All that is needed to use an exported model elsewhere."""

    format: Format
    version: int
    created: str
    file: ExportedFile
    files: tuple[str, ...]
    """All that belongs together, but this one."""
    task: str
    classes: tuple[str, ...]
    """Or labels, values, tokens."""
    input: Input
    output: Output
    graph: GraphFacts | None = None
    architecture: dict[str, JsonValue]
    weights: WeightsFacts
    source: SourceFacts
    versions: Versions
