"""The proof: an exported file is asked what the checkpoint answered, and every difference is counted."""

from __future__ import annotations

import math
import platform
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from training.metric_names import show_change
from training.statistics.paired import compare
from training.verify.answers import FALLING, Answering
from training.verify.kept import Kept
from training.verify.runtimes import Inputs, Outputs, Runtime

_TOGETHER = 64
ALIKE = 0.995
"""Share of the answers that are the model's, below which a person is warned."""
_AGREE = 0.95
"""And below which a file of int8 is refused, whatever its metric."""
_CLOSE = 0.1
"""What numbers of a file of int8 may be off by, in 99 of 100, in units of their spread."""
_LOSS = 0.01
"""What its metric may lose of a share, or in proportion of an error: a file is refused where the whole interval of the paired difference
lies beyond."""
_LEVELS, _MEAN_LEVEL = 8.0, 0.5
"""How far an image's pixels may be off that another version of Pillow decoded: the largest of 255 levels, and the mean."""
_SECONDS, _MOST_CALLS = 0.3, 50
IMAGE_FILES = "image files"
_RAW = {"images": IMAGE_FILES, "features": "rows", "tokens": "texts"}
"""Raw samples, by the input that is made of them."""


@dataclass
class Findings:
    """What came out; ``faults`` are clauses, none where the file is proven."""

    told: dict[str, Any] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Answered:
    scores: NDArray[np.float32]
    decisions: NDArray[Any] | None
    chances: NDArray[Any] | None
    terms: NDArray[Any] | None


def prove(kept: Kept, runtime: Runtime) -> Findings:
    """Ask ``runtime`` what is ``kept``, all samples and the first alone and with the second, and compare."""
    found = Findings(
        {
            "dtype": kept.dtype,
            "samples": len(kept),
            "drawn": kept.drawn,
            "trained": kept.trained,
            "worst": kept.worst,
            "chosen": kept.chosen,
            "part": kept.part,
        }
    )
    answered = _ask_all(kept, runtime)
    _compare_scores(kept, answered, runtime, found)
    if kept.decisions is not None and answered.decisions is not None:
        _compare_decisions(kept, answered.decisions, found)
    if kept.chances is not None and answered.chances is not None:
        _compare_chances(kept, answered.chances, found)
    if kept.targets is not None and kept.terms is not None and answered.terms is not None:
        _compare_metrics(kept, answered.terms, found)
    found.told["latency_ms"] = _measure_latency(kept, runtime)
    found.told["runtime"] = runtime.name
    found.told["machine"] = f"{platform.machine()}, Python {platform.python_version()}, NumPy {np.__version__}"
    found.told["torch_loaded"] = sys.modules.get("torch") is not None
    return found


def compare_variant(
    kept: Kept, runtime: Runtime, adapt: Callable[[Inputs], Inputs], found: Findings, name: str
) -> None:
    """That a file beside it, which answers logits alone, gives the same."""
    scores = np.concatenate([kept.answering.pick(runtime.ask(adapt(part))["logits"]) for part in _batches(kept.inputs)])
    difference = _largest(scores - kept.scores)
    found.told["plain"] = {"name": name, "largest": difference}
    if kept.dtype == "float32" and not difference <= _allow(kept):
        found.faults.append(f"the scores of {name} differ by {difference:.3g}")


