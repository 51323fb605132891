"""``Augmenter``: variation of training images, as ``[dataset]`` asks."""

from __future__ import annotations

import torch
from torch import Tensor

from training.config.sections.data.dataset_section import DatasetSection
from training.config.sections.data.image_section import ImageSection
from training.data.augment.draws import Draws
from training.data.augment.mixing import draw_partners, mix
from training.data.augment.steps import steps


class Augmenter:
    """Varies a batch of images, each for itself.

    What is drawn depends on the run's seed, the epoch and the number of the sample alone, so an image is varied the same
    in whatever batch, process or resumed run it turns up. With ``mask`` the last channel of the images holds the class of
    each pixel (255: none), which moves with the image and never changes color.
    """

    def __init__(self, config: DatasetSection, seed: int, *, mask: bool = False) -> None:
        self._config = config
        self._seed = seed
        self.mask = mask
        found = steps(config, mask)
        self._steps = [step for step in found if step.takes != "inputs"]
        self._last = [step for step in found if step.takes == "inputs"]
        self._alphas: dict[str, float] = {}
        if isinstance(config, ImageSection):
            self._alphas = {"mixup_alpha": config.mixup_alpha, "cutmix_alpha": config.cutmix_alpha}
        self.mixes = any(self._alphas.values())
        """Whether each sample is mixed with another one: ``partners``, ``mix``."""
        self.identity = not self._steps
        """Whether images stay as they are; what ``erase`` and ``mix`` do later is not asked here."""

    def __call__(self, images: Tensor, indices: Tensor, epoch: int, numbers: Tensor | None = None) -> Tensor:
        """``images`` uint8 (B, H, W, C) of the samples ``indices``, int64 (B,) on the CPU; ``numbers`` are the same on the
        device of the images, where they are at hand.

        Returns uint8; float32 on the same scale of 0 to 255 where rotation is the last thing that is done.
        """
        numbers = indices.to(images.device) if numbers is None else numbers
        draws = Draws(self._seed, epoch, indices, numbers)
        for step in self._steps:
            arguments = step.settings(self._config)
            if step.takes != "geometry" and images.dtype != torch.uint8:
                images = images.round().to(torch.uint8)
            if not self.mask or step.takes == "pixels":
                images = step.function(images, draws, **arguments)
            elif step.takes == "colors":
                colors = step.function(images[..., :-1].contiguous(), draws, **arguments)
                images = torch.cat([colors, images[..., -1:]], dim=3)
            else:
                images = step.function(images, draws, mask=True, **arguments)
        return images

    def erase(self, inputs: Tensor, indices: Tensor, epoch: int, color: Tensor | float = 0.0) -> Tensor:
        """What is done to normalized images (B, H, W, C), without their mask: parts become ``color`` (C,)."""
        for step in self._last:
            inputs = step.function(inputs, self._draws(indices, epoch), color=color, **step.settings(self._config))
        return inputs

    def partners(self, train: Tensor, order: Tensor, epoch: int) -> Tensor:
        """With which sample each of ``order`` is mixed; both int64 on the CPU, ``train`` are all training samples, sorted."""
        places = torch.searchsorted(train, order)
        return train[draw_partners(self._seed, epoch, places, len(train))]

    def mix(self, own: Tensor, others: Tensor, indices: Tensor, epoch: int) -> tuple[Tensor, Tensor]:
        """Float images (B, H, W, C) of ``indices`` mixed with their partners', and their own share, float32 (B,)."""
        return mix(own, others, self._draws(indices, epoch), **self._alphas)

    def _draws(self, indices: Tensor, epoch: int) -> Draws:
        return Draws(self._seed, epoch, indices, indices)
