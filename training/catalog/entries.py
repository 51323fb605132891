"""The rows of the catalog, in the order the window lists them."""

from __future__ import annotations

from training.catalog.entry import Entry
from training.config import dataset, model, objective, optimizer, schedule

DATASETS: tuple[Entry, ...] = (
    Entry(
        "shapes",
        "Drawn shapes",
        "Small pictures of circles, squares, triangles and more, drawn on the spot. Needs no file.",
        dataset.ShapesDataset,
        "training.data.sources.shapes:open_shapes",
    ),
    Entry(
        "image_folder",
        "Image folder",
        "A folder of images with one subfolder for each class.",
        dataset.ImageFolderDataset,
        "training.data.sources.image_folder:open_image_folder",
    ),
    Entry(
        "segmentation",
        "Segmentation folder",
        "A folder of images and one of masks that say for each pixel what it shows.",
        dataset.SegmentationDataset,
        "training.data.sources.segmentation:open_segmentation",
    ),
    Entry(
        "idx",
        "MNIST files (idx)",
        "The file format of MNIST and FashionMNIST, compressed or not.",
        dataset.IdxDataset,
        "training.data.sources.idx:open_idx",
    ),
    Entry(
        "spiral",
        "Spiral",
        "Three intertwined arms of points in the plane: the classic toy problem. Needs no file.",
        dataset.SpiralDataset,
        "training.data.sources.spiral:open_spiral",
    ),
)

MODELS: tuple[Entry, ...] = (
    Entry(
        "small_cnn",
        "Small CNN",
        "Two convolution-ReLU-pool blocks and a linear layer: enough for small pictures.",
        model.SmallCnn,
        "training.models.small_cnn:make_small_cnn",
    ),
    Entry(
        "whitened_cnn",
        "Whitened CNN",
        "Six convolutions behind a fixed layer that whitens patches: learns small colour pictures in few epochs.",
        model.WhitenedCnn,
        "training.models.whitened_cnn:make_whitened_cnn",
    ),
    Entry(
        "mlp",
        "MLP",
        "Linear layers with an activation between them: for points, tables and tiny pictures.",
        model.Mlp,
        "training.models.mlp:make_mlp",
    ),
    Entry(
        "unet",
        "U-Net",
        "Down to coarse features and up again: a class for each pixel of a picture.",
        model.UNet,
        "training.models.unet:make_unet",
    ),
    Entry(
        "torchvision",
        "torchvision network",
        "A known classification network by name, with fresh weights, for any channels and classes.",
        model.TorchvisionModel,
        "training.models.torchvision_zoo:make_torchvision_model",
    ),
)

OBJECTIVES: tuple[Entry, ...] = (
    Entry(
        "classification",
        "Classification",
        "Each sample belongs to exactly one class.",
        objective.Classification,
        "training.objectives.classification:ClassificationObjective",
    ),
)

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
        "Adaptive with next to no memory of its own: for networks that barely fit.",
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
        "training.schedules:OneCycleSchedule",
    ),
    Entry("constant", "Constant", "The same rate throughout.", schedule.Constant, "training.schedules:make_constant"),
    Entry(
        "linear",
        "Linear",
        "A straight line down from the optimizer's rate.",
        schedule.Linear,
        "training.schedules:make_linear",
    ),
    Entry("cosine", "Cosine", "Half a cosine wave down.", schedule.Cosine, "training.schedules:make_cosine"),
    Entry(
        "cosine_restarts",
        "Cosine with restarts",
        "Cosine waves, each beginning again at the top.",
        schedule.CosineRestarts,
        "training.schedules:make_cosine_restarts",
    ),
    Entry("step", "Steps", "Drops by a factor at a fixed interval.", schedule.Step, "training.schedules:make_step"),
    Entry(
        "multi_step",
        "Milestones",
        "Drops by a factor at steps you name.",
        schedule.MultiStep,
        "training.schedules:make_multi_step",
    ),
    Entry(
        "exponential",
        "Exponential",
        "Falls by the same factor at every step.",
        schedule.Exponential,
        "training.schedules:make_exponential",
    ),
    Entry(
        "polynomial",
        "Polynomial",
        "Falls to zero along a power curve.",
        schedule.Polynomial,
        "training.schedules:make_polynomial",
    ),
    Entry(
        "wsd",
        "Warm-up, stable, decay",
        "Holds the rate, then decays over the last stretch: the run can be prolonged from before the decay.",
        schedule.WarmupStableDecay,
        "training.schedules:make_warmup_stable_decay",
    ),
    Entry(
        "plateau",
        "On plateau",
        "Drops the rate when the monitored metric stops improving.",
        schedule.Plateau,
        "training.schedules:PlateauSchedule",
    ),
)

_TABLES = {
    "dataset": DATASETS,
    "model": MODELS,
    "objective": OBJECTIVES,
    "optimizer": OPTIMIZERS,
    "schedule": SCHEDULES,
}


def entries(section: str) -> tuple[Entry, ...]:
    """The choices of ``section`` ("dataset", "model", "objective", "optimizer", "schedule")."""
    return _TABLES[section]


def entry(section: str, kind: str) -> Entry:
    """The row of ``kind`` in ``section``; KeyError when there is none."""
    for candidate in _TABLES[section]:
        if candidate.kind == kind:
            return candidate
    raise KeyError(f"{section} has no kind {kind!r}")
