"""The learning rate as torch's own scheduler object, and the optimizer as torch's own."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from training.config import RunConfig
from training.config.rules.schedule_problems import goes_by_epochs
from training.config.sections import optimizer as optimizers
from training.config.sections import schedule as sections
from training.core.durations import read_duration
from training.errors import InputError
from training.tutorial.literals import call, keywords

_WIDTH = 110
_TORCH = {  # torch's defaults, where a setting has its name
    "betas": (0.9, 0.999),
    "eps": {"adagrad": 1e-10, "": 1e-8},
    "amsgrad": False,
    "momentum": 0.0,
    "nesterov": False,
    "momentum_decay": 4e-3,
    "decoupled_weight_decay": False,
    "lr_decay": 0.0,
    "initial_accumulator_value": 0.0,
    "alpha": 0.99,
    "centered": False,
    "beta2_decay": -0.8,
    "d": 1.0,
}
_HEAD = "*_, last = (module for module in model.modules() if isinstance(module, nn.Linear))"
_EMBEDDINGS = '("embedding", "pos_embed", "token", "position")'


@dataclass(frozen=True)
class ScheduleText:
    """The lines that make ``scheduler``, none for a constant rate; ``per`` what it is stepped, and how."""

    lines: list[str]
    per: str = ""
    step: str = "scheduler.step()"


@dataclass(frozen=True)
class OptimizerText:
    """The lines that make ``optimizer``, or several as ``optimizers``."""

    lines: list[str]
    zero: str = "optimizer.zero_grad()"
    step: str = "optimizer.step()"
    unscale: str = "scaler.unscale_(optimizer)"
    several: bool = field(default=False)


def describe_schedule(config: RunConfig, several: bool = False) -> ScheduleText:
    """For the templates; ``several`` optimizers have a scheduler each."""
    found = _describe(config, several)
    if config.loop.accumulation == 1:
        return found
    return replace(found, lines=[line.replace(EPOCH, f"math.ceil({EPOCH} / ACCUMULATION)") for line in found.lines])


def _describe(config: RunConfig, several: bool) -> ScheduleText:
    section, loop = config.schedule, config.loop
    by_epochs = goes_by_epochs(section)
    every = "epoch" if by_epochs else "step"
    total = (
        "total_steps" if not by_epochs else "EPOCHS" if loop.max_steps is None else f"math.ceil(total_steps / {EPOCH})"
    )
    if isinstance(section, sections.Plateau):
        mode = "max" if config.maximize else "min"
        given = {name: getattr(section, name) for name in ("factor", "patience", "threshold", "cooldown", "min_lr")}
        made = call("lr_scheduler.ReduceLROnPlateau", ["optimizer", f'"{mode}"', *keywords(**given)], _WIDTH)
        return ScheduleText(f"scheduler = {made}".split("\n"), "validation")
    step = "for scheduler in schedulers:\n    scheduler.step()" if several else "scheduler.step()"
    warmup = isinstance(section, sections.ScheduleSection) and read_duration(section.warmup)[0] > 0
    if isinstance(section, sections.Constant) and not warmup:
        return ScheduleText([])
    before = _share(section, total, f"{total} - WARMUP" if warmup else total)
    if not warmup:
        return ScheduleText([*before, *f"scheduler = {_main(config, total, total)}".split("\n")], every, step)
    start, length = getattr(section, "warmup_start_factor", 1.0), f"{total} - WARMUP"
    counted = write_duration(getattr(section, "warmup", 0), by_epochs, total)
    before += [] if counted.isdigit() else [f"warmup_length = {counted}"]
    first = f"lr_scheduler.LinearLR(optimizer, start_factor={start}, total_iters=WARMUP)"
    lines = [*before, f"warmup = {first}", *f"after = {_main(config, length, total)}".split("\n")]
    lines.append("scheduler = lr_scheduler.SequentialLR(optimizer, [warmup, after], milestones=[WARMUP])")
    if not counted.isdigit():
        lines = [line.replace("WARMUP", "warmup_length") for line in lines]
    return ScheduleText(lines, every, step)


EPOCH = "len(train_loader)"
"""The steps of an epoch, where no gradients are accumulated."""


def write_duration(duration: int | str, by_epochs: bool, total: str) -> str:
    """A stretch of the run in the unit that the scheduler is stepped in; ``total`` is the whole run in that unit."""
    number, unit = read_duration(duration)
    if unit == "%":
        return f"max(1, round({number / 100:g} * {total}))"
    if unit == ("epoch" if by_epochs else "step"):
        return f"{number:g}"
    return f"{number:g} // {EPOCH}" if by_epochs else f"round({number:g} * {EPOCH})"


def _main(config: RunConfig, length: str, total: str) -> str:
    """The scheduler behind the warm-up."""
    match config.schedule:
        case sections.OneCycle() as cycle:
            peak = "LR" if cycle.max_lr is None else repr(cycle.max_lr)
            peak = '[group["lr"] for group in optimizer.param_groups]' if _has_head_rate(config.optimizer) else peak
            given = [f"max_lr={peak}", f"total_steps={total}", *_list_changed(cycle, _ONE_CYCLE)]
            return call("lr_scheduler.OneCycleLR", ["optimizer", *given], _WIDTH)
        case sections.Constant():
            return "lr_scheduler.ConstantLR(optimizer, factor=1.0)"
        case sections.Linear(end_factor=end):
            return f"lr_scheduler.LinearLR(optimizer, start_factor=1.0, end_factor={end}, total_iters={length})"
        case sections.Cosine(eta_min=low):
            return f"lr_scheduler.CosineAnnealingLR(optimizer, T_max={length}{f', eta_min={low}' if low else ''})"
        case sections.CosineRestarts() as waves:
            first = write_duration(waves.t_0, goes_by_epochs(waves), total)
            given = [f"T_0={first}", *keywords(T_mult=waves.t_mult, eta_min=waves.eta_min)]
            return call("lr_scheduler.CosineAnnealingWarmRestarts", ["optimizer", *given], _WIDTH)
        case sections.Step(step_size=size, gamma=gamma):
            drop = write_duration(size, goes_by_epochs(config.schedule), total)
            return f"lr_scheduler.StepLR(optimizer, step_size={drop}, gamma={gamma})"
        case sections.MultiStep(milestones=steps, gamma=gamma):
            drops = ", ".join(write_duration(each, goes_by_epochs(config.schedule), total) for each in steps)
            return f"lr_scheduler.MultiStepLR(optimizer, milestones=[{drops}], gamma={gamma})"
        case sections.Exponential(gamma=gamma):
            return f"lr_scheduler.ExponentialLR(optimizer, gamma={gamma})"
        case sections.Polynomial(power=power):
            return f"lr_scheduler.PolynomialLR(optimizer, total_iters={length}, power={power})"
        case sections.WarmupStableDecay():
            return "lr_scheduler.LambdaLR(optimizer, share)"
    raise InputError(
        f"schedule.kind: the short script does not say {config.schedule.kind}; export --to script instead."
    )


def _share(section: object, total: str, length: str) -> list[str]:
    """The function of the rate of WSD, which torch has no class for."""
    if not isinstance(section, sections.WarmupStableDecay):
        return []
    shape = {"linear": "1 - x", "cosine": "(1 + math.cos(math.pi * x)) / 2", "sqrt": "1 - math.sqrt(x)"}
    end = section.end_factor
    return [
        "def share(step):  # of the rate: it falls at the end",
        f"    x = max(0.0, 1 - ({length} - step) / round({section.decay_fraction} * {total}))",
        f"    return {end} + {1 - end:g} * ({shape[section.decay_shape]})",
        "",
    ]


_ONE_CYCLE = {
    "pct_start": 0.3,
    "anneal_strategy": "cos",
    "div_factor": 25.0,
    "final_div_factor": 1e4,
    "three_phase": False,
    "cycle_momentum": True,
    "base_momentum": 0.85,
    "max_momentum": 0.95,
}
"""torch's defaults of ``OneCycleLR``."""


