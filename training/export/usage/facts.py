"""What ``model.py`` reads of ``model.json``: the records that ``training.export.model_json`` writes, where pydantic may be missing."""

from typing import TypedDict


class Feature(TypedDict):
    name: str
    categories: list[str] | None  # the texts that the codes 1, 2, ... stand for
    marks: str | None  # the column whose gaps it marks


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


class TaskOutput(TypedDict):
    name: str
    classes: list[str]  # none of a number
    first: int
    last: int


class Output(TypedDict):
    kind: str
    probabilities: str
    threshold: float | None
    spread: dict[str, list[float]] | None
    tasks: list[TaskOutput]  # of several targets
    unit_length: bool  # whether they are still to be divided by their length


class ModelFacts(TypedDict):
    file: dict[str, str]
    classes: list[str]
    input: Input
    output: Output
