"""torchvision's segmentation networks, for any number of input channels and classes."""

from __future__ import annotations

import warnings

import torchvision
from torch import Tensor, nn
from torch.nn import functional

from training.config.zoo import TorchvisionSegmentation
from training.errors import InputError
from training.facts import DataFacts
from training.models.pictures import require_pictures
from training.models.torchvision_zoo import replace_first_convolution, require_size


class SegmentationNetwork(nn.Module):
    """One of torchvision's networks, its ``backbone`` and ``classifier`` under their own names, that answers with a tensor
    instead of a dict: (B, C, H, W) -> logits (B, classes, H, W). Without torchvision's second, auxiliary head."""

    def __init__(self, backbone: nn.Module, classifier: nn.Module, all_levels: bool) -> None:
        """``all_levels``: the classifier takes the backbone's features of each level, not the last alone."""
        super().__init__()
        self.backbone = backbone
        self.classifier = classifier
        self.all_levels = all_levels

    def forward(self, pictures: Tensor) -> Tensor:
        """Logits for each pixel, interpolated bilinearly from the features' coarser grid."""
        features = self.backbone(pictures)
        coarse: Tensor = self.classifier(features if self.all_levels else features["out"])
        return functional.interpolate(coarse, size=pictures.shape[-2:], mode="bilinear", align_corners=False)


def make_segmentation_model(config: TorchvisionSegmentation, facts: DataFacts, outputs: int) -> SegmentationNetwork:
    """The network ``config.name`` with fresh weights. Raises InputError when the pictures are too small."""
    channels, _, _ = require_pictures(config.name, facts.shape)
    if config.name not in torchvision.models.list_models(module=torchvision.models.segmentation):
        raise InputError(
            f"model.name: torchvision has no segmentation network {config.name!r}; choose lraspp_mobilenet_v3_large."
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of torchvision's about its own older arguments
        made = torchvision.models.get_model(config.name, weights=None, weights_backbone=None, num_classes=outputs)
    if channels != 3:
        replace_first_convolution(made, channels)
    model = SegmentationNetwork(made.backbone, made.classifier, config.name.startswith("lraspp"))
    require_size(config.name, model, facts)
    return model
