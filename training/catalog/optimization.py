"""The rows of the catalog that say how a network is trained: optimizers and schedules."""

from __future__ import annotations

from training.catalog.entry import Entry
from training.config import optimizer, schedule

OPTIMIZERS: tuple[Entry, ...] = (
    Entry(
        "adamw",
        "AdamW",
        "Adam with decoupled weight decay: the best first choice.",
        optimizer.AdamW,
        "training.optim.optimizers:make_adamw",
    ),
    Entry(
        "adam",
        "Adam",
        "Adam with weight decay inside the gradient (L2).",
        optimizer.Adam,
        "training.optim.optimizers:make_adam",
    ),
    Entry(
        "sgd",
        "SGD",
        "Stochastic gradient descent with momentum: slower to tune, often strong on pictures.",
        optimizer.Sgd,
        "training.optim.optimizers:make_sgd",
    ),
    Entry(
        "nadam",
        "NAdam",
        "Adam with Nesterov's look ahead: often a little faster than Adam.",
        optimizer.NAdam,
        "training.optim.optimizers:make_nadam",
    ),
    Entry(
        "radam",
        "RAdam",
        "Adam that adapts only once its variance is known: needs no warm-up.",
        optimizer.RAdam,
        "training.optim.optimizers:make_radam",
    ),
    Entry(
        "adagrad",
        "Adagrad",
        "A rate for each weight that falls with its gradients so far: for rare features and tables.",
        optimizer.Adagrad,
        "training.optim.optimizers:make_adagrad",
    ),
    Entry(
        "rmsprop",
        "RMSprop",
        "Steps divided by the recent size of each gradient: an old favourite of recurrent networks.",
        optimizer.RMSprop,
        "training.optim.optimizers:make_rmsprop",
    ),
    Entry(
        "adafactor",
        "Adafactor",
        "Adaptive with next to no memory for matrices: for transformers that barely fit.",
        optimizer.Adafactor,
        "training.optim.optimizers:make_adafactor",
    ),
    Entry(
        "muon",
        "Muon",
        "Orthogonal steps for hidden matrices and filters, AdamW for the rest: strong for transformers and deep networks.",
        optimizer.Muon,
        "training.optim.optimizers:make_muon",
    ),
)

SCHEDULES: tuple[Entry, ...] = (
    Entry(
        "one_cycle",
        "One cycle",
        "Up to a high rate, then down to almost nothing: often the fastest for a fixed number of epochs.",
        schedule.OneCycle,
        "training.schedules.formulas:OneCycleSchedule",
    ),
    Entry(
        "constant",
        "Constant",
        "The same rate throughout.",
        schedule.Constant,
        "training.schedules.formulas:make_constant",
    ),
    Entry(
        "linear",
        "Linear",
        "A straight line down from the optimizer's rate.",
        schedule.Linear,
        "training.schedules.formulas:make_linear",
    ),
    Entry("cosine", "Cosine", "Half a cosine wave down.", schedule.Cosine, "training.schedules.formulas:make_cosine"),
    Entry(
        "cosine_restarts",
        "Cosine with restarts",
        "Cosine waves, each beginning again at the top.",
        schedule.CosineRestarts,
        "training.schedules.formulas:make_cosine_restarts",
    ),
    Entry(
        "step",
        "Steps",
        "Drops by a factor at a fixed interval.",
        schedule.Step,
        "training.schedules.formulas:make_step",
    ),
    Entry(
        "multi_step",
        "Milestones",
        "Drops by a factor at steps you name.",
        schedule.MultiStep,
        "training.schedules.formulas:make_multi_step",
    ),
    Entry(
        "exponential",
        "Exponential",
        "Falls by the same factor at every step.",
        schedule.Exponential,
        "training.schedules.formulas:make_exponential",
    ),
    Entry(
        "polynomial",
        "Polynomial",
        "Falls to zero along a power curve.",
        schedule.Polynomial,
        "training.schedules.formulas:make_polynomial",
    ),
    Entry(
        "wsd",
        "Warm-up, stable, decay",
        "Holds the rate, then decays over the last stretch: the run can be prolonged from before the decay.",
        schedule.WarmupStableDecay,
        "training.schedules.formulas:make_warmup_stable_decay",
    ),
    Entry(
        "plateau",
        "On plateau",
        "Drops the rate when the monitored metric stops improving.",
        schedule.Plateau,
        "training.schedules.plateau:PlateauSchedule",
    ),
)
