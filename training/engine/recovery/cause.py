"""What a step that was computed again showed, as a finding: the producer, its samples, and the smallest change that helps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from pydantic import JsonValue

from training.diagnosis.rates import calm_rate, scale_rate
from training.engine.recovery.preceding import Preceding
from training.engine.recovery.producer import INPUT, TARGET, Origin
from training.engine.session import Session
from training.errors import list_first, pluralize
from training.events import Finding
from training.findings.network import NONFINITE as FIRST_LOSS
from training.findings.nonfinite import NONFINITE
from training.system.untrusted import escape_unprintable

HUGE = 1e15
"""Beyond this a product of two float32 numbers, summed over a layer, comes near the largest there is (3.4e38)."""

_SHOWN_NAMES, _MOST_SAMPLES = 3, 100

Fix = dict[str, JsonValue]
"""Dotted settings and their values."""

_ADVICE = {
    "log": "The logarithm of 0 is infinite, and that of a negative number is none: clamp what goes in, as in x.clamp(min=1e-6).log().",
    "div": "Something is divided by 0: add a small number to the divisor, as in x / (y + 1e-6).",
    "sqrt": "The root has an infinite slope at 0, and of a negative number there is none: add a small number inside, as in (x + 1e-12).sqrt().",
    "pow": "A power below 1 has an infinite slope at 0, and of a negative number there is none: add a small number inside, or clamp it.",
    "exp": "float32 ends at exp(88.7): clamp what goes in, as in x.clamp(max=20).exp(), or use softmax, logsumexp or softplus.",
    "softmax": "A row of nothing but -inf has no softmax, as where a mask of attention hides all: let each position see at least itself.",
    "std": "The std of a single number is none, and its slope at 0 is infinite: use correction=0, and add a small number.",
    "acos": "Its slope is infinite at -1 and 1: clamp what goes in to just inside.",
    "atan2": "The angle of (0, 0) has no slope: add a small number to one of the two.",
    "norm": "The norm has no slope at 0: use (x.square().sum() + 1e-12).sqrt().",
    "batch_norm": "Divided by the std of a channel that does not vary, with eps too small: use the usual eps of 1e-5.",
    "sum": "The numbers add up beyond what the format holds: use a mean, or scale them down before.",
}
_ALIKE = {
    "log2": "log", "log10": "log", "log1p": "log", "xlogy": "log", "logit": "log", "binary_cross_entropy": "log",
    "reciprocal": "div", "rsqrt": "sqrt", "var": "std", "var_mean": "std", "std_mean": "std", "asin": "acos", "acosh": "acos",
    "atanh": "acos", "vector_norm": "norm", "log_softmax": "softmax", "expm1": "exp", "sinh": "exp", "cosh": "exp", "layer_norm": "batch_norm",
    "group_norm": "batch_norm", "cumsum": "sum", "cumprod": "sum", "prod": "sum", "mean": "sum", "square": "sum", "mul": "sum",
}  # fmt: skip


@dataclass(frozen=True)
class Cause:
    """Where numbers stopped being finite: in the forward or backward pass, in the sum of gradients over batches, in their norm, in the
    optimizer's step before; "" where all was finite. ``origin`` is None where no operation could be named."""

    kind: Literal["", "forward", "backward", "sum", "norm"]
    origin: Origin | None = None
    name: str = ""  # a weight's


@dataclass(frozen=True)
class Search:
    """A cause; the window's loss as it came out; whether this was the very step, to the bit, else how many steps had moved the weights;
    whether all steps up to it were made again."""

    cause: Cause
    loss: float
    exact: bool = False
    moved: int = 0
    walked: bool = False


def describe(session: Session, step: int, search: Search, before: Preceding, spoiled: str = "") -> Finding:
    """``spoiled`` is the weight that the run began with already spoiled, if any."""
    evidence: dict[str, Any] = {"exact": search.exact, **before.evidence}
    doubt = (before.words, _doubt(search))
    return _tell(session, step, f"Step {step:,} was skipped", search.cause, before, spoiled, evidence, doubt)


