"""The rows of the catalog, in the order the window lists them."""

from __future__ import annotations

from training.catalog.entry import Entry
from training.config.sections import embedding, model, multi_task, objective, optimizer, pretrained, schedule, user_file
from training.config.sections.data import dataset, images, npz, own_data, tables, tabular, text, torchvision_sets, toys

DATASETS = (
    Entry(
        dataset.ShapesDataset,
        "Synthetic shapes",
        "data.sources.shapes:open_shapes",
        "drawn shapes sample",
        group="Synthetic",
    ),
    Entry(
        dataset.ImageFolderDataset,
        "Image folder",
        "data.sources.image_folder:open_image_folder",
        "ImageFolder pictures",
        group="Images",
    ),
    Entry(
        images.ImageTableDataset,
        "Images + labels CSV",
        "data.sources.image_table:open_image_table",
        "images and a table",
        group="Images",
    ),
    Entry(
        images.SegmentationDataset,
        "Segmentation folder",
        "data.sources.segmentation:open_segmentation",
        "masks",
        group="Images",
    ),
    Entry(dataset.IdxDataset, "MNIST-format (IDX)", "data.sources.idx:open_idx", "MNIST files", group="Images"),
    Entry(
        torchvision_sets.TorchvisionDataset,
        "torchvision datasets",
        "data.sources.torchvision_set:open_torchvision_set",
        group="Images",
    ),
    Entry(
        torchvision_sets.TorchvisionSegmentationDataset,
        "torchvision segmentation datasets",
        "data.sources.torchvision_set:open_torchvision_masks",
        "masks",
        group="Images",
    ),
    Entry(toys.SpiralDataset, "Spiral", "data.sources.toys:open_spiral", group="Synthetic"),
    Entry(toys.MoonsDataset, "Moons", "data.sources.toys:open_moons", "make_moons", group="Synthetic"),
    Entry(toys.CirclesDataset, "Circles", "data.sources.toys:open_circles", "make_circles", group="Synthetic"),
    Entry(toys.BlobsDataset, "Blobs", "data.sources.toys:open_blobs", "make_blobs", group="Synthetic"),
    Entry(toys.RankedDataset, "Synthetic ranking", "data.sources.toys:open_ranked", "made queries", group="Synthetic"),
    Entry(
        npz.NpzImagesDataset,
        "Images in a NumPy archive",
        "data.sources.npz:open_npz_images",
        "npz pictures",
        group="Images",
    ),
    Entry(tables.TableDataset, "Table", "data.sources.table:open_table", "tabular csv", group="Tabular"),
    Entry(
        tables.RankingDataset, "Ranking table", "data.sources.ranking:open_ranking", "table of queries", group="Tabular"
    ),
    Entry(npz.NpzDataset, "NumPy archive", "data.sources.npz:open_npz", "npz arrays", group="Tabular"),
    Entry(text.TextDataset, "Text", "data.sources.text:open_text", group="Text"),
    Entry(
        own_data.OwnDataset,
        "Your own Dataset",
        "data.sources.own:open_own",
        "custom torch Dataset Python file",
        group="Your own",
    ),
    Entry(
        own_data.OwnImageDataset,
        "Your own image Dataset",
        "data.sources.own:open_own",
        "custom torch Dataset Python file pictures",
        group="Your own",
    ),
)

MODELS = (
    Entry(model.SmallCnn, "Small CNN", "models.networks.small_cnn:make_small_cnn"),
    Entry(
        model.WhitenedCnn,
        "airbench CNN (whitening conv)",
        "models.networks.whitened_cnn:make_whitened_cnn",
        "whitened CNN",
    ),
    Entry(model.Mlp, "MLP", "models.networks.mlp:make_mlp", "multilayer perceptron"),
    Entry(tabular.Tabular, "Tabular MLP", "models.networks.tabular:make_tabular"),
    Entry(model.UNet, "U-Net", "models.networks.unet:make_unet"),
    Entry(
        pretrained.TorchvisionModel,
        "torchvision model",
        "models.zoo.torchvision_zoo:make_torchvision_model",
        "network ResNet ViT EfficientNet ConvNeXt",
    ),
    Entry(
        pretrained.TorchvisionSegmentation,
        "torchvision segmentation model",
        "models.zoo.torchvision_zoo:make_segmentation_model",
        "network DeepLab FCN LRASPP",
    ),
    Entry(pretrained.TimmModel, "timm model", "models.zoo.timm_zoo:make_timm_model", "network"),
    Entry(user_file.UserFile, "Your own Python file", "models.own.user_file:make_user_model", "custom network module"),
    Entry(text.Gpt, "GPT", "models.networks.gpt:make_gpt", "transformer decoder"),
)

