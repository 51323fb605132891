"""Of settings, as they stand."""

from __future__ import annotations

from training.findings.rule import Rule

INVALID = Rule(
    "settings.invalid",
    "A setting is not valid",
    "The settings fit neither each other nor the data.",
    "The description of each setting",
)
INACTIVE = Rule(
    "settings.inactive",
    "A setting has no effect",
    "A setting was changed that does nothing beside the others.",
    "The rules of the forms",
)
FAULT = Rule(
    "run.fault",
    "The run could not start",
    "Opening the data, building the network or one training step raised an error.",
    "The trial itself",
)
TIME = Rule("run.time", "How long the run takes", "Some warm steps and validation batches, timed.", "Measured")

DECAYED_BY, DECAYED_SHARE = 0.8, 0.005
MOSTLY_BEFORE, LITTLE_LEFT = 0.5, 0.05
ENDS_HIGH, HARDLY_FALLS = 0.1, 0.6
LONG_WARMUP, TOO_LONG_WARMUP = 0.1, 0.3
LENGTH = Rule(
    "schedule.length",
    "The schedule does not fit the length of the run",
    f"The learning rate, computed for every step: it is at most {DECAYED_SHARE:.1%} of its peak before {DECAYED_BY:.0%} of the steps are "
    f"done (a note from {MOSTLY_BEFORE:.0%} on), or {LITTLE_LEFT:.0%} of it on average; or it still rises at the last step; or warm-up takes more than {TOO_LONG_WARMUP:.0%} of the run (a note from "
    f"{LONG_WARMUP:.0%}); or a schedule that lowers the rate ends above {HARDLY_FALLS:.0%} of the peak (a note from {ENDS_HIGH:.0%}).",
    "gradsnitch 0.1 (1 %, to which two drops by ten lead that are usual); Google's tuning playbook (warm-up at most 10 %)",
    unless="A constant rate, plateau and restarts need not fall; the rise of one-cycle is no warm-up.",
    fix="Durations as shares of the run; a decay that ends at 0.",
)

FAR = 10.0
"""Outside of a band by so many times is a warning."""
ADAPTIVE_RATES, SGD_RATES = (1e-5, 1e-2), (1e-4, 1.0)
OTHER_RATES = {"adagrad": (1e-3, 0.5), "muon": (1e-4, 0.1), "adafactor": (1e-4, 0.1)}
"""The learning rates that are usual: of optimizers that divide by a gradient's size, and of SGD."""
MOST_WAY = 30.0
"""SGD's rate over 1 - momentum, from which on it is a warning."""
UNUSUAL_RATE = Rule(
    "lr.unusual",
    "The learning rate is unusual",
    f"The peak of the schedule lies outside of {ADAPTIVE_RATES[0]:g} to {ADAPTIVE_RATES[1]:g} (optimizers like Adam) or {SGD_RATES[0]:g} to "
    f"{SGD_RATES[1]:g} (SGD; Adagrad 0.001 to 0.5, Muon and Adafactor 0.0001 to 0.1): a note; by {FAR:g} times or more: a warning ({FAR * FAR:g} times below, of published weights, "
    f"whose band lies ten times lower), or of SGD at {MOST_WAY:g} or more over 1 - momentum. Or it is so low that the rates of all steps add up to hardly anything (see run.too_short), and the usual rate would do.",
    "UMLAUT (1e-7 to 1e-2), DeepDiagnosis (1e-5 to 1e-1)",
    unless="A momentum that is unusual itself is told instead (optimizer.unusual).",
    fix="The optimizer's usual rate; up to three times that, where fewer than 2,000 steps are made. With SGD's, its usual momentum.",
)

HIGH_MOMENTUM, LOW_BETA = 0.99, 0.5
LARGE_EPS, VERY_LARGE_EPS = 1e-4, 1e-2
QUICK_SQUARES, FORGETS = 0.9, 0.8
MOST_LR_DECAY, LEAST_LAYER_DECAY = 20.0, 0.3
OPTIMIZER = Rule(
    "optimizer.unusual",
    "An optimizer's setting is unusual",
    f"A momentum or first beta above {HIGH_MOMENTUM:g}; a second beta below "
    f"{QUICK_SQUARES:g} or an alpha below {FORGETS:g}; an epsilon of {VERY_LARGE_EPS:g} or more (a note from {LARGE_EPS:g}, and of a first beta "
    f"below {LOW_BETA:g}); Adagrad's lr_decay times the steps above {MOST_LR_DECAY:g}; a layer_decay below {LEAST_LAYER_DECAY:g}.",
    "The papers' own values (Kingma and Ba 2015: 0.9, 0.999, 1e-8) and those of large models (0.95 for the second beta); Sutskever et al. 2013 "
    "(momentum up to 0.99); Clark et al. 2020 and Bao et al. 2021 (a layer decay of 0.65 to 0.9)",
    fix="The optimizer's usual value of that setting.",
)

