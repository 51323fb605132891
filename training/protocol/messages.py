"""The conversation between the window and its engine: requests, replies, and their JSON. No torch, no Qt.

Both sides read only here what the other one wrote; what cannot be read becomes a sentence.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, JsonValue, TypeAdapter, ValidationError

from training.protocol.answers import Problems
from training.protocol.message import Message
from training.protocol.model_questions import ModelQuestion
from training.runs.records.forms import StatusRecord

Settings = dict[str, JsonValue]
"""A configuration, by sections."""


class RunRequest(Message):
    """Train ``config`` as a new run of ``workspace``."""

    action: Literal["run"] = "run"
    config: Settings
    workspace: Path


class ResumeRequest(Message):
    """Continue the run in ``target``, or from that checkpoint; ``overrides`` are "section.key=value"."""

    action: Literal["resume"] = "resume"
    target: Path
    overrides: tuple[str, ...] = ()


class BranchRequest(Message):
    """A new run of ``config`` that starts from ``checkpoint``."""

    action: Literal["branch"] = "branch"
    checkpoint: Path
    config: Settings
    workspace: Path


class InspectDataset(Message):
    """Answered by an ``answers.DatasetReport``."""

    action: Literal["inspect_dataset"] = "inspect_dataset"
    config: Settings


class BrowseSamples(Message):
    """Answered by an ``answers.SamplePage``: samples of ``part`` ("excluded": those that an exclude list leaves out), of ``classes`` or of
    all, with ``name`` in what they are called, from ``offset`` on; of a table the rows of its file, of all parts where ``part`` is "", whose cell
    in ``column`` is as ``value`` says (see ``training.data.tables.row_filter``). ``count`` images or texts, 0 for a page of them."""

    action: Literal["browse_samples"] = "browse_samples"
    config: Settings
    part: str = "train"
    classes: tuple[str, ...] = ()
    name: str = ""
    column: str = ""
    value: str = ""
    offset: int = 0
    count: int = 0


class DigestSamples(Message):
    """Answered by ``answers.SampleDigests``: what an exclude list calls the samples with ``numbers``, of a table the rows of its file."""

    action: Literal["digest_samples"] = "digest_samples"
    config: Settings
    numbers: tuple[int, ...]


class DigestData(Message):
    """Answered by an ``answers.DataDigest``: all samples are read once."""

    action: Literal["digest_data"] = "digest_data"
    config: Settings


class FindDuplicates(Message):
    """Answered by ``answers.DuplicateReport``."""

    action: Literal["find_duplicates"] = "find_duplicates"
    config: Settings


class ReadSamples(Message):
    """Answered by an ``answers.SamplePage``: the images with ``numbers`` in the data of the run in ``run``, as they are; ``on`` is a
    part of it, or the path of other data that was evaluated. ``names`` are what an evaluation calls them, () where nobody named
    them: a name counts more than its number, which is another where files were left out or came since."""

    action: Literal["read_samples"] = "read_samples"
    run: Path
    on: str
    numbers: tuple[int, ...]
    names: tuple[str, ...] = ()


class SummarizeModel(Message):
    """Answered by an ``answers.ModelSummary``."""

    action: Literal["summarise_model"] = "summarise_model"
    config: Settings


class CheckRequest(Message):
    """Answered by ``answers.Findings``. ``whole``: all samples are compared with each other, however many there are."""

    action: Literal["check"] = "check"
    config: Settings
    workspace: Path | None = None
    whole: bool = False


class FitOneBatch(Message):
    """Answered by an ``answers.OneBatchFit``: the network is trained on some samples until it knows them. ``seconds`` is all the time
    that it may take."""

    action: Literal["fit_one_batch"] = "fit_one_batch"
    config: Settings
    seconds: float = 20.0


class MeasureRunTime(Message):
    """Answered by ``answers.MaybeRunTime``: none where the first step takes longer than ``patience`` seconds."""

    action: Literal["measure_run_time"] = "measure_run_time"
    config: Settings
    patience: float


class ExportRequest(Message):
    """Answered by an ``answers.ExportResult``. ``temperature`` divides the scores of classes and labels before they become
    probabilities; "auto" is the one that fits the validation part, which is evaluated where that was not done before. From ``threshold``
    on the answer is yes, or a label is told ("auto": that of the best F1 on the same part); several are one for each label.
    ``quantize`` is "int8" or ""."""

    action: Literal["export"] = "export"
    checkpoint: Path
    to: str
    out: Path
    large_data: bool = False
    temperature: Literal["auto"] | float | None = None
    threshold: Literal["auto"] | tuple[float, ...] | None = None
    quantize: str = ""


class EvaluateRequest(Message):
    """Answered by an ``answers.EvaluationResult``. ``on`` is a part of the run's data ("validation", "test", "train"), or the path of other
    data. What was computed before is taken, unless ``again``. ``importance``: which columns matter is measured, too."""

    action: Literal["evaluate"] = "evaluate"
    checkpoint: Path
    on: str = "validation"
    again: bool = False
    importance: bool = False


class AddIntervals(Message):
    """Answered by an ``answers.EvaluationResult``: what a run kept of a validation gets the intervals of its metrics."""

    action: Literal["add_intervals"] = "add_intervals"
    evaluation: Path


class CompareEvaluations(Message):
    """Answered by an ``answers.EvaluationComparison``: B, the ``second``, against A, on the samples that both answered."""

    action: Literal["compare_evaluations"] = "compare_evaluations"
    first: Path
    second: Path


class Interrupt(Message):
    """The answer to request ``target`` is not waited for: an evaluation under way ends where it is, and so do a check, a search for
    duplicates, a fit of one batch and questions to a model. Not answered itself."""

    action: Literal["interrupt"] = "interrupt"
    target: int


class DetachRequest(Message):
    """The run goes on without the window; answered by an empty ``Done``."""

    action: Literal["detach"] = "detach"


class IfWindowDies(Message):
    """What becomes of a run when the window vanishes without a word; not answered."""

    action: Literal["if_window_dies"] = "if_window_dies"
    keep_training: bool = False


class Quit(Message):
    """No more requests; not answered."""

    action: Literal["quit"] = "quit"


class UnknownRequest(Message):
    """Of another version; or of this one, with a ``fault``."""

    action: JsonValue = None
    fault: str = ""


DataQuestion = InspectDataset | BrowseSamples | DigestSamples | DigestData | FindDuplicates
EvaluationQuestion = EvaluateRequest | AddIntervals | CompareEvaluations
TrainRequest = RunRequest | ResumeRequest | BranchRequest
KnownRequest = (
    TrainRequest
    | DataQuestion
    | ReadSamples
    | SummarizeModel
    | CheckRequest
    | FitOneBatch
    | MeasureRunTime
    | ExportRequest
    | EvaluationQuestion
    | ModelQuestion
    | Interrupt
    | DetachRequest
    | IfWindowDies
    | Quit
)
Request = KnownRequest | UnknownRequest


class Ready(Message):
    """The greeting of a warm engine. ``unwritable`` are formats of export that its Python cannot write, ``without_networks`` kinds of
    networks that it cannot build, with the reasons."""

    reply: Literal["ready"] = "ready"
    torch: str = ""
    devices: tuple[str, ...] = ()
    unwritable: dict[str, str] = Field(default_factory=dict)
    without_networks: dict[str, str] = Field(default_factory=dict)

    def __str__(self) -> str:
        return f"{', '.join(self.devices).upper()} · PyTorch {self.torch}"


class Started(Message):
    """The run has its folder."""

    reply: Literal["started"] = "started"
    run: str = ""
    folder: Path


class Progress(Message):
    """How far the work on a request is."""

    reply: Literal["progress"] = "progress"
    text: str = ""
    fraction: float | None = None


class Finished(Message):
    """The run came back. ``reusable``: the engine is fit for the next one."""

    reply: Literal["finished"] = "finished"
    result: StatusRecord
    reusable: bool = False


class Done(Message):
    """``result`` is one of the ``answers``, as the request says."""

    reply: Literal["done"] = "done"
    result: dict[str, JsonValue] = Field(default_factory=dict)


class Refusal(Message):
    """The engine will not do what was asked; ``problems`` name the settings to change."""

    reply: Literal["refused"] = "refused"
    message: str = ""
    advice: str = ""
    problems: Problems = ()

    def __str__(self) -> str:
        return f"{self.message} {self.advice}".strip()


Reply = Ready | Started | Progress | Finished | Done | Refusal

_REQUESTS: TypeAdapter[KnownRequest] = TypeAdapter(Annotated[KnownRequest, Field(discriminator="action")])
_REPLIES: TypeAdapter[Reply] = TypeAdapter(Annotated[Reply, Field(discriminator="reply")])


def parse_request(line: bytes) -> Request | None:
    """The request in a line of JSON; None for what is none."""
    data = _parse_object(line)
    if data is None:
        return None
    try:
        return _REQUESTS.validate_python(data)
    except ValidationError as error:
        return UnknownRequest(id=_read_id(data), action=data.get("action"), fault=_describe(error))


def parse_reply(line: bytes) -> Reply | None:
    """The reply in a line of JSON; None for text that a library printed, and for a kind of reply that this version does not
    know. One that is not as it should be is a refusal."""
    data = _parse_object(line)
    if data is None:
        return None
    try:
        return _REPLIES.validate_python(data)
    except ValidationError as error:
        fault = _describe(error)
        return refuse_unreadable(fault, _read_id(data)) if fault else None


def refuse_unreadable(fault: str, number: int = 0) -> Refusal:
    """What is said in place of an answer that this version cannot read."""
    message, advice = (
        f"The engine's answer cannot be read ({fault}).",
        "Window and engine should be of one version; update both.",
    )
    return Refusal(id=number, message=message, advice=advice)


def format_line(message: Message) -> bytes:
    """``message`` as a line of JSON."""
    return json.dumps(message.model_dump(mode="json")).encode() + b"\n"


def describe_fault(error: ValidationError) -> str:
    """The first fault of a message, in few words."""
    fault = error.errors()[0]
    return f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}"


def _describe(error: ValidationError) -> str:
    """``describe_fault``; "" for a kind of message that is not known at all."""
    return "" if error.errors()[0]["type"].startswith("union_tag") else describe_fault(error)


def _parse_object(line: bytes) -> dict[str, JsonValue] | None:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def _read_id(data: dict[str, JsonValue]) -> int:
    number = data.get("id")
    return number if isinstance(number, int) else 0
