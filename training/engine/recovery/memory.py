"""When memory runs out: what is told, which settings would fit, and how a run goes on in smaller batches by itself."""

from __future__ import annotations

import gc
import math
import traceback
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import islice
from typing import TypeVar

import torch
from torch import Tensor, nn

from training.checkpoints.snapshot import RngState
from training.config import RunConfig
from training.core.batch_plan import BatchPlan
from training.data import MicroBatches
from training.engine.device import choose_device, ran_out_of_memory
from training.engine.ranks.group import Ranks
from training.engine.session import Session
from training.engine.shortage import describe_memory, name_rank
from training.errors import TrainingError, format_bytes, join_choices
from training.events import Event
from training.findings.machine import SHORT
from training.system.process import give_back_memory

MOST_ACCUMULATION = 10**5  # what the setting accepts

Result = TypeVar("Result")
Step = tuple[Tensor, Tensor]
TrainStep = Callable[[Session, MicroBatches, float], Step]


class OutOfMemory:
    """Stands beside whatever a session computes and knows what to do when that does not fit.

    By default the run ends with a TrainingError whose ``fix`` are settings that keep every step's samples and that were
    tried. With
    ``loop.on_out_of_memory = "smaller_batches"`` it goes on with them by itself: ``progress`` remembers the size, and
    ``save`` is called before anything is computed with it, so that a run killed later goes on from there alike.
    """

    def __init__(self, session: Session, emit: Callable[[Event], None], save: Callable[[], None]) -> None:
        self._session = session
        self._emit = emit
        self._save = save
        self._goes_on = session.config.loop.on_out_of_memory == "smaller_batches"

    def run_step(self, train_step: TrainStep, window: MicroBatches, lr: float) -> Step | None:
        """What ``train_step`` returns; None when the same window has to be taken again, in smaller batches.

        Only the gradients' part of a step is taken again: once the optimizer has begun, numbers may have changed. Of a
        step that is compiled as one piece, which writes wherever the compiler saw fit, only the first is.
        """
        session = self._session
        random = session.random_state() if self._goes_on else None
        try:
            return train_step(session, window, lr)
        except (RuntimeError, MemoryError) as error:
            if not ran_out_of_memory(error):
                raise
            if window.used_up:
                raise _update_shortage(error, session) from error
            message, trace = describe_shortage(error, session), traceback.format_exc(limit=-12)
            where = _mention_rank(error, session.ranks)
        # Out here the error is gone, and with it all that the frames of the failed window held.
        plan = session.data.plan
        fix = propose_smaller_batches(session)
        if random is None or not fix or not window.repeatable:
            fitting = keep_steps(find_fitting_batches(session, train_step), session)
            out_of_memory = make_shortage(message, session, fitting)
            out_of_memory.add_note(trace)
            raise out_of_memory
        self._begin_window_again(random)
        session.progress.take_smaller_batches(fix["loop.batch_size"])
        session.cut_batches()
        self._tell(plan.batch_size, fix, where)
        if session.progress.step:  # a run killed before its first checkpoint begins from the beginning anyway
            self._save()
        return None

    def _begin_window_again(self, random: RngState) -> None:
        session = self._session
        session.optimizer.zero_grad(set_to_none=True)
        session.guard(
            lambda: None, torch.full((), math.nan, device=session.device)
        )  # a step not made: the buffers are put back
        session.load_random_state(random)
        free_memory(session.device)

    def _tell(self, before: int, fix: dict[str, int], where: str) -> None:
        session = self._session
        now, step = session.data.plan, session.progress.step
        settings = keep_steps(fix, session)
        spared = (
            f" A run that begins with {format_settings(settings)} is spared the attempt." if fix == settings else ""
        )
        self._emit(
            SHORT.find(
                "warning",
                f"Memory ran out in step {step + 1:,} with batches of {before:,}{where}; the run goes on with batches of "
                f"{now.batch_size:,}, {now.accumulation:,} of them to a step.",
                f"The samples of each step stay the same{_mention_batch_norm(session.model)}.{spared}",
                step=step,
                fix=settings if spared else {},
            )
        )

    def evaluate(self, compute: Callable[[], Result]) -> Result:
        """What ``compute``, a pass without gradients, returns; it is made again in smaller batches where that is asked."""
        session = self._session
        while True:
            size = session.data.evaluation_size
            try:
                return compute()
            except (RuntimeError, MemoryError) as error:
                if not ran_out_of_memory(error):
                    raise
                out_of_memory, where = _evaluation_shortage(error, session), _mention_rank(error, session.ranks)
                if not self._goes_on or not out_of_memory.fix:
                    raise out_of_memory from error
            free_memory(session.device)
            smaller = out_of_memory.fix["loop.validation_batch_size"]
            assert isinstance(smaller, int)
            session.progress.evaluate_in_smaller_batches(smaller)
            session.cut_batches()
            self._emit(
                SHORT.find(
                    "warning",
                    f"Memory ran out with validation batches of {size:,}{where}; from here on they are of {smaller:,}.",
                    "The metrics stay the same up to rounding.",
                    step=session.progress.step,
                    fix=out_of_memory.fix,
                )
            )


