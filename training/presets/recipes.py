"""Which preset suits which data: what the window sets up for somebody who chose other data."""

from __future__ import annotations

from collections.abc import Mapping

from training.facts import Target

RECIPES: Mapping[tuple[str, Target], str] = {
    ("shapes", "class"): "sample",
    ("image_folder", "class"): "pictures",
    ("image_table", "class"): "pictures",
    ("image_table", "labels"): "labels",
    ("image_table", "values"): "pictures",
    ("image_table", "tasks"): "pictures",
    ("segmentation", "mask"): "segmentation",
    ("idx", "class"): "mnist",
    ("torchvision", "class"): "mnist",
    ("torchvision", "labels"): "labels",
    ("torchvision_segmentation", "mask"): "segmentation",
    ("spiral", "class"): "spiral",
    ("moons", "class"): "spiral",
    ("circles", "class"): "spiral",
    ("blobs", "class"): "spiral",
    ("ranked", "ranks"): "ranking",
    ("npz", "class"): "table-classes",
    ("npz", "labels"): "table-classes",
    ("npz", "values"): "table-values",
    ("npz_pictures", "class"): "pictures",
    ("npz_pictures", "labels"): "labels",
    ("npz_pictures", "values"): "pictures",
    ("npz_pictures", "mask"): "segmentation",
    ("table", "class"): "table-classes",
    ("table", "labels"): "table-classes",
    ("table", "values"): "table-values",
    ("table", "tasks"): "table-classes",
    ("ranking", "ranks"): "ranking",
    ("text", "tokens"): "gpt",
    ("user_dataset", "class"): "spiral",
    ("user_dataset", "labels"): "spiral",
    ("user_dataset", "values"): "spiral",
    ("user_images", "class"): "pictures",
    ("user_images", "labels"): "labels",
    ("user_images", "values"): "pictures",
    ("user_images", "mask"): "segmentation",
}
"""The preset for each kind of data and what is to be learned of it; another task than the preset's own is exchanged in it."""