def compare_reading(kept: Kept, read: Callable[[bytes], Inputs], found: Findings, file: str) -> None:
    """That ``read``, of the Python ``file``, makes of each raw sample what the engine makes of it."""
    assert kept.raw is not None
    largest, mean = 0.0, 0.0
    for number, content in enumerate(kept.raw.content):
        for name, made in read(content).items():
            expected = kept.raw.inputs[name][number]
            made = np.asarray(made)[0]
            if made.shape != expected.shape or made.dtype != expected.dtype:
                found.faults.append(
                    f"the preprocessing makes {made.dtype} {made.shape} of raw sample {number + 1}, not {expected.dtype} {expected.shape}"
                )
                return
            apart = np.abs(made.astype(np.float64) - expected.astype(np.float64))
            apart = np.where(np.isnan(made) & np.isnan(expected), 0.0, apart) if made.dtype.kind == "f" else apart
            largest, mean = max(largest, _largest(apart)), max(mean, float(apart.mean()) if apart.size else 0.0)
    what = _RAW[next(iter(kept.inputs))]
    found.told["preprocess"] = {"file": file, "samples": len(kept.raw.content), "what": what, "largest": largest}
    if not (largest <= _LEVELS and mean <= _MEAN_LEVEL if what == IMAGE_FILES else largest <= 1e-6):
        found.faults.append(
            f"the preprocessing beside it reads samples otherwise than training did, by {show_level(largest, what)}"
        )


def show_level(largest: float, what: str) -> str:
    """A difference of what was read of ``what``, in its unit."""
    return f"{largest:.3g} of 255 levels" if what == IMAGE_FILES else f"{largest:.3g}"


# --------------------------------------------------------------------------------------------------------- inside


def _batches(inputs: Inputs) -> Iterator[Inputs]:
    count = len(next(iter(inputs.values())))
    for start in range(0, count, _TOGETHER):
        yield {name: each[start : start + _TOGETHER] for name, each in inputs.items()}


def _ask_all(kept: Kept, runtime: Runtime) -> _Answered:
    answering, parts, start = kept.answering, [], 0
    for part in _batches(kept.inputs):
        outputs = runtime.ask(part)
        logits = outputs["logits"]
        targets = None if kept.targets is None else kept.targets[start : start + len(logits)]
        start += len(logits)
        parts.append(
            _Answered(
                answering.pick(logits),
                read_decisions(answering, outputs),
                outputs.get("probabilities", answering.find_chances(logits)),
                None if targets is None else answering.take_terms(logits, targets),
            )
        )
    return _Answered(*(_join([getattr(part, name) for part in parts]) for name in _Answered.__annotations__))  # type: ignore[arg-type]


def _join(parts: Sequence[NDArray[Any] | None]) -> NDArray[Any] | None:
    known = [part for part in parts if part is not None]
    return np.concatenate(known) if known else None


def read_decisions(answering: Answering, outputs: Outputs) -> NDArray[Any] | None:
    """As ``Answering.decide``, by the names that the file itself gives, where it does; -1 for a name that is none of them."""
    places = {name: place for place, name in enumerate(answering.names)}
    if "class" in outputs:
        return np.array([places.get(str(name), -1) for name in outputs["class"]], np.int32)
    if "labels" in outputs:
        told = outputs["labels"].astype(str)
        right = (told == "") | (told == np.array(answering.names)[None])
        return np.where(right, told != "", -1).astype(np.int32)
    if "mask" in outputs:
        return outputs["mask"].astype(np.int32)
    named = [task for task in answering.tasks if task.classes]
    if named and f"answer/{named[0].name}" in outputs:
        found = []
        for task in named:
            known = {name: place for place, name in enumerate(task.classes)}
            found.append([known.get(str(name), -1) for name in outputs[f"answer/{task.name}"]])
        return np.array(found, np.int32).T
    return answering.decide(outputs["logits"])


def _largest(numbers: NDArray[Any]) -> float:
    """Of the absolute values; infinite where one is no number."""
    if not numbers.size:
        return 0.0
    largest = float(np.abs(numbers).max())
    return largest if math.isfinite(largest) else math.inf


def _allow(kept: Kept) -> float:
    """By how much a score may be off."""
    return kept.relative * max(0.1, _largest(kept.scores))