def describe_measured(session: Session, cause: Cause) -> Finding:
    """Of a validation: nothing of it changes the weights, so training goes on."""
    step = session.progress.step
    which = " of the averaged weights" if session.ema is not None else ""
    what = f"The validation{which} behind step {step:,} has no finite loss"
    return _tell(session, step, what, cause, Preceding(), "", {"part": "validation"}, ())


def describe_first(session: Session, cause: Cause) -> Finding:
    """Of the first batch, before any step."""
    found = _tell(session, 0, "The first loss is not finite", cause, Preceding(), "", {}, ())
    return replace(found, code=FIRST_LOSS.code, level="error")


def _tell(
    session: Session,
    step: int,
    what: str,
    cause: Cause,
    before: Preceding,
    spoiled: str,
    evidence: dict[str, Any],
    more: tuple[str, ...],
) -> Finding:
    """That ``what`` happened by ``cause``; ``more`` ends the advice."""
    origin = cause.origin
    samples = origin.samples if origin is not None and not _is_weight(origin) else ()
    reason, advice, fix = _judge(session, cause, before, spoiled)
    if origin is not None:
        evidence |= _evidence(origin)
    if samples:
        evidence |= {"samples": list(samples[:_MOST_SAMPLES]), "sample_names": list(sample_names(session, samples))}
    return NONFINITE.find(
        "warning",
        f"{what}: {reason}.",
        " ".join(part for part in (advice, _numbers(cause), _who(session, samples), *more) if part),
        place=_place(cause),
        evidence=evidence,
        fix=fix,
        step=step,
    )


def describe_failure(session: Session, step: int, error: Exception) -> Finding:
    """That the step could not be computed again."""
    reason = escape_unprintable(str(error), 300)
    return NONFINITE.find(
        "warning",
        f"Step {step:,} was skipped: its gradient was not finite.",
        f"Computing it again to find the cause failed ({reason}). {_general_advice(session)}",
        step=step,
    )


def _place(cause: Cause) -> str:
    if cause.origin is not None:
        return cause.origin.module.name
    return {"forward": "loss", "sum": cause.name.rpartition(".")[0], "norm": "gradient", "": ""}.get(cause.kind, "")


def _is_weight(origin: Origin) -> bool:
    return bool(origin.source) and origin.source not in (INPUT, TARGET)


def _evidence(origin: Origin) -> dict[str, Any]:
    found: dict[str, Any] = {"module": origin.module.name, "pass": "backward" if origin.backward else "forward"}
    if origin.source:
        return found | {"source": origin.source}
    found |= {"operation": origin.operation, "lowest": origin.lowest, "highest": origin.highest}
    if origin.line is not None:
        found |= {"file": origin.line[0], "line": origin.line[1]}
    return found


def _judge(session: Session, cause: Cause, before: Preceding, spoiled: str) -> tuple[str, str, Fix]:
    """What happened, what to do about it, and the settings for that."""
    origin = cause.origin
    if origin is not None and origin.source in (INPUT, TARGET):
        return _judge_samples(origin)
    if origin is not None and origin.source:
        return _judge_weights(session, origin, spoiled)
    if cause.kind == "":
        return "its gradient was not finite", _general_advice(session), {}
    if cause.kind == "norm":
        text = "every number of its gradient was finite, but so large that their norm was not"
        return text, *_calm_down(session)
    if cause.kind == "sum":
        text = f"the gradients of its batches were finite, but their sum for the weights {cause.name} was not"
        return text, *_calm_down(session)
    if origin is None:
        return "the loss was not finite", _general_advice(session), {}
    return _say(origin), *_remedy(session, origin, before)


def _say(origin: Origin) -> str:
    made = "NaN" if origin.is_nan else "infinity"
    if origin.backward:
        return f"the derivative of {origin.words} in {origin.module.shown} made {made} of a finite gradient"
    return f"{origin.words} in {origin.module.shown} made {made} of finite numbers"


def _judge_samples(origin: Origin) -> tuple[str, str, Fix]:
    what = "inputs" if origin.source == INPUT else "values to predict"
    text = f"the {what} of {pluralize(len(origin.samples), 'sample')} held numbers that are not finite"
    advice = (
        "Repair these samples or put them on an exclude list (dataset.exclude); until then their steps are skipped."
    )
    return text, advice, {}


