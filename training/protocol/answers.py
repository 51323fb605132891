"""What an engine tells of a run before it begins, and of an export: records that the window reads. No torch, no Qt."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, JsonValue, PlainSerializer

from training.data_report import Skipped
from training.errors import Problem, format_duration
from training.events import Finding
from training.facts import Target


def _name_parts(problem: object) -> object:
    return dict(zip(("path", "message", "fix"), problem, strict=False)) if isinstance(problem, list) else problem


Problems = tuple[
    Annotated[
        Problem,
        BeforeValidator(_name_parts),
        PlainSerializer(lambda problem: [problem.path, problem.message, dict(problem.fix)]),
    ],
    ...,
]
"""The settings to change; in JSON each is a list: path, message, and the way out where the engine knows one."""


class Answer(BaseModel):
    """An engine of another version may leave out, or add, entries."""

    model_config = ConfigDict(frozen=True)


class Points(Answer):
    """The first two features of some samples."""

    x: tuple[float, ...] = ()
    y: tuple[float, ...] = ()
    label: tuple[str, ...] = ()


class ValueCounts(Answer):
    """How many training samples lie in each of equal intervals from ``low`` to ``high``."""

    name: str
    low: float
    high: float
    counts: tuple[int, ...]


class Sample(Answer):
    """An image, uint8 row by row, channels last: augmented as the model sees it, and as it was; with their masks, the class
    number of each pixel. ``detail`` names its values to predict, ``varied_detail`` what it is mixed of, ``name`` its file,
    as the dataset calls it; ``place`` counts from 0 through all samples that were asked for."""

    label: str
    index: int
    place: int = 0
    width: int
    height: int
    channels: int
    pixels_base64: str
    original_base64: str
    mask_base64: str | None = None
    original_mask_base64: str | None = None
    detail: str = ""
    varied_detail: str = ""
    name: str = ""
    mask_name: str = ""


class ClassChoice(Answer):
    """A class of the data: how many samples it has in all parts together, and whether ``dataset.classes`` keeps it."""

    name: str
    samples: int
    kept: bool


class TextWindow(Answer):
    name: str
    tokens: tuple[str, ...]
    place: int = 0


PAGE, TEXTS, ROWS = 24, 3, 30
"""How many places a page has: of images, of passages, of a table's rows."""


