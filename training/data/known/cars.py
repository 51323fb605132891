"""StanfordCars: which car each picture shows, in records of MATLAB (ai.stanford.edu/~jkrause/cars/car_dataset.html)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from training.data.known.list_files import wrong
from training.data.known.lists import Listed
from training.data.mat_file import read_list


def cars(place: Path) -> Listed:
    """Raises InputError."""
    listed = Listed(tuple(str(name) for name in read_list(place / "devkit" / "cars_meta.mat", "class_names")))
    tested = place / "cars_test_annos_withlabels.mat"
    for part, path in (("train", place / "devkit" / "cars_train_annos.mat"), ("test", tested)):
        if part == "test" and not (path.exists() and (place / "cars_test").exists()):
            continue
        for car in read_list(path, "annotations"):
            name, label = (car.get("fname"), car.get("class")) if isinstance(car, dict) else (None, None)
            number = int(label.flat[0]) if isinstance(label, np.ndarray) and label.size == 1 else 0
            if not isinstance(name, str) or not 1 <= number <= len(listed.classes):
                raise wrong(path, f"{name} {number}")
            listed.rows.append((part, number - 1, f"cars_{part}/{name}"))
    return listed