def _compare_scores(kept: Kept, answered: _Answered, runtime: Runtime, found: Findings) -> None:
    apart = np.abs(answered.scores - kept.scores)
    largest, allowed = _largest(apart), _allow(kept)
    for size in sorted({1, 2, len(kept)} - {len(kept)}):
        few = kept.answering.pick(runtime.ask({name: each[:size] for name, each in kept.inputs.items()})["logits"])
        largest = max(largest, _largest(few - kept.scores[:size]))
    p99 = float(np.quantile(apart, 0.99)) if math.isfinite(largest) else math.inf
    found.told["difference"] = {"largest": largest, "p99": p99, "scale": _largest(kept.scores)}
    found.told["batch_sizes"] = sorted({1, min(2, len(kept)), len(kept)})
    if kept.dtype == "float32":
        found.told["difference"]["allowed"] = allowed
        if not largest <= allowed:
            found.faults.append(f"its scores differ by {largest:.3g}, and {allowed:.3g} is allowed")
    elif kept.decisions is None and not p99 <= _CLOSE:
        found.faults.append(
            f"one number in a hundred differs by {p99:.3g} of the spread or more, and {_CLOSE:g} is allowed"
        )
    elif not math.isfinite(largest):
        found.faults.append("it answers with numbers that are not finite")


def _compare_decisions(kept: Kept, decisions: NDArray[Any], found: Findings) -> None:
    assert kept.decisions is not None
    same = decisions == kept.decisions
    agreement = float(same.mean())
    found.told |= {"agreement": agreement, "answers": same.size, "differing": int((~same).sum())}
    if kept.dtype == "int8":
        if agreement < _AGREE:
            found.faults.append(
                f"only {agreement:.1%} of its answers are the model's, and at least {_AGREE:.0%} have to be"
            )
        return
    assert kept.margins is not None
    clear = ~same & (kept.margins > 2.0 * _allow(kept))
    if clear.any():
        found.faults.append(f"{int(clear.sum()):,} of {clear.size:,} answers are others than the model's")


def _compare_chances(kept: Kept, chances: NDArray[Any], found: Findings) -> None:
    assert kept.chances is not None
    largest = _largest(chances - kept.chances) if chances.shape == kept.chances.shape else math.inf
    found.told["probabilities"] = {"largest": largest}
    allowed = max(1e-4, _allow(kept) / kept.answering.temperature)
    if kept.dtype == "float32" and not largest <= allowed:
        found.faults.append(f"its probabilities differ by {largest:.3g}, and {allowed:.3g} is allowed")


def _compare_metrics(kept: Kept, terms: NDArray[Any], found: Findings) -> None:
    """Of the drawn samples alone: the worst are no fair sample."""
    assert kept.terms is not None
    assert kept.targets is not None
    targets = kept.targets[: kept.drawn]
    before = kept.answering.measure(kept.terms[: kept.drawn], targets)
    after = kept.answering.measure(terms[: kept.drawn], targets)
    told = found.told["metrics"] = {}
    for name, metric in before.items():
        if not math.isfinite(metric.value) or not math.isfinite(after[name].value):
            continue
        difference = compare(metric, after[name]).difference
        told[name] = {
            "before": metric.value,
            "after": after[name].value,
            "difference": difference.value,
            "low": difference.low,
            "high": difference.high,
        }
        if kept.dtype != "int8":
            continue
        falls = name.rpartition("/")[2] in FALLING
        if (difference.low if falls else -difference.high) > _LOSS * (abs(metric.value) if falls else 1.0):
            change = show_change(name, metric.value, after[name].value, difference.low, difference.high)
            found.faults.append(f"int8 costs more than {'1%' if falls else '1 point'}: {change}")


def _measure_latency(kept: Kept, runtime: Runtime) -> dict[str, float]:
    """Milliseconds for one sample alone, and for one of many together: the median of some calls."""
    found = {}
    for name, size in (("alone", 1), ("together", min(_TOGETHER, len(kept)))):
        some = {key: each[:size] for key, each in kept.inputs.items()}
        took: list[float] = []
        begun = time.perf_counter()
        while len(took) < 3 or (time.perf_counter() - begun < _SECONDS and len(took) < _MOST_CALLS):
            start = time.perf_counter()
            runtime.ask(some)
            took.append(time.perf_counter() - start)
        found[name] = float(np.median(took)) * 1000.0 / size
    return found