def _list_changed(section: object, defaults: dict[str, object]) -> list[str]:
    """The arguments of which ``section`` has another value than torch."""
    values = {name: getattr(section, name) for name in defaults if hasattr(section, name)}
    return keywords(**{name: value for name, value in values.items() if value != defaults[name]})


def _has_head_rate(section: optimizers.OptimizerSection) -> bool:
    return section.head_lr_factor != 1.0


def describe_optimizer(config: RunConfig) -> OptimizerText:
    """For the templates. Raises InputError for one that torch has in another form only."""
    section = config.optimizer
    if isinstance(section, optimizers.Muon):
        return _describe_muon(section, config)
    before, groups = _describe_groups(section, config)
    names = {"sgd": "SGD", "adamw": "AdamW", "rmsprop": "RMSprop", "nadam": "NAdam", "radam": "RAdam"}
    name = names.get(section.kind, section.kind.capitalize())
    defaults = {
        key: value.get(section.kind, value[""]) if isinstance(value, dict) else value for key, value in _TORCH.items()
    }
    given = _list_changed(section, defaults)
    given += [f"eps=({section.eps1!r}, {section.eps2!r})"] if isinstance(section, optimizers.Adafactor) else []
    decay = [] if before else ["weight_decay=WEIGHT_DECAY"]
    made = call(f"torch.optim.{name}", [groups, "lr=LR", *decay, *given], _WIDTH)
    return OptimizerText([*before, *f"optimizer = {made}".split("\n")])