def free_memory(device: torch.device) -> None:
    """Give what nobody holds any more back to the system."""
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()
    elif device.type == "mps":
        torch.mps.empty_cache()
    give_back_memory()


# ------------------------------------------------------------------------------------------ what is proposed and told


def propose_smaller_batches(session: Session) -> dict[str, int]:
    """The settings for batches of at most half the size that give each step the same samples; empty without any.

    Batch normalization cannot learn from single samples, so a model that has it is not given batches of one. Where the loss
    compares the samples of a batch, smaller ones are no other way to the same step.
    """
    plan, model = session.data.plan, session.model
    if session.objective.compares_samples:
        return {}
    finer = plan.smaller(plan.batch_size // 2)
    if finer is None or finer.accumulation > MOST_ACCUMULATION:
        return {}
    if finer.batch_size == 1 and has_batch_norm(model):
        return {}
    return {"loop.batch_size": finer.batch_size, "loop.accumulation": finer.accumulation}


def keep_steps(fix: dict[str, int], session: Session) -> dict[str, int | str]:
    """The settings that give a run the batches of ``fix`` and its own steps: those, unless ``loader.drop_last`` would leave out
    other samples with them. Then only the run itself can cut its windows, where it is allowed to."""
    plan = session.data.plan
    if not fix or not session.config.loader.drop_last:
        return {**fix}
    size = fix["loop.batch_size"]
    as_set = BatchPlan.of_samples(plan.n + plan.dropped, size, fix["loop.accumulation"], drop_last=True)
    return {**fix} if as_set.has_steps_of(plan) else {"loop.on_out_of_memory": "smaller_batches"}


def find_fitting_batches(session: Session, train_step: TrainStep) -> dict[str, int]:
    """The settings for smaller batches that really got through a step; empty when not even the smallest did.

    To be called when a batch did not fit and the session has come to its end: it is spent afterwards, but for its
    ``progress``.
    """
    data, progress = session.data, replace(session.progress)
    while fix := propose_smaller_batches(session):
        session.optimizer.zero_grad(set_to_none=True)
        free_memory(session.device)
        finer = replace(data.plan, batch_size=fix["loop.batch_size"], accumulation=fix["loop.accumulation"])
        data.cut(finer, data.evaluation_size)
        try:
            whole = next(data.steps(progress.epoch, progress.window))
            # The second finds gradients in place.
            two = MicroBatches(whole.samples, 2, islice(iter(whole), 2), whole.pieces[:2])
            train_step(session, two, session.next_lr())
        except (RuntimeError, MemoryError) as error:
            if not ran_out_of_memory(error):
                raise
        else:
            return fix
    return {}


def has_batch_norm(model: nn.Module) -> bool:
    """Whether a sample's result depends, in training, on the others in its batch."""
    return any(isinstance(module, nn.modules.batchnorm._BatchNorm) for module in model.modules())


def format_settings(fix: Mapping[str, int | str]) -> str:
    """ "loop.batch_size = 32 and loop.accumulation = 4" """
    return " and ".join(f"{name} = {value}" for name, value in fix.items())


def describe_shortage(error: BaseException, session: Session) -> str:
    """That a step's gradients did not fit, with the numbers; to be called while ``error`` is handled."""
    size, step = session.data.plan.batch_size, session.progress.step + 1
    where = f"in step {step:,} with batches of {size:,}{_mention_rank(error, session.ranks)}"
    return f"The run ran out of memory {where}: {describe_memory(error, session.device)}."


def _mention_rank(error: BaseException, ranks: Ranks) -> str:
    """Of a run of several processes, in which one it was."""
    who = name_rank(error, ranks)
    return f", in {who}" if who else ""


def make_shortage(message: str, session: Session, fix: Mapping[str, int | str]) -> TrainingError:
    """``message`` with the smaller batches that ``fix`` stands for, or what else helps."""
    if not fix and session.objective.compares_samples:
        what = f"Batches are not made smaller by themselves: objective.kind {session.config.objective.kind} compares the samples of"
        return TrainingError(
            message,
            f"{what} a batch, so that would be another loss. Set a smaller loop.batch_size. {_other_advice(session)}",
        )
    if not fix:
        return TrainingError(message, f"No smaller batches that make the same steps fit. {_other_advice(session)}")
    advice = f"Use {format_settings(fix)}, which fits: the samples of each step stay the same{_mention_batch_norm(session.model)}."
    return TrainingError(message, advice, fix)


def _mention_batch_norm(model: nn.Module) -> str:
    return "; only batch normalization will see smaller batches" if has_batch_norm(model) else ""


def _update_shortage(error: BaseException, session: Session) -> TrainingError:
    message = (
        f"The run ran out of memory in step {session.progress.step + 1:,}{_mention_rank(error, session.ranks)}, while the optimizer changed the weights: "
        f"{describe_memory(error, session.device)}."
    )
    return TrainingError(message, f"Smaller batches do not help here. {_other_advice(session)}")


def _evaluation_shortage(error: BaseException, session: Session) -> TrainingError:
    size = session.data.evaluation_size
    message = (
        f"The run ran out of memory after step {session.progress.step:,}, while it measured with batches of {size:,} "
        f"without training{_mention_rank(error, session.ranks)}: {describe_memory(error, session.device)}."
    )
    if size == 1:
        return TrainingError(message, _other_advice(session))
    fix = {"loop.validation_batch_size": size // 2}
    same = "the same metrics up to rounding"
    if session.objective.compares_samples:
        same += ", but another loss, which compares the samples of a batch"
    return TrainingError(message, f"Use {format_settings(fix)}: {same}, with less memory.", fix)


def explain_shortage(error: BaseException, phase: str, config: RunConfig, ranks: Ranks) -> TrainingError:
    """Memory ran out in one of ``ranks`` before the first step ("preparing data", "building the model"...), while saving, or between steps."""
    message = (
        f"The run ran out of memory while {phase}{_mention_rank(error, ranks)}: "
        f"{describe_memory(error, ranks.choose_device(choose_device(config.precision.device)))}."
    )
    if phase == "building the model":
        return TrainingError(message, "Close other programs, or choose a smaller model.")
    if phase == "saving":
        return TrainingError(
            message,
            "A checkpoint is a copy of the weights, of their average and of the optimizer's numbers. Close other "
            "programs, then resume; the checkpoints before it are untouched.",
        )
    if phase == "training":
        return TrainingError(message, "Close other programs, then resume, or use fewer workers (loader.workers).")
    if config.loader.mode != "streamed":
        fix = {"loader.mode": "streamed"}
        return TrainingError(
            message, f"Use {format_settings(fix)}: the samples are then read while the run trains.", fix
        )
    return TrainingError(
        message, "Close other programs, or use fewer workers (loader.workers) or a smaller image size."
    )


def count_saved_bytes(session: Session) -> int:
    """Bytes of the tensors that a checkpoint copies: weights, their average, the optimizer's numbers."""
    averaged = session.ema.shadow if session.ema is not None else {}
    states = (value for state in session.optimizer.state.values() for value in state.values() if torch.is_tensor(value))
    return sum(tensor.nbytes for tensor in (*session.model.state_dict().values(), *averaged.values(), *states))


def _other_advice(session: Session) -> str:
    """What saves memory besides smaller batches, as far as this run does not do it yet."""
    config, device = session.config, session.device
    choices = ["choose a smaller model or image size"]
    if device.type == "cuda" and config.precision.compute in ("fp32", "tf32"):
        choices.append("compute in bf16 (precision.compute)")
    if device.type == "cuda" and session.data.report.batches.mode == "resident":
        choices.append(f"stream the {format_bytes(session.data.report.batches.bytes)} of samples (loader.mode)")
    precision = config.precision
    if not precision.activation_checkpointing and precision.compile == precision.cuda_graphs == "off":
        choices.append("compute activations again (precision.activation_checkpointing)")
    if config.optimizer.kind != "sgd":
        choices.append("use sgd, which keeps fewer numbers for each weight (optimizer.kind)")
    if session.ema is not None:
        name = "ema_decay" if config.loop.ema_decay is not None else "swa_start"
        choices.append(f"do without the average of the weights (loop.{name})")
    text = join_choices(choices)
    return f"{text[0].upper()}{text[1:]}."
