"""RunConfig -> Session, in reading order."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial

import torch
from torch import nn

from training.config import RunConfig
from training.config.rules.schedule_problems import duration_problems
from training.config.sections.data.own_data import OwnDataSection
from training.config.sections.objective import OwnLoss
from training.config.sections.user_file import UserFile
from training.data import Data, prepare
from training.data.normalize import Normalization
from training.data.prepared import Preparing
from training.data_report import InputStats
from training.engine.device import (
    ALL_AUTO,
    AutoSettings,
    Numerics,
    apply_backends,
    choose_device,
    choose_threads,
    wants_channels_last,
)
from training.engine.model_room import refuse_too_large
from training.engine.ranks.group import ALONE, Ranks
from training.engine.ranks.slots import share_slots
from training.engine.session import Session
from training.engine.step import choose_clip
from training.engine.teacher import make_teacher
from training.engine.text_samples import read_prompt
from training.engine.watches.interval import choose_interval
from training.engine.watches.layer_norms import LayerNorms, record_seconds
from training.engine.watches.loss_parts import LossParts
from training.engine.watches.units import make_units
from training.engine.watches.watch import Watch
from training.errors import ConfigError, InputError
from training.models import fit_to_samples, make_model
from training.models.activation_checkpointing import checkpoint_activations
from training.models.bf16_conv import refuse_long_strides
from training.models.networks.norms import refuse_single_samples
from training.models.networks.stages import stages
from training.models.own.user_file import CheckedModel
from training.models.zoo.pretrained import Pretrained, load_pretrained
from training.objectives import Objective, make_objective
from training.optim import make_guard, make_optimizer
from training.optim.averaging import EMA, SWA, WeightAverage
from training.optim.configured_groups import make_freezing
from training.own_code.user_rng import set_user_seed
from training.runs.folder import RunFolder
from training.schedules import make_run_schedule, swa_first
from training.system.process import give_back_memory

ReportProgress = Callable[[str, float | None], None]


def assemble(
    config: RunConfig,
    report_progress: ReportProgress,
    auto: AutoSettings = ALL_AUTO,
    kept: Preparing | None = None,
    loads: bool = False,
    code: RunFolder | None = None,
    fused: bool = True,
    ranks: Ranks = ALONE,
) -> Session:
    """Open the data, build the model and all that trains it. Raises InputError or ConfigError; changes no file.

    ``auto`` takes the place of what would be chosen now: a resumed run keeps what it began with. ``kept`` may still hold the data
    from the last time. ``code`` is the run that keeps copies of a person's own code and exclude list, which are read in place of the files. ``loads`` says that weights will be loaded: none are looked for in the samples.
    ``fused`` False takes the optimizer's foreach form even where torch has a fused one. ``ranks`` share the slots of the batches.
    """
    device = ranks.choose_device(choose_device(config.precision.device))
    apply_backends(config.precision, config.deterministic)
    numerics = Numerics(config.precision, device)
    with ExitStack() as on_error:
        own_data = code.dataset_code_file if code and isinstance(config.dataset, OwnDataSection) else None
        excluded = code.exclude_file if code else None
        data = (kept.prepare if kept else prepare)(config, device, report_progress, own_data, excluded)
        on_error.callback(data.close)
        give_back_memory()  # files that were unpacked, before the steps take the holes they left
        report_progress("building the model", None)
        own_loss = code.loss_code_file if code and isinstance(config.objective, OwnLoss) else None
        objective = make_objective(config.objective, data.facts, device, own_loss)
        _refuse_unmeasured(config, objective)
        read_prompt(config, data.facts)  # refused before the run begins
        data.views, data.compares_samples = objective.views, objective.compares_samples
        own_network = code.code_file if code and isinstance(config.model, UserFile) else None
        refuse = partial(refuse_too_large, config=config, device=device, ranks=ranks)
        model = make_model(config.model, data.facts, objective.outputs, config.seed, own_network, not loads, refuse)
        refuse(model)  # also one that begins with weights of a known size
        precision, batch_size = config.precision, config.loop.batch_size
        pass_size = -(-batch_size // config.loop.slots)
        threads = auto.threads or choose_threads(precision.threads, model, data.facts, pass_size, ranks.local_count)
        torch.set_num_threads(threads)
        beginning = (
            None if loads else load_pretrained(model, config.model, data.facts, objective.outputs, report_progress)
        )
        _normalize(data, beginning, auto)
        teacher = make_teacher(config, data.facts, data.normalization, device)
        if teacher is not None:
            data.complete = teacher.complete
            data.report = data.report.model_copy(update={"teacher": teacher.record()})
        if not loads:
            fit_to_samples(model, config.model, data.training_samples)  # on the threads of the steps: sums round alike
        if data.facts.layout == "image":
            wanted = wants_channels_last(precision.channels_last, model, data.facts, batch_size, device.type)
            data.channels_last = wanted if auto.channels_last is None else auto.channels_last
            if data.channels_last:
                model = model.to(memory_format=torch.channels_last)
        model = model.to(device).train()
        if precision.activation_checkpointing:
            checkpoint_activations(model)
        if data.plan.batch_size == 1:
            refuse_single_samples(model, data.facts)
        if device.type == "cpu" and precision.compute == "bf16":
            refuse_long_strides(model, data.facts)
        torch.manual_seed(config.seed)  # dropout's stream; initial weights, order and augmentation have their own
        total_steps = config.loop.total_steps(data.steps_per_epoch)
        too_long = [] if loads else list(duration_problems(config.schedule, total_steps, data.steps_per_epoch))
        if too_long:  # a run of an earlier version, which allowed it, goes on as it began
            raise ConfigError(too_long)
        answer: nn.Module = model
        if isinstance(config.model, UserFile):
            answer = CheckedModel(model, config.model, data.facts, objective.outputs)
        depth = stages(model)
        # Before the optimizer, which leaves out what will never be trained.
        freezing = make_freezing(model, config.optimizer, depth)
        optimizer = make_optimizer(model, config.optimizer, device, fused, depth)
        session = Session(
            config=config,
            device=device,
            numerics=numerics,
            data=data,
            model=model,
            answer=answer,
            parameters=[parameter for parameter in model.parameters() if parameter.requires_grad],
            objective=objective,
            optimizer=optimizer,
            clip=choose_clip(config.loop),
            guard=make_guard(optimizer, device, model.buffers()),
            schedule=make_run_schedule(config, total_steps, data.steps_per_epoch),
            ema=_average(config, model, total_steps, data.steps_per_epoch),
            total_steps=total_steps,
            freezing=freezing,
            beginning=beginning,
            watches=_watch(config, model, objective, data, total_steps),
        )
        session.cut_batches()
        share_slots(session, ranks)
        session.make_ready()
        if session.runs_user_code:
            set_user_seed(config.seed, "training", 0)
        on_error.pop_all()
        return session


def _watch(config: RunConfig, model: nn.Module, objective: Objective, data: Data, total_steps: int) -> list[Watch]:
    """What looks at the steps."""
    watches: list[Watch] = [LossParts(objective)] if objective.parts else []
    if config.loop.layer_norms:
        samples = config.loop.batch_size * config.loop.accumulation
        every = config.loop.layer_norms_every_steps
        norms = every or choose_interval(model, data.facts, samples, total_steps, record_seconds(model))
        watches.append(LayerNorms(model, norms))
        units = make_units(model, data.facts, config.loop, total_steps)
        watches += [units] if units else []
    return watches


def _refuse_unmeasured(config: RunConfig, objective: Objective) -> None:
    reason = objective.unmeasured.get(config.monitor.removeprefix("val/"))
    if reason:
        raise InputError(
            f"checkpoints.monitor: {config.monitor} is not measured here, because {reason}; choose auto.",
            fix={"checkpoints.monitor": "auto"},
        )


def _normalize(data: Data, beginning: Pretrained | None, auto: AutoSettings) -> None:
    """Give the network images as the weights it begins with know them, where somebody says how."""
    numbers = auto.normalization
    if beginning is not None and beginning.normalization is not None:
        numbers = beginning.normalization
    if numbers is not None:
        data.normalization = Normalization(*numbers)
        stats = InputStats(mean=data.normalization.mean, std=data.normalization.std)
        data.report = data.report.model_copy(update={"normalisation": stats})


def _average(config: RunConfig, model: nn.Module, total_steps: int, steps_per_epoch: int) -> WeightAverage | None:
    """The average of the weights that ``[loop]`` asks for."""
    loop = config.loop
    if loop.ema_decay is not None:
        return EMA(model, loop.ema_decay)
    if loop.swa_start is None:
        return None
    average = SWA(model, swa_first(loop.swa_start, total_steps), loop.swa_every_steps or steps_per_epoch)
    if total_steps // average.every * average.every <= average.first:
        raise InputError(
            f"loop.swa_start: weights would be averaged every {average.every} steps after step {average.first}, but the run "
            f"ends after step {total_steps}; start sooner, set loop.swa_every_steps, or train longer."
        )
    return average