def _describe_groups(section: optimizers.OptimizerSection, config: RunConfig) -> tuple[list[str], str]:
    """The lines before it, and the groups."""
    everywhere = section.decay_bias_and_norm or not section.weight_decay
    lines = []
    if section.freeze == "all_but_head" or _has_head_rate(section):
        lines += [_HEAD, "head = {id(parameter) for parameter in last.parameters()}"]
    if not _has_head_rate(section):
        if everywhere:
            return (
                (lines, "model.parameters()")
                if not lines
                else (lines, '[{"params": [*model.parameters()], "weight_decay": WEIGHT_DECAY}]')
            )
        if config.model.kind == "mlp":
            decay = '{"params": [p], "weight_decay": WEIGHT_DECAY if p.ndim > 1 else 0.0}'
            return [f"groups = [{decay} for p in model.parameters()]  # not of biases"], "groups"
        if config.model.kind in ("gpt", "tabular", "timm"):
            lines += [f"words = {_EMBEDDINGS}  # of embeddings", "named = dict(model.named_parameters())"]
            lines += [
                "others = [p for name, p in named.items() if p.ndim > 1 and not any(word in name for word in words)]"
            ]
            lines += ["spared = [p for p in named.values() if all(p is not other for other in others)]"]
        else:
            lines += ["spared = [p for p in model.parameters() if p.ndim < 2]  # biases and norms"]
            lines += ["others = [p for p in model.parameters() if p.ndim > 1]"]
        groups = '[{"params": others, "weight_decay": WEIGHT_DECAY}, {"params": spared, "weight_decay": 0.0}]'
        return [*lines, f"groups = {groups}"], "groups"
    lines += [
        "groups = [  # the head has a rate of its own; biases and norms are not decayed",
        '    {"params": [p for p in model.parameters() if (id(p) in head) == last and (p.ndim > 1) == decayed],',
        '     "lr": LR * (HEAD_LR_FACTOR if last else 1.0), "weight_decay": WEIGHT_DECAY if decayed else 0.0}',
        "    for last in (False, True)",
        "    for decayed in (True, False)",
        "]",
    ]
    if everywhere:
        lines[-4] = lines[-4].replace("WEIGHT_DECAY if decayed else 0.0", "WEIGHT_DECAY")
    return lines, "groups"


def _describe_muon(section: optimizers.Muon, config: RunConfig) -> OptimizerText:
    if config.dataset.layout == "image" or section.adjust_lr_fn == "spectral_unclamped":
        raise InputError(
            "optimizer.kind: torch's own Muon takes matrices only and no spectral_unclamped, so the short script cannot say this; "
            "choose another optimizer, or export --to script."
        )
    given = _list_changed(section, {"momentum": 0.95, "nesterov": True, "ns_steps": 5})
    given += keywords(adjust_lr_fn=section.adjust_lr_fn)
    muon = call("torch.optim.Muon", ["matrices", "lr=LR", "weight_decay=WEIGHT_DECAY", *given], _WIDTH)
    factor = "" if section.adamw_lr_factor == 1.0 else f" * {section.adamw_lr_factor}"
    eps = "" if section.adamw_eps == 1e-8 else f", eps={section.adamw_eps}"
    adamw = f"torch.optim.AdamW(others, lr=LR{factor}, betas={section.adamw_betas}{eps}, weight_decay=0.0)"
    return OptimizerText(
        [
            _HEAD,
            "tables = [last, *(module for module in model.modules() if isinstance(module, nn.Embedding))]",
            "spared = {id(p) for module in tables for p in module.parameters()}  # left to AdamW, as biases and norms",
            "matrices = [p for p in model.parameters() if p.ndim == 2 and id(p) not in spared]",
            "others = [p for p in model.parameters() if p.ndim != 2 or id(p) in spared]",
            *f"muon = {muon}".split("\n"),
            f"optimizers = [muon, {adamw}]",
        ],
        zero="model.zero_grad()",
        step="for optimizer in optimizers:\n    optimizer.step()",
        unscale="for optimizer in optimizers:\n    scaler.unscale_(optimizer)",
        several=True,
    )
