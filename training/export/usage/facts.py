"""What ``model.py`` reads of ``model.json``: the records that ``training.export.model_json`` writes, where pydantic may be missing."""

from typing import NotRequired, TypedDict


class Derived(TypedDict):
    column: str
    part: str  # year, month, weekday, hour of a moment in the form; or the hash of a text, in one of the buckets
    form: str
    buckets: int


class Feature(TypedDict):
    name: str
    categories: list[str] | None  # the texts that the codes 1, 2, ... stand for
    marks: str | None  # the feature whose gaps it marks
    derived: NotRequired[Derived | None]  # how it is computed that is no column of the table


class Cells(TypedDict):
    missing: list[str]  # texts that stand for nothing
    thousands: str
    decimal: str


class Normalization(TypedDict):
    mean: list[float]
    std: list[float]
    divisor: float
    missing: bool


class Input(TypedDict):
    layout: str
    shape: list[int]
    normalisation: Normalization | None
    features: list[Feature]  # of tables
    cells: NotRequired[Cells | None]  # of tables


class TaskOutput(TypedDict):
    name: str
    classes: list[str]  # none of a number
    first: int
    last: int


class Output(TypedDict):
    kind: str
    probabilities: str
    threshold: float | None
    thresholds: NotRequired[list[float] | None]  # of each label, where they have their own
    temperature: NotRequired[float | None]  # divides the scores of classes and labels before they become probabilities
    spread: dict[str, list[float]] | None
    tasks: list[TaskOutput]  # of several targets
    unit_length: bool  # whether they are still to be divided by their length


class ModelFacts(TypedDict):
    file: dict[str, str]
    classes: list[str]
    input: Input
    output: Output
