"""Of what a network does when it is asked."""

from __future__ import annotations

from training.findings.rule import Rule

SUM_OFF, SQUEEZED = 0.05, 0.2
WILD_INPUTS, WILD_WEIGHTS = (1.0, 100.0), 5.0
_ASKED = (
    "Real samples, and noise of size "
    + " and ".join(f"{size:g}" for size in WILD_INPUTS)
    + f" with random weights {WILD_WEIGHTS:g} times as large"
)
ENDS_SOFTMAX = Rule(
    "model.ends_in_softmax",
    "The network ends in a softmax, and so does the loss",
    f"{_ASKED}: all outputs lie in 0 to 1, those of a sample sum up to 1 ± {SUM_OFF:g}, and the loss takes logits. Or a person's own loss of right answers stays above "
    f"{SQUEEZED:.0%} of that of equal ones, however sure they are, and that of wrong ones has an end, too.",
    "UMLAUT, NeuraLint; TheDeepChecker (0.95 to 1.05)",
    unless="log-softmax, which does no harm; a loss of a person's own that has no softmax inside.",
)
ENDS_SIGMOID = Rule(
    "model.ends_in_sigmoid",
    "The network ends in a sigmoid",
    f"{_ASKED}: all outputs lie in 0 to 1, and the loss takes logits, or values to predict lie beyond. Of a person's own loss as of model.ends_in_softmax.",
    "UMLAUT, NeuraLint",
    unless="Values to predict that all lie in 0 to 1 as they are learned.",
)
LOWEST, FAR_ABOVE = 1.05, 20.0
ENDS_RELU = Rule(
    "model.ends_in_relu",
    "The network cannot answer negative numbers",
    f"{_ASKED}: no output is below 0 (behind ELU, GELU and SiLU -{LOWEST:g}, while others come to {FAR_ABOVE:g} times that), and the loss takes logits, or values to predict are below "
    "that as they are learned.",
    "UMLAUT, TheDeepChecker",
    unless="Values to predict that are never negative.",
)
BEYOND, ALIKE, STAYS = 0.01, 1.5, 0.1
RANGE = Rule(
    "model.range",
    "The outputs are bounded, and the targets lie beyond",
    f"{_ASKED}: no output leaves a band, where most lie at its ends, and the loss takes logits, or {BEYOND:.0%} of the values to predict lie outside. Or the largest output grows by no "
    f"more than {2 * ALIKE:g} times when asked so ({ALIKE:g} times from noise of the one size to the other), and is so small that right answers, all others as far away as can be, cost {STAYS:.0%} of what guessing does.",
    "TheDeepChecker (outputs that never reach the targets)",
)
NONLINEARITY = 1e-4
LINEAR = Rule(
    "model.linear",
    "The hidden layers have no activation",
    "Of a person's own network with two layers of weights or more: f(x + a + b) - f(x + a) - f(x + b) + f(x) of real samples x is less than "
    f"{NONLINEARITY:g} of f(x + a) - f(x), before a softmax or sigmoid at the end; so it is with its own weights and with random ones.",
    "The definition of a linear map; missing activations lead the faults that are counted (13 of 52, DeepFD's benchmark)",
    unless="A single layer, which is meant to be linear.",
)
TOLERANCE = 1e-3
EVAL_RANDOM = Rule(
    "eval.random",
    "Validation is left to chance",
    f"In eval mode two passes over the same samples differ by more than {TOLERANCE:g} of the largest output, or a pass changes a buffer.",
    "TrainCheck (a real case of transformers)",
    unless="Random numbers that are the same in each pass.",
)
MIXES = Rule(
    "model.mixes_samples",
    "Samples of a batch are mixed",
    f"In eval mode the answers to samples change by more than {TOLERANCE:g} of the largest when other samples of their batch do.",
    "Karpathy's recipe (the gradient of output i is that of input i)",
    unless="Batch norm that goes by its running statistics; in training it may mix.",
)
FUTURE = Rule(
    "model.sees_future",
    "The language model sees what it is to predict",
    f"Tokens from the middle on are changed, and answers before change by more than {TOLERANCE:g} of the largest.",
    "Karpathy's recipe",
)
UNUSED = 0.1
NOT_TRAINED = Rule(
    "model.not_trained",
    "Weights are not trained",
    "After one backward pass: weights without a gradient whose module was called (its result is detached), or that belong to no module of "
    f"the network (a plain list holds them); modules that are never called and hold more than {UNUSED:.0%} of the weights (else a note); layers of "
    "a person's own network with requires_grad off whose weights are drawn at random.",
    "TrainCheck (forum-84911, accelerate#2665)",
    unless="optimizer.freeze; frozen weights that are the same whatever the seed, since they were loaded; networks of the program's own, whose spare "
    "parts are known.",
)
REPEATED = Rule(
    "model.repeated_layer",
    "A layer is used several times",
    "One module with weights stands in several places of a person's own network: a note, since it may be meant.",
    "[layer] * n repeats the layer itself",
)
SYMMETRIC = Rule(
    "init.symmetric",
    "All units of a layer are the same",
    "All rows of a layer's weights are equal; of weights that are all 0 also those of the gradient, so that its units stay alike for ever.",
    "TheDeepChecker (variance 0)",
    unless="Last layers and branches that begin as zeros, whose gradient tells units apart.",
)
GAIN, SMALL_GAIN, LARGE_OUTPUT = 3.0, 0.02, 5.0
LOW_GAIN, SILENT = 0.3, 1e-6
SHRINKS = 1e-5
SATURATED, NEAR_END = 0.85, 0.95
INIT_SCALE = Rule(
    "init.scale",
    "The initial weights are too large or too small",
    f"Large: half of the layers or more have weights whose root mean square times the root of their inputs is above {GAIN:g} (torch's own: 0.58, "
    f"He's: 1.41), and the outputs are above {LARGE_OUTPUT:g} or an activation is saturated (more than {SATURATED:.0%} of its values beyond {NEAR_END:.0%} of its "
    f"range). Small: half of them or more are below {SMALL_GAIN:g}; or below {LOW_GAIN:g}, and the answers to different samples differ by less than {SILENT:g} of what "
    f"the samples do. Or the gradient of the first layer, beside its weights, is less than {SHRINKS:g} of that of the last.",
    "He et al. 2015, Glorot and Bengio 2010; SageMaker Debugger (a ratio of 10, which default initializations reach)",
    unless="What a normalization makes up for; layers that begin as zeros; a gradient that nn.Sigmoid or nn.Tanh (model.saturating) or many layers "
    "(model.too_deep) let vanish.",
    fix="model.norm, model.activation",
)
SIGMOIDS, FAINT = 3, 1e-2
SATURATING = Rule(
    "model.saturating",
    "Activations let the gradient vanish",
    f"The gradient of the first layer, beside its weights, is less than {SHRINKS:g} of that of the last, in a network with nn.Sigmoid or nn.Tanh. Or a linear layer takes "
    f"what a softmax answers. Or {SIGMOIDS} hidden sigmoids or more, and the answers to different samples differ by less than {FAINT:g} of what the samples do.",
    "Glorot & Bengio 2010",
    unless="The network has fewer than three layers (of sigmoid and tanh).",
    fix="model.norm, model.activation",
)
MANY_LAYERS = 10
TOO_DEEP = Rule(
    "model.too_deep",
    "Too many layers without normalization",
    f"As of model.saturating, in a network of {MANY_LAYERS} layers of weights or more that has neither nn.Sigmoid nor nn.Tanh, and begins with weights of a usual size.",
    "He et al. 2015 (30 layers do not train without care); He et al. 2016 (residual connections)",
    fix="model.hidden with three layers",
)
FEWEST_UNITS, BENDS = 4, 0.1
NARROW = Rule(
    "model.narrow",
    "The network is too small",
    f"A hidden layer has fewer than {FEWEST_UNITS} units, and fewer than it takes to tell the classes apart (one less than there are). Or there is no hidden layer, or one of fewer than "
    f"{FEWEST_UNITS} units, and a simple model (ridge regression, four folds) explains {BENDS:.0%} more, and by 4 standard errors, with random features than without.",
    "The rank of what can pass; too few neurons and missing layers are among the faults that are counted (DeepFD's benchmark)",
    unless="The network begins with known weights, is recurrent, or bends by something that has no weights.",
    fix="model.hidden",
)
DEAD_SHARE, DEAD_LAYER, LEAST_UNITS, LEAST_PLACES = 0.5, 0.9, 8, 64
DEAD = Rule(
    "init.dead",
    "Units are dead before the first step",
    f"{DEAD_LAYER:.0%} of the units behind a ReLU, or {DEAD_SHARE:.0%} of all such units, or more answer 0 to all samples of up to four batches.",
    "TheDeepChecker, SageMaker Debugger",
    unless=f"Layers of fewer than {2 * LEAST_UNITS} units, or fewer than {LEAST_PLACES} samples (places of images and texts) to go by.",
    fix="model.norm",
)
ROUND = 0.02
SUM = Rule(
    "loss.sum",
    "The loss grows with the batch",
    f"Of a person's own loss: twice the batch gives twice the loss, or half of it, within {ROUND:.0%}.",
    "TheDeepChecker",
    fix="optimizer.lr divided by the batch size, of masks by its pixels, or times that (SGD)",
)
SIGN = Rule(
    "loss.sign",
    "The loss rewards wrong answers",
    "Of a person's own loss: perfect answers cost more than the opposite ones (error); or ever larger answers make it fall without end.",
    "Tried on answers whose worth is known",
    fix="objective.kind: the task's usual loss.",
)
BLIND_LOSS = Rule(
    "loss.blind",
    "The loss does not look at what it should",
    "Of a person's own loss: it is the same for exchanged targets, or for other outputs; or the same answer to all samples costs less than perfect ones, yes or no to all labels no more than they "
    "(of classes and labels both as logits and as probabilities).",
    "Tried on answers whose worth is known; (n, 1) and (n,) make (n, n) in torch",
    fix="objective.kind: the task's usual loss.",
)
RULES = (
    ENDS_SOFTMAX, ENDS_SIGMOID, ENDS_RELU, RANGE, LINEAR, EVAL_RANDOM, MIXES, FUTURE, NOT_TRAINED, REPEATED, SYMMETRIC, NARROW, INIT_SCALE, SATURATING, TOO_DEEP,
    DEAD,
    SUM, SIGN, BLIND_LOSS,
)  # fmt: skip