class SamplePage(Answer):
    """Images, passages of a text, or rows of a table (see ``TablePreview``), from ``offset`` on of the ``total`` that were asked for;
    ``unreadable`` are those whose places are empty. ``more``: they are the first of more, which a preview does not read. ``numbers`` are
    those of a table's rows in its file, from 0."""

    offset: int = 0
    total: int = 0
    more: bool = False
    samples: tuple[Sample, ...] = ()
    texts: tuple[TextWindow, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    numbers: tuple[int, ...] = ()
    unreadable: tuple[Skipped, ...] = ()


class SampleDigests(Answer):
    """What an exclude list calls samples: the name of each by its digest."""

    names: dict[str, str] = {}


class DuplicatePair(Answer):
    """A ``held`` sample of ``part`` and the one that it is a copy of, or looks like where it is not the ``same``; ``other_target``: they are to
    be answered differently."""

    held: str
    part: str
    trained: str
    same: bool
    other_target: bool = False


class DataDigest(Answer):
    """The fingerprint by which a run knows its data again."""

    fingerprint: str = ""


class DuplicateReport(Answer):
    """What of the samples held out is trained on, too: ``same`` ones, and images that look ``alike``, of ``compared`` held-out samples
    (``partial``: there are more). ``pairs`` are the first of them."""

    pairs: tuple[DuplicatePair, ...] = ()
    same: int = 0
    alike: int = 0
    other_target: int = 0
    compared: int = 0
    partial: bool = False


class TokenShare(Answer):
    name: str
    share: float


class Column(Answer):
    """A column of a table: what it holds in a word or two, how many values are missing and how many differ (None of what
    cannot be compared), and what it is for as the settings stand ("" where that cannot be told). ``about`` is what becomes of a date,
    or why the column is left out; ``low`` and ``high`` are the ends of what can be ordered, ``frequent`` the value that a text has most often."""

    name: str
    holds: str
    missing: int
    distinct: int | None
    role: str
    about: str = ""
    low: str = ""
    high: str = ""
    frequent: str = ""


class TablePreview(Answer):
    """``rows`` are the first ones of ``row_count``, as texts; of ``column_count`` columns the targets and the first ones. ``unread``: why
    there is no short script of a run on it."""

    columns: tuple[Column, ...]
    column_count: int
    row_count: int = 0
    rows: tuple[tuple[str, ...], ...]
    unread: str = ""

    def without_roles(self) -> TablePreview:
        """The table while nobody knows what its columns are for."""
        return self.model_copy(
            update={"columns": tuple(each.model_copy(update={"role": "", "about": ""}) for each in self.columns)}
        )


class Preview(Answer):
    """``notes`` is what there is to say. Where nothing can be shown, ``refused`` says why, and ``problems`` name the settings."""

    notes: tuple[str, ...] = ()
    refused: str = ""
    problems: Problems = ()


class DatasetReport(Preview):
    """What ``training.data.inspect`` finds; of a table whose columns cannot play their roles, ``table`` alone; where classes cannot
    be kept as asked, ``class_choices``, too."""

    layout: str = ""
    target: Target = "class"
    classes: tuple[str, ...] = ()
    counts: dict[str, tuple[int, ...]] = {}
    samples: dict[str, int] = {}
    shape: tuple[int, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    skipped_total: int = 0
    given: tuple[str, ...] = ()
    excluded: tuple[int, ...] = ()
    bytes: int = 0
    histograms: tuple[ValueCounts, ...] = ()
    points: Points | None = None
    first_page: SamplePage | None = None  # of all training samples, of images and text; of a table's rows
    place_counts: tuple[int, ...] = ()
    vocabulary: str = ""
    token_counts: dict[str, int] = {}
    frequent: tuple[TokenShare, ...] = ()
    table: TablePreview | None = None
    class_choices: tuple[ClassChoice, ...] = ()
    """All classes of the data, where ``dataset.classes`` may choose among them; also while that is refused."""


class Layer(Answer):
    """A module that has no parts, or owns parameters itself; its name is "" for the network itself."""

    name: str
    type: str
    output_shape: tuple[int, ...] | None
    """Without the batch; None where a parent uses its weights without calling it."""
    parameters: int
    """Its own; a shared parameter counts at its first layer only."""


class ParameterGroup(Answer):
    """Parameters that are trained alike; a factor ``lr_scale`` of 0: frozen."""

    name: str
    tensors: int
    parameters: int
    decays: bool
    lr_scale: float


class ModelSummary(Preview):
    """The layers of a network in the order they run, totals, and what it is built for."""

    layers: tuple[Layer, ...] = ()
    parameters: int = 0
    trainable_parameters: int = 0
    parameter_bytes: int = 0
    buffer_bytes: int = 0
    input_shape: tuple[int, ...] = ()
    outputs: int = 0
    groups: tuple[ParameterGroup, ...] | None = None


class RunTime(Answer):
    """How long a run will take: seconds of a ``step`` and of a ``validation``, when all is warm, and how many of them there will
    be. ``waited`` seconds of a step go by until its samples are there."""

    step: float
    validation: float
    steps: int
    steps_per_epoch: int
    validations: int
    waited: float = 0.0

    @property
    def seconds(self) -> float:
        """Of the whole run, but for start-up and saving."""
        return self.step * self.steps + self.validation * self.validations

    def __str__(self) -> str:
        whole = self.seconds
        if whole < 1:
            return "a few seconds, less than one of them for the steps"
        per_epoch = whole * self.steps_per_epoch / self.steps
        each = f", {format_duration(per_epoch)} an epoch" if 1 <= per_epoch < whole else ""
        return f"about {format_duration(whole)}{each}, plus start-up and saving"


class MaybeRunTime(Answer):
    """None where telling it would take too long."""

    run_time: RunTime | None = None


class Findings(MaybeRunTime):
    """What ``training.doctor`` has to say."""

    findings: tuple[Finding, ...] = ()


class Suspect(Answer):
    """What may keep a network from learning: ``tried`` is what was changed ("" where a look at the network found it), ``cured`` whether the
    samples were learned then (None: not tried to the end), ``loss`` how low it came. ``fix`` are the settings of that change."""

    code: str = ""
    place: str = ""
    tried: str = ""
    cured: bool | None = None
    loss: float | None = None
    fix: dict[str, JsonValue] = {}


class OneBatchFit(Answer):
    """Whether a network learned ``samples`` samples by heart in ``steps`` steps (``fitted``; None: time ran out before that showed).
    ``losses`` is the loss before each step, ``blind_losses`` the same of a network that was given zeros in place of the inputs.
    ``error`` is the share that is still answered wrongly, by ``measure`` (a word or two). ``suspects`` are in the order of their
    likelihood, the one whose change cured first. ``findings`` say all of it."""

    samples: int = 0
    fitted: bool | None = None
    steps: int = 0
    losses: tuple[float, ...] = ()
    blind_losses: tuple[float, ...] = ()
    error: float | None = None
    measure: str = ""
    seconds: float = 0.0
    suspects: tuple[Suspect, ...] = ()
    findings: tuple[Finding, ...] = ()


class ExportResult(Answer):
    """``path`` is the main file of ``files``, ``max_difference`` the largest one of a logit after loading it again, ``proof`` what
    was found then, a sentence or two; ``summary`` says all of it. ``warns``: something in the proof wants to be thought about."""

    format: str = ""
    path: str = ""
    files: tuple[str, ...] = ()
    max_difference: float = 0.0
    proof: str = ""
    summary: str = ""
    warns: bool = False


class EvaluationResult(Answer):
    """``folder`` is what ``training.predictions.read`` takes."""

    folder: str = ""


class EvaluationComparison(Answer):
    """``sentences`` say by the metric's name which is better, or that ``samples`` samples show no difference."""

    samples: int = 0
    sentences: dict[str, str] = {}
    notes: tuple[str, ...] = ()
