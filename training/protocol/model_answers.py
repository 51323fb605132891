"""What a trained model says of samples it is given: records that the window and programs read. No torch, no Qt."""

from __future__ import annotations

from typing import Literal

from training.facts import Layout
from training.protocol.answers import Answer


class Chance(Answer):
    """A class, a label or a token, and its probability."""

    name: str
    probability: float


class Value(Answer):
    """A number in its own unit. ``error`` is how far such numbers were from the truth when the model was measured, ``within`` how far
    9 of 10 of them at most, None where that is not known; ``error_words`` say of what."""

    name: str
    value: float
    error: float | None = None
    within: float | None = None
    error_words: str = ""


class Ranked(Answer):
    """An item of a query: what a person calls it, and its score; the higher, the better it suits."""

    name: str
    score: float


class ImagePixels(Answer):
    """uint8 row by row: RGB or gray, channels last, as the model sees it."""

    width: int
    height: int
    channels: int
    pixels_base64: str


class MaskAnswer(Answer):
    """The class number of each pixel, uint8 row by row, and for each class that is there its share of the pixels."""

    width: int
    height: int
    classes_base64: str
    shares: tuple[Chance, ...]


class Neighbor(Answer):
    """A sample of an evaluation beside the one that was asked about: its class, how far its embedding lies, and where it stands in the
    data (as in ``ReadSamples``)."""

    name: str
    of: str = ""
    distance: float
    on: str = ""
    number: int = 0
    image: ImagePixels | None = None


class ModelAnswer(Answer):
    """What the model says of one sample; of several targets each stands under ``chances_of`` or among ``values``.

    ``name`` is what a person calls the sample: its file, its row. Where it could not be answered, ``refused`` says why, a
    clause. ``notes`` is what there is to say beside the answer. ``chances`` are sorted, the largest first; where there are more
    than ``MOST_CHANCES``, those. ``nearest`` are samples of an evaluation of this checkpoint, none where there is none.
    """

    name: str
    refused: str = ""
    notes: tuple[str, ...] = ()
    chances: tuple[Chance, ...] = ()
    prediction: tuple[str, ...] = ()
    chances_of: tuple[tuple[str, tuple[Chance, ...]], ...] = ()
    values: tuple[Value, ...] = ()
    ranking: tuple[Ranked, ...] = ()
    mask: MaskAnswer | None = None
    embedding: tuple[float, ...] = ()
    nearest: tuple[Neighbor, ...] = ()
    perplexity: float | None = None
    image: ImagePixels | None = None


MOST_CHANCES = 100


class ModelAnswers(Answer):
    """Of samples, in the order in which they were given; ``left_out`` is how many more there were."""

    answers: tuple[ModelAnswer, ...] = ()
    left_out: int = 0


class SavedAnswers(Answer):
    """``answered`` of ``samples`` were; the others are written with the reason."""

    answered: int = 0
    samples: int = 0


class Continuation(Answer):
    """``text`` is what the new ``tokens`` add to all before. The first ``unseen`` tokens of the prompt lie before what the model sees at
    once."""

    text: str = ""
    tokens: tuple[int, ...] = ()
    unseen: int = 0


class PlaneAnswer(Answer):
    """For each place of ``runs.boundary.frames.GRID`` rows upward and columns to the right, uint8 row by row: its class, and that
    one's probability, 255 being 1."""

    classes_base64: str = ""
    certainty_base64: str = ""


class ImageAttention(Answer):
    """Where in ``image`` lies what speaks for the class, label or value with the number ``output``: ``heat_base64`` is uint8 row by row,
    255 at the place that says the most, and 0 everywhere where ``nothing`` does. It is computed on a grid of ``rows`` by ``columns``, those
    of the last convolution ``layer``, or of the last attention."""

    image: ImagePixels
    heat_base64: str
    output: int
    nothing: bool = False
    rows: int
    columns: int
    layer: str = ""
    kind: Literal["convolution", "attention"] = "convolution"


class PickedRow(Answer):
    """A row of the held-out part of a run's data: its cells by column as their file has them, what it is called, and what is true of
    it, a clause."""

    name: str
    row: dict[str, str]
    truth: str = ""


class InputColumn(Answer):
    """A column of the rows that a table's model takes: of a category the texts it knows, of a number the least and the largest of the
    training rows (``low``, ``high``), their mean and std, None where that is not known. ``holds`` says what else it is: of a date ``first`` and ``last`` are those of the training
    rows, written as there ("" of times of day), in the ``form`` of ``strptime`` ("" for ISO 8601)."""

    name: str
    categories: tuple[str, ...] | None = None
    low: float | None = None
    high: float | None = None
    middle: float | None = None
    std: float | None = None
    holds: Literal["number", "category", "date", "text"] = "number"
    first: str = ""
    last: str = ""
    form: str = ""


class ModelDescription(Answer):
    """What a model takes and answers. ``kind`` is what it predicts ("class", "labels", "values", "mask", "tokens", "ranks", "tasks",
    "embedding"); ``outputs`` names what places of an image may speak for: classes, labels, values or targets. ``prompt`` is a text
    that a language model can go on with; ``plane``: its samples are points of the plane;
    ``thousands`` and ``decimal`` are how numbers are written in its table; ``summary`` names it in a sentence."""

    path: str = ""
    title: str = ""
    summary: str = ""
    layout: Layout = "vector"
    kind: str = "class"
    shape: tuple[int, ...] = ()
    classes: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    threshold: float | None = None
    columns: tuple[InputColumn, ...] = ()
    prompt: str = ""
    thousands: str = ""
    decimal: str = "."
    is_export: bool = False
    plane: bool = False
