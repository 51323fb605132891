"""Changes of color, each as torchvision's function of that name computes it on bytes, with a factor for each image.

Images are uint8 (B, H, W, C): red, green and blue where there are three channels, otherwise none of them is a color.
Factors are float64 (B,) on the CPU. Results are cut off to uint8 as torchvision cuts them off. Sums over an image
are sums of whole numbers, and all else is computed pixel by pixel with single sums and products: an image becomes the
same in whatever batch it is.
"""

from __future__ import annotations

import torch
from torch import Tensor

from training.data.augment.draws import per_image


def adjust_brightness(images: Tensor, factors: Tensor) -> Tensor:
    return _to_bytes(images * per_image(factors, images))


def adjust_contrast(images: Tensor, factors: Tensor) -> Tensor:
    """Away from the mean gray, or towards it for factors below 1."""
    gray = _gray(images).floor() if images.shape[3] == 3 else images
    mean = gray.to(torch.int32).sum((1, 2, 3)).double() / gray.shape[1:].numel()
    return _blend(images, per_image(mean, images), factors)


def adjust_saturation(images: Tensor, factors: Tensor) -> Tensor:
    if images.shape[3] != 3:
        return images
    return _blend(images, _gray(images).floor(), factors)


def adjust_hue(images: Tensor, shifts: Tensor) -> Tensor:
    """Turn the circle of colors by ``shifts``, from -0.5 to 0.5 of a circle; value and saturation stay.

    The color of hue h (in sixths of the circle), value v and chroma c is v - c * max(0, min(k, 4 - k, 1)) with
    k = (n + h) mod 6 and n = 5, 3, 1 for red, green and blue.
    """
    if images.shape[3] != 3:
        return images
    red, green, blue = (images.to(torch.float32) * (1 / 255)).unbind(3)
    value = torch.maximum(torch.maximum(red, green), blue)
    chroma = value - torch.minimum(torch.minimum(red, green), blue)
    divisor = torch.where(chroma == 0, 1.0, chroma)
    hue = torch.where(
        value == red,
        (green - blue) / divisor,
        torch.where(value == green, (blue - red) / divisor + 2, (red - green) / divisor + 4),
    )
    hue = hue + (shifts * 6).to(hue.device, torch.float32).view(-1, 1, 1)
    planes = []
    for place in (5, 3, 1):
        k = torch.remainder(hue + place, 6.0)
        planes.append(value - chroma * torch.minimum(k, 4 - k).clamp(0, 1))
    # As torchvision goes from 0..1 to bytes.
    return (torch.stack(planes, 3) * (256 - 1e-3)).to(torch.uint8)


def rgb_to_grayscale(images: Tensor) -> Tensor:
    """Gray in all three channels."""
    if images.shape[3] != 3:
        return images
    return _gray(images).to(torch.uint8).repeat(1, 1, 1, 3)


def adjust_sharpness(images: Tensor, factors: Tensor) -> Tensor:
    """Away from the smoothed image, or towards it for factors below 1; the outermost pixels stay."""
    if min(images.shape[1:3]) <= 2:
        return images
    whole = images.to(torch.int32)
    rows = whole[:, :-2] + whole[:, 1:-1] + whole[:, 2:]
    box = rows[:, :, :-2] + rows[:, :, 1:-1] + rows[:, :, 2:]
    inside = whole[:, 1:-1, 1:-1]
    smooth = ((box + inside * 4) * (1 / 13)).round()
    sharpened = inside + (smooth - inside) * per_image(1.0 - factors, images)
    changed = images.clone()
    changed[:, 1:-1, 1:-1] = _to_bytes(sharpened)
    return changed


def posterize(images: Tensor, bits: Tensor) -> Tensor:
    """Keep the ``bits`` (B,) highest bits of each byte."""
    kept = (256 - torch.pow(2, 8 - bits.long())).to(images.device, torch.uint8)
    return images & kept.view(-1, 1, 1, 1)


def solarize(images: Tensor, thresholds: Tensor) -> Tensor:
    """Invert what is at least as bright as the threshold (B,), from 0 to 255."""
    return torch.where(images >= per_image(thresholds, images), 255 - images, images)


def autocontrast(images: Tensor) -> Tensor:
    """Stretch each channel to the whole range."""
    values = images.to(torch.float32)
    darkest, brightest = values.amin((1, 2), keepdim=True), values.amax((1, 2), keepdim=True)
    flat = brightest == darkest
    scale = torch.where(flat, 1.0, (brightest - darkest) * (1 / 255))
    return _to_bytes((values - torch.where(flat, 0.0, darkest)) / scale)


def equalize(images: Tensor) -> Tensor:
    """Give each channel an even histogram, as Pillow does it in whole numbers."""
    count, height, width, channels = images.shape
    values = images.permute(0, 3, 1, 2).reshape(count * channels, -1).long()
    first = torch.arange(len(values), device=values.device).mul_(256).unsqueeze(1)
    histogram = torch.bincount((values + first).flatten(), minlength=256 * len(values)).view(-1, 256)
    cumulative = histogram.cumsum(1)
    brightest = histogram.gather(1, values.amax(1, keepdim=True))
    step = (height * width - brightest) // 255
    table = ((cumulative[:, :-1] + step // 2) // step.clamp(min=1)).clamp(0, 255)
    table = torch.cat([torch.zeros_like(step), table], 1)
    table = torch.where(step == 0, torch.arange(256, device=values.device), table).to(torch.uint8)
    planes = table.gather(1, values).view(count, channels, height, width)
    return planes.permute(0, 2, 3, 1).contiguous()


def gaussian_blur(images: Tensor, sigmas: Tensor, radius: int) -> Tensor:
    """Mix each pixel with those up to ``radius`` away, by a bell curve of ``sigmas`` (B,) pixels; edges are mirrored."""
    distances = torch.arange(radius + 1, dtype=torch.float64)
    # One row for each image: exp of a column of them would depend on how many there are.
    weights = torch.stack([torch.exp(-((distances / sigma) ** 2) / 2) for sigma in sigmas])
    total = weights[:, :1].clone()
    for place in range(1, radius + 1):
        total = total + 2 * weights[:, place : place + 1]
    weights = weights / total
    mixed = images.to(torch.float32)
    for axis in (1, 2):
        size = mixed.shape[axis]
        places = torch.arange(-radius, size + radius).abs()
        padded = mixed.index_select(axis, torch.minimum(places, 2 * (size - 1) - places).to(mixed.device))
        mixed = padded.narrow(axis, radius, size) * per_image(weights[:, 0], images)
        for place in range(1, radius + 1):
            sides = padded.narrow(axis, radius - place, size) + padded.narrow(axis, radius + place, size)
            mixed += sides.mul_(per_image(weights[:, place], images))
    return mixed.round_().to(torch.uint8)


def _gray(images: Tensor) -> Tensor:
    """float32 (B, H, W, 1)."""
    red, green, blue = images.unbind(3)
    return (red * 0.2989 + green * 0.587 + blue * 0.114).unsqueeze(3)


def _blend(images: Tensor, others: Tensor, factors: Tensor) -> Tensor:
    """``factors`` of the images and 1 - ``factors`` of the others."""
    return _to_bytes(images * per_image(factors, images) + others * per_image(1.0 - factors, images))


def _to_bytes(values: Tensor) -> Tensor:
    return values.clamp(0, 255).to(torch.uint8)