ADAPTIVE_NEEDED = 1.0
UNSUITABLE = Rule(
    "optimizer.unsuitable",
    "The optimizer does not suit the network",
    f"SGD trains a language model from random weights, and its rate over 1 - momentum is below {ADAPTIVE_NEEDED:g}.",
    "Zhang et al. 2020, Why are adaptive methods good for attention models?; Kunstner et al. 2024: rare tokens hardly learn by SGD",
    unless="The network begins with known weights; a rate so high that it can work (recurrent networks were trained with 20).",
    fix="optimizer.kind = adamw, with its usual rate.",
)

SURE_ANSWER, TEMPERATURES, LARGE_MARGIN, LARGE_SMOOTH, UNEVEN_TASKS = 0.95, (0.005, 2.0), 10.0, 1000.0, 50.0
LEFT_OF_START, LARGE_FACTOR, LARGE_SUM, LATE_PEAK = 0.5, 100.0, 10.0, 0.9
TINY_CLIP = {"clip_norm": 1e-3, "clip_value": 1e-4}
FEW_CHANNELS = {"gpt": 8, "unet": 4}
UNUSUAL = Rule(
    "settings.unusual",
    "A setting is far from usual",
    f"objective.threshold outside of {1 - SURE_ANSWER:g} to {SURE_ANSWER:g}; a temperature of embeddings outside of {TEMPERATURES[0]:g} to {TEMPERATURES[1]:g}; a margin of 0 or above "
    f"{LARGE_MARGIN:g}; Dice's smooth above {LARGE_SMOOTH:,.0f}; weights of tasks more than {UNEVEN_TASKS:g} times apart; loop.ema_decay to the power of the run's steps, which is the share of the "
    f"first weights, above {LEFT_OF_START:g}; loop.swa_lr {LARGE_FACTOR / 10:g} times the rate; optimizer.head_lr_factor outside of {1 / LARGE_FACTOR:g} to {LARGE_FACTOR:g}; Adagrad's initial sum of "
    f"{LARGE_SUM:g} or more; SGD's gradients clipped to less than {TINY_CLIP['clip_norm']:g} (clip_value: {TINY_CLIP['clip_value']:g}); one-cycle that rises for more than {LATE_PEAK:.0%} of the run, or whose momentum is "
    f"above {HIGH_MOMENTUM:g}; a GPT of fewer than {FEW_CHANNELS['gpt']} numbers for a token, a U-Net of fewer than {FEW_CHANNELS['unet']} channels; embeddings of one number.",
    "What each does by its formula; the papers' values (Chen et al. 2020: a temperature of 0.05 to 1; Schroff et al. 2015: a margin of 0.2; Tarvainen and Valpola 2017: the average has to "
    "be short beside the run; Smith 2018: 0.85 to 0.95)",
    fix="The usual value of that setting; an average of a tenth of the run.",
)

MOST_DROPOUT, MOST_SMOOTHING = 0.5, 0.3
MOST_DECAY, MOST_ADAM_DECAY, MOST_SHRINKING = 0.05, 0.02, 0.01
STRONG_DECAY, FORGOTTEN = 0.5, 0.5
AT_ONCE, LONG_RUN = 3, 50
REGULARIZED = Rule(
    "regularise.too_much",
    "Regularization is stronger than the data can be",
    f"Dropout above {MOST_DROPOUT:g}, in a person's own network, too; label smoothing above {MOST_SMOOTHING:g}; weight decay that shrinks the weights by {MOST_SHRINKING:.0%} "
    f"or more in a step at the peak rate, or is {STRONG_DECAY:g} or more and forgets a weight within the run (decoupled: AdamW, Muon), or of {MOST_DECAY:g} or "
    f"more (as L2: SGD; {MOST_ADAM_DECAY:g}: Adam). Or {AT_ONCE} of these at once: dropout from 0.4, label smoothing from 0.15, a large weight decay, MixUp or "
    "CutMix, random erasing from 0.4.",
    "UMLAUT (dropout); the time 1/(lr x weight decay) in which weights are forgotten (Wang and Aitchison 2024); redundant regularization is found by "
    "none of four published tools (Humbatova et al. 2025)",
    unless=f"Several at once in a run of {LONG_RUN} epochs or more, which recipes of large networks need.",
    fix="A dropout of 0.2, the usual decay, and nothing else; all that are too strong, alone or at once, together.",
)
RULES = (INVALID, INACTIVE, FAULT, TIME, UNUSUAL_RATE, UNSUITABLE, OPTIMIZER, LENGTH, UNUSUAL, REGULARIZED)