OBJECTIVES = (
    Entry(objective.Classification, "Classification", "objectives.classification:make_classification"),
    Entry(objective.Binary, "Binary classification", "objectives.binary:make_binary", "yes or no"),
    Entry(
        objective.MultiLabel,
        "Multi-label classification",
        "objectives.multi_label:make_multi_label",
        "several labels",
    ),
    Entry(objective.Regression, "Regression", "objectives.regression:make_regression", "numbers values"),
    Entry(objective.Ranking, "Ranking", "objectives.ranking:make_ranking", "learning to rank"),
    Entry(objective.Distillation, "Knowledge distillation", "objectives.distillation:make_distillation", "teacher"),
    Entry(
        embedding.Embedding,
        "Metric learning",
        "objectives.embedding:make_embedding",
        "embedding triplet contrastive SimCLR similarity search",
    ),
    Entry(objective.Segmentation, "Semantic segmentation", "objectives.segmentation:make_segmentation", "masks pixels"),
    Entry(
        multi_task.MultiTask,
        "Multi-task",
        "objectives.multi_task:make_multi_task",
        "several targets heads multitask",
    ),
    Entry(objective.LanguageModel, "Language model", "objectives.language_model:make_language_model"),
    Entry(objective.OwnLoss, "Your own loss", "objectives.own_loss:make_own_loss", "custom loss criterion Python file"),
)

OPTIMIZERS = (
    Entry(optimizer.AdamW, "AdamW", "optim.optimizers:make_adamw"),
    Entry(optimizer.Adam, "Adam", "optim.optimizers:make_adam"),
    Entry(optimizer.Sgd, "SGD", "optim.optimizers:make_sgd"),
    Entry(optimizer.NAdam, "NAdam", "optim.optimizers:make_nadam"),
    Entry(optimizer.RAdam, "RAdam", "optim.optimizers:make_radam"),
    Entry(optimizer.Adagrad, "Adagrad", "optim.optimizers:make_adagrad"),
    Entry(optimizer.RMSprop, "RMSprop", "optim.optimizers:make_rmsprop"),
    Entry(optimizer.Adafactor, "Adafactor", "optim.optimizers:make_adafactor"),
    Entry(optimizer.Muon, "Muon", "optim.optimizers:make_muon"),
)

SCHEDULES = (
    Entry(schedule.OneCycle, "OneCycleLR", "schedules.formulas:make_one_cycle", "one cycle"),
    Entry(schedule.Constant, "ConstantLR", "schedules.formulas:make_constant"),
    Entry(schedule.Linear, "LinearLR", "schedules.formulas:make_linear"),
    Entry(schedule.Cosine, "CosineAnnealingLR", "schedules.formulas:make_cosine"),
    Entry(
        schedule.CosineRestarts,
        "CosineAnnealingWarmRestarts",
        "schedules.formulas:make_cosine_restarts",
        "cosine restarts SGDR",
    ),
    Entry(schedule.Step, "StepLR", "schedules.formulas:make_step", "steps"),
    Entry(schedule.MultiStep, "MultiStepLR", "schedules.formulas:make_multi_step", "milestones"),
    Entry(schedule.Exponential, "ExponentialLR", "schedules.formulas:make_exponential"),
    Entry(schedule.Polynomial, "PolynomialLR", "schedules.formulas:make_polynomial"),
    Entry(schedule.WarmupStableDecay, "WSD", "schedules.formulas:make_warmup_stable_decay", "warm-up, stable, decay"),
    Entry(schedule.Plateau, "ReduceLROnPlateau", "schedules.formulas:make_plateau", "on plateau"),
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
