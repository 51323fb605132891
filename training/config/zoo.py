"""``[model]`` of networks that others wrote: torchvision's and timm's, with fresh or known weights."""

from __future__ import annotations

from typing import Literal

from training.config.fields import setting
from training.config.model_section import ModelSection
from training.config.timm_names import TIMM_MODELS
from training.config.torchvision_names import CLASSIFICATION_MODELS, SEGMENTATION_MODELS

_NAME = r"^\w[\w.-]*$"


class PublishedWeights(ModelSection):
    """Weights that are published under a name."""

    pretrained: str | None = setting(
        None,
        title="Pretrained",
        help="Begin with weights that were published for this network; they are downloaded once. DEFAULT is the best there "
        "are. The head stays fresh, and the first layer is adapted to pictures without three channels. Empty: fresh.",
        placeholder="none",
        suggestions=("DEFAULT", "IMAGENET1K_V1", "IMAGENET1K_V2"),
        pattern=_NAME,
    )


class StartingWeights(ModelSection):
    """Weights of a file to begin with, in place of fresh ones. Only a run's very first step needs them: afterwards its
    checkpoints hold all."""

    weights: str | None = setting(
        None,
        title="Weights file",
        help="Begin with these weights: a file of weights (.pth, .pt, .safetensors), or the folder of a run or of one of its "
        "checkpoints. The head stays fresh where its classes are others. Empty: fresh weights.",
        placeholder="fresh weights",
        path="any",
    )
    normalise: Literal["weights", "data"] = setting(
        "weights",
        title="Normalise by",
        help="weights: known weights get pictures with the mean and spread they were trained with. data: by the training "
        "pictures' own, as with fresh weights.",
        advanced=True,
    )


class NamedWeights(StartingWeights, PublishedWeights):
    """Published weights, or those of a file; a form asks for the name first."""


class TorchvisionModel(NamedWeights):
    """A classification network from torchvision, for any number of input channels and classes."""

    kind: Literal["torchvision"] = "torchvision"
    name: str = setting(
        "resnet18",
        title="Network",
        help="torchvision's name of the network. resnet18 is a good first choice.",
        suggestions=CLASSIFICATION_MODELS,
        min_length=1,
    )


class TorchvisionSegmentation(NamedWeights):
    """A segmentation network from torchvision, for any number of input channels and classes."""

    answers = ("place",)

    kind: Literal["torchvision_segmentation"] = "torchvision_segmentation"
    name: str = setting(
        "lraspp_mobilenet_v3_large",
        title="Network",
        help="torchvision's name of the network. lraspp_mobilenet_v3_large is small and quick, deeplabv3_resnet50 precise.",
        suggestions=SEGMENTATION_MODELS,
        min_length=1,
    )
    pretrained: str | None = setting(
        None,
        title="Pretrained",
        help="Begin with weights that were published for this network; they are downloaded once. DEFAULT takes all but the "
        "head, BACKBONE what was learnt from ImageNet only. Empty: fresh.",
        placeholder="none",
        suggestions=("DEFAULT", "BACKBONE"),
        pattern=_NAME,
    )


class TimmModel(NamedWeights):
    """One of timm's networks, for any number of input channels and classes; needs the package timm."""

    kind: Literal["timm"] = "timm"
    name: str = setting(
        "resnet18",
        title="Network",
        help="timm's name of the network; those that are listed are a small part of more than a thousand.",
        suggestions=TIMM_MODELS,
        min_length=1,
    )
    pretrained: str | None = setting(
        None,
        title="Pretrained",
        help="Begin with weights that were published for this network; they are downloaded once. DEFAULT is timm's own "
        "choice; other names are timm's tags, such as a1_in1k. Empty: fresh.",
        placeholder="none",
        suggestions=("DEFAULT",),
        pattern=_NAME,
    )
    drop_path_rate: float = setting(
        0.0,
        title="Drop path",
        help="Share of residual branches left out at random while training (stochastic depth), in networks that have it.",
        advanced=True,
        ge=0.0,
        lt=1.0,
    )
