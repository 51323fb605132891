"""``[model]`` of networks that others wrote: torchvision's and timm's, with random or pretrained weights."""

from __future__ import annotations

from typing import Annotated, Literal

from training.config.fields import ShareBelowOne, advanced, setting
from training.config.sections.data.torchvision_names import CLASSIFICATION_MODELS, SEGMENTATION_MODELS
from training.config.sections.model_section import ModelSection
from training.config.sections.timm_names import TIMM_MODELS

_BEGIN = "Begin with weights that were published for this network; they are downloaded once."

Name = Annotated[str, setting(title="Model name", also="network", min_length=1)]
Pretrained = Annotated[
    str | None,
    setting(
        title="Pretrained weights",
        help=f"{_BEGIN} DEFAULT is the best there are. The head is new, and the first layer is adapted to images without three "
        "channels. Empty: random initialization.",
        placeholder="none",
        suggestions=("DEFAULT", "IMAGENET1K_V1", "IMAGENET1K_V2"),
        pattern=r"^\w[\w.-]*$",
    ),
]


class PublishedWeights(ModelSection):
    """Weights that are published under a name."""

    pretrained: Pretrained = None


class StartingWeights(ModelSection):
    """Weights of a file to begin with, in place of random ones. Only a run's very first step needs them: afterwards its
    checkpoints hold all."""

    weights: str | None = setting(
        None,
        "Initial weights",
        "Begin with these weights: a file of weights (.pth, .pt, .safetensors), or the folder of a run or of one of its "
        "checkpoints. The head is new where its classes are others. Empty: random initialization.",
        also="weights file fresh fine-tuning",
        placeholder="random initialization",
        path="any",
    )
    normalise: Literal["weights", "data"] = advanced(
        "weights",
        "Input normalization",
        "Of the weights: pretrained weights get images normalized by the mean and std they were trained with. Of the data: by "
        "the training images' own, as with random weights.",
        also="normalise by",
        labels={"weights": "Of the weights", "data": "Of the data"},
    )


class NamedWeights(StartingWeights, PublishedWeights):
    """Published weights, or those of a file; a form asks for the name first."""


class TorchvisionModel(NamedWeights):
    """A classification network by name, with random or pretrained weights, for any channels and classes."""

    kind: Literal["torchvision"] = "torchvision"
    name: Name = setting(
        "resnet18", help="torchvision's name. resnet18 is a good first choice.", suggestions=CLASSIFICATION_MODELS
    )


class TorchvisionSegmentation(NamedWeights):
    """A segmentation network by name, with random or pretrained weights, for any channels and classes."""

    answers = ("place",)

    kind: Literal["torchvision_segmentation"] = "torchvision_segmentation"
    name: Name = setting(
        "lraspp_mobilenet_v3_large",
        help="torchvision's name of the network (get_model: name). lraspp_mobilenet_v3_large is small and quick, "
        "deeplabv3_resnet50 precise.",
        suggestions=SEGMENTATION_MODELS,
    )
    pretrained: Pretrained = setting(
        None,
        help=f"{_BEGIN} DEFAULT takes all but the head, BACKBONE what was learned from ImageNet only. Empty: random "
        "initialization.",
        suggestions=("DEFAULT", "BACKBONE"),
    )


class TimmModel(NamedWeights):
    """One of the thousand networks of the package timm, with random or pretrained weights. Needs timm."""

    kind: Literal["timm"] = "timm"
    name: Name = setting(
        "resnet18",
        help="timm's name of the network (create_model: model_name); those listed are a small part of more than a thousand.",
        suggestions=TIMM_MODELS,
    )
    pretrained: Pretrained = setting(
        None,
        help=f"{_BEGIN} DEFAULT is timm's own choice; other names are timm's tags, such as a1_in1k. Empty: random "
        "initialization.",
        suggestions=("DEFAULT",),
    )
    drop_path_rate: ShareBelowOne = advanced(
        0.0, "Drop path rate", "Probability that a residual branch is left out in training (stochastic depth)."
    )