def _judge_weights(session: Session, origin: Origin, spoiled: str) -> tuple[str, str, Fix]:
    held = "NaN" if origin.is_nan else "infinity"
    text = f"{origin.source} held {held} already"
    if spoiled == origin.source:
        return text, "It did so when the run began: begin with other weights.", {}
    eps = getattr(session.config.optimizer, "eps", 1.0)
    if eps < torch.finfo(torch.float32).tiny:
        usual = float(type(session.config.optimizer).model_fields["eps"].default)
        advice = "The optimizer made it so: a weight without a gradient is moved by 0 / 0 where float32 rounds optimizer.eps to 0. Go back to an earlier checkpoint."
        return text, advice, {"optimizer.eps": usual}
    advice = "The optimizer's steps made it so. Go back to an earlier checkpoint, and on from there with a lower learning rate."
    return text, advice, scale_rate(session.config, 0.1)


def _remedy(session: Session, origin: Origin, before: Preceding) -> tuple[str, Fix]:
    half = origin.dtype == torch.float16 or (origin.backward and session.numerics.scaler.is_enabled())
    if half and not origin.is_nan and origin.largest < HUGE:
        other = instead_of_fp16(session.device)
        return f"fp16 holds no number above 65,504: compute in {other}.", {"precision.compute": other}
    if origin.largest >= HUGE or before.diverged:
        return _calm_down(session)
    fix: Fix = {}
    advice = _ADVICE.get(_ALIKE.get(origin.operation, origin.operation), "")
    advice = (
        advice
        or "Look there for a root, a logarithm or a division whose input may be zero, and add a small number inside."
    )
    if origin.line is not None:
        advice = f"{origin.line[0]}, line {origin.line[1]}: {advice}"
    elif before.spiked and session.config.loop.clip_norm is None:
        fix = {"loop.clip_norm": float(f"{before.usual_norm:.3g}")}
        advice += " Clipping the gradient's norm keeps a single step from going so far."
    return advice, fix


def _calm_down(session: Session) -> tuple[str, Fix]:
    advice = "The numbers have grown out of bounds: lower the learning rate or clip the gradient's norm."
    return advice, calm_rate(session.config, session.total_steps)


def _numbers(cause: Cause) -> str:
    origin = cause.origin
    if origin is None or origin.source:
        return ""
    if origin.backward:
        return (
            f"The gradient that arrived there was at most {max(abs(origin.lowest), abs(origin.highest)):.3g} in size."
        )
    weights = f", its largest weight {origin.weights:.3g}" if origin.weights else ""
    return f"The numbers that went in lay between {origin.lowest:.3g} and {origin.highest:.3g}{weights}."


def _who(session: Session, samples: tuple[int, ...]) -> str:
    return f"Samples: {list_first(sample_names(session, samples), len(samples))}." if samples else ""


def _doubt(search: Search) -> str:
    """Whether this was the step itself."""
    if search.exact:
        return ""
    if search.walked:
        otherwise = "" if search.cause.kind else ", and it was finite"
        return (
            f"Computed again, it came out otherwise than in the run{otherwise}: something that no checkpoint holds decides it, as a counter "
            "or a cache in Python code of your own, another machine or another version of torch."
        )
    moved = (
        f"which {pluralize(search.moved, 'step')} had changed since" if search.moved else "with other random numbers"
    )
    exactly = "python -m training doctor RUN --trace computes the very step."
    if search.cause.kind:
        return f"Found with the weights of now, {moved}; {exactly}"
    return f"Computed again with the weights of now, {moved}, the same samples give a finite one; {exactly}"


def sample_names(session: Session, samples: tuple[int, ...]) -> tuple[str, ...]:
    """What a person calls the first few of ``samples``."""
    return tuple(session.data.source.name(sample) for sample in samples[:_SHOWN_NAMES])


def _general_advice(session: Session) -> str:
    if session.numerics.scaler.is_enabled():
        return "With fp16 a few are normal; many mean that bf16 or fp32 should be used."
    return "If there are many, lower the learning rate."


def instead_of_fp16(device: torch.device) -> str:
    """The number format with the range of float32 that costs least."""
    return "bf16" if device.type != "cuda" or torch.cuda.is_bf16_supported() else "fp32"
