"""Where the samples of a run come from, as the short script reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from training.config import RunConfig
from training.config.rules.mask_layout import SETTINGS, Place, find_layout, masks_of
from training.config.sections.data.classes import chosen_classes
from training.config.sections.data.dataset import IdxDataset, ImageFolderDataset, ShapesDataset
from training.config.sections.data.dataset_section import DatasetSection
from training.config.sections.data.images import ImageTableDataset, SegmentationDataset
from training.config.sections.data.npz import NpzDataset, NpzImagesDataset
from training.config.sections.data.tables import RankingDataset, TableDataset
from training.config.sections.data.text import TextDataset
from training.config.sections.data.torchvision_sets import TorchvisionDataset
from training.config.sections.data.toys import ToySection
from training.config.sections.pretrained import NamedWeights
from training.errors import InputError
from training.tutorial.augmentation import describe_augmentation
from training.tutorial.literals import code

_IMAGENET = "[0.485, 0.456, 0.406], [0.229, 0.224, 0.225]"
_VALIDATION = ("val", "valid", "validation")
_CALLED = {"MNIST", "FashionMNIST", "KMNIST", "CIFAR10", "CIFAR100"}
"""Sets of torchvision that hold ``data`` and ``targets``, once for training and once for the test."""
_SEPARATORS = {"tab": "\t"}


@dataclass(frozen=True, kw_only=True)
class DataText:
    """What a template of data asks for. ``path`` is the file or folder, as Python source; ``drawn`` says that it is a file that
    lies beside the script, ``counts`` how many vectors of it are held out and trained on. ``given``: the parts are, in ``train_root`` and ``val_root``. ``count`` is what the network has to
    answer, ``targets`` those of the training samples; ``single`` says that masks of two classes have one answer."""

    template: str
    kind: str
    path: str
    drawn: bool = False
    counts: Sequence[int] = ()
    count: str = "int(targets.max()) + 1"
    targets: str = "train_set.tensors[1]"
    train: str = ""
    given: bool = False
    train_root: str = "Path(DATA)"
    val_root: str = ""
    inputs: str = '"x"'
    outputs: str = '"y"'
    cast: str = ".long()"
    name: str = ""
    mode: str = "RGB"
    sized: str = ""
    size: str = "images.shape[-2:]"
    known: str = ""
    words: str = "classes"
    judged: bool = False
    format: str = "csv"
    folder: str = "DATA"
    file: str = "name"
    column: str = "0"
    target_lines: tuple[str, ...] = ()
    classes: str = ""
    ignored: int | None = None
    single: bool = False
    task: str = "class"
    standardized: bool = True
    reading: str = ""
    target_names: str = ""
    feature_names: str = ""
    categorical: str = ""
    numeric: str = ""
    held: str = ""
    encoding: str = '"utf-8"'
    bytes: bool = False
    left_out: tuple[str, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether the held-out samples pass through the network at once: vectors do, which lie on the device anyway."""
        return self.template == "vectors"


def describe_data(config: RunConfig, beside: str) -> DataText:
    """For the templates; ``beside`` is what a file of drawn samples is called. Raises InputError for data that the short script
    does not read."""
    dataset, known = config.dataset, isinstance(config.model, NamedWeights) and bool(config.model.pretrained)
    known = known and getattr(config.model, "normalise", "data") == "weights"
    drawn = code(beside)
    _require_all_classes(dataset)
    arrays = partial(
        DataText,
        template="arrays",
        targets="train_set.targets",
        train="images[train], targets[train]",
        kind=dataset.kind,
    )
    match dataset:
        case IdxDataset():
            return arrays(path=code(dataset.path), given=dataset.validation == "test")
        case ShapesDataset():
            return arrays(path=drawn, drawn=True)
        case TorchvisionDataset() if dataset.name in _CALLED and dataset.validation != "test":
            return arrays(name=dataset.name, path=code(dataset.path or "data"))
        case NpzImagesDataset() if dataset.task in ("auto", "class"):
            return arrays(path=code(dataset.path), inputs=code(dataset.inputs), outputs=code(dataset.targets))
        case ToySection():
            kind: str = dataset.kind
            held = round(dataset.validation_fraction * dataset.samples)
            parts = [held, dataset.samples - held]
            vectors = partial(DataText, template="vectors", kind=kind, path=drawn, drawn=True, counts=parts)
            return vectors(count="1") if kind == "ranked" else vectors()
        case NpzDataset():
            return _npz(config, dataset)
        case ImageFolderDataset():
            return _image_folder(dataset, known)
        case ImageTableDataset():
            return _image_table(config, dataset, known)
        case SegmentationDataset():
            return _masks(dataset, getattr(config.objective, "loss", "") == "dice_bce")
        case TableDataset() | RankingDataset():
            return _table(config, dataset)
        case TextDataset():
            return _text(dataset)
    raise InputError(
        f"dataset.kind: the short script does not read {dataset.kind} by itself; export --to script instead."
    )


def _require_all_classes(dataset: DatasetSection) -> None:
    if chosen_classes(dataset):
        raise InputError(
            "dataset.classes: the short script reads all classes; empty it, or export --to script instead."
        )


def _npz(config: RunConfig, dataset: NpzDataset) -> DataText:
    values = config.objective.kind in ("regression", "multi_label")
    return DataText(
        template="vectors",
        kind="npz",
        path=code(dataset.path),
        inputs=code(dataset.inputs),
        outputs=code(dataset.targets),
        cast=".float().view(len(inputs), -1)" if values else ".long()",
        count="targets.shape[1]" if values else "int(targets.max()) + 1",
    )


def _find_parts(path: str, validation: str) -> tuple[str, str]:
    """The folders of the training and the validation part; empty where there are none, or not to be used."""
    root = Path(path)
    try:
        names = {entry.name.casefold(): entry.name for entry in root.iterdir() if entry.is_dir()}
    except (OSError, ValueError):
        return "", ""
    train = names.get("train", names.get("training", ""))
    wanted = ("test",) if validation == "test" else _VALIDATION
    held = next((names[name] for name in wanted if name in names), "")
    return train, "" if validation == "split" else held


def _roots(path: str, validation: str) -> tuple[bool, str, str]:
    train, held = _find_parts(path, validation)
    roots = (f"Path(DATA) / {code(train)}" if train else "Path(DATA)"), (f"Path(DATA) / {code(held)}" if held else "")
    return bool(train and held), *roots


def _write_size(sides: tuple[int, ...], leading: str) -> tuple[str, str]:
    """The transforms that bring an image to its size, and that size."""
    if not sides:
        return "", ""
    height, width = (sides * 2)[:2]
    if height == width:
        return f"{leading}v2.Resize({height}, antialias=True), v2.CenterCrop({height})", f"({height}, {width})"
    # The shorter side is scaled until it fits: which one that is depends on the image, so the box is cut first.
    return f"{leading}v2.Resize(({height}, {width}), antialias=True)", f"({height}, {width})"


def _image_folder(dataset: ImageFolderDataset, known: bool) -> DataText:
    given, train, held = _roots(dataset.path, dataset.validation)
    elsewhere = {"auto": dataset.validation_path, "test": dataset.test_path}.get(dataset.validation)
    if elsewhere:
        given, held = True, code(elsewhere)
    return _files(dataset, known)(given=given, train_root=train, val_root=held, count="len(found.classes)")


def _files(dataset: ImageFolderDataset | ImageTableDataset, known: bool) -> partial[DataText]:
    """What is alike of images in files, however their targets are told."""
    sized, size = _write_size((dataset.image_size,) if dataset.image_size else (), ", ")
    return partial(
        DataText,
        template="files",
        kind=dataset.kind,
        path=code(dataset.path),
        targets="train_set.targets",
        train="files[train], targets[train]",
        mode="RGB" if dataset.color == "rgb" else "L",
        sized=sized,
        size=size or "pixels.shape[-2:]",
        known=_IMAGENET if known else "",
        left_out=() if sized else ("images of different sizes (the run scales those to 128 x 128)",),
    )


def _image_table(config: RunConfig, dataset: ImageTableDataset, known: bool) -> DataText:
    if dataset.split_column or dataset.group_column:
        raise InputError(
            "dataset.split_column: the short script draws the samples to hold back; empty it, or export --to script."
        )
    if config.objective.kind == "multi_task":
        raise InputError(
            "dataset.kind: the short script reads several targets from a table only; export --to script instead."
        )
    target = code(dataset.targets[0]) if dataset.targets else "frame.columns[-1]"
    task, count, words = config.objective.kind, "len(classes)", "classes"
    if dataset.label_separator != "none":
        cut = "" if dataset.label_separator == "space" else code(dataset.label_separator)
        words = "labels, 1 for each that it carries"
        lines = [
            f"sets = [set((text or '').split({cut})) for text in frame[{target}]]".replace("''", '""'),
            'classes = sorted(set().union(*sets) - {""})',
            "targets = torch.tensor([[float(name in each) for name in classes] for each in sets])",
        ]
    elif task in ("multi_label", "regression"):
        words, count = "values", "targets.shape[1]"
        lines = [
            f"targets = frame.select({code(list(dataset.targets)) if dataset.targets else target}).to_torch().float()"
        ]
    else:
        lines = [
            f"classes = sorted(set(frame[{target}]))",
            f"targets = torch.tensor([classes.index(name) for name in frame[{target}]])",
        ]
    return _files(dataset, known)(
        count=count,
        words=words,
        format="parquet" if dataset.path.endswith(".parquet") else "csv",
        folder=code(dataset.images) if dataset.images else "Path(DATA).parent",
        file=f'f"{{name}}{dataset.file_ending}"' if dataset.file_ending else "name",
        column=code(dataset.file_column) if dataset.file_column else "frame.columns[0]",
        target_lines=tuple(lines),
    )


def _mask_places(dataset: SegmentationDataset) -> dict[str, Place]:
    """The folders of images and masks of each part. Raises InputError where they are told otherwise than by folders."""
    given = [Place(part, *(getattr(dataset, name) for name in names)) for part, names in SETTINGS.items()]
    places = [place for place in given if place.images]
    try:
        places = places or find_layout(Path(dataset.path))
        places = [place._replace(masks=place.masks or masks_of(Path(dataset.path), place.images)) for place in places]
    except (OSError, ValueError):  # it need not be here
        places = []
    for place in places:
        listed = Path(dataset.path, place.images).is_file()
        if listed or not place.masks or {"*", "{"} & {*place.images, *place.masks}:
            raise InputError(
                f"dataset.{SETTINGS[place.part][1]}: the short script pairs the files of two folders; export --to script instead."
            )
    return {place.part: place for place in places}


def _masks(dataset: SegmentationDataset, single: bool) -> DataText:
    if dataset.class_names:
        raise InputError(
            "dataset.class_names: the short script reads the classes from a file; name one, or export --to script."
        )
    places = _mask_places(dataset)
    train = places.get("train", Place("train", "images", "masks"))
    held = (
        places.get("test" if dataset.validation == "test" else "validation") if dataset.validation != "split" else None
    )
    folders = [
        f"Path(DATA) / {code(folder)}" for place in (train, held) if place for folder in (place.images, place.masks)
    ]
    listed = dataset.class_list or str(Path(dataset.path, "classes.txt"))
    sized, size = _write_size(dataset.image_size, "")
    sized += ", " * bool(sized)
    return DataText(
        template="masks",
        kind="segmentation",
        path=code(dataset.path),
        given=held is not None,
        train_root=", ".join(folders[:2]),
        val_root=", ".join(folders[2:]),
        train="pairs",
        mode="RGB" if dataset.color == "rgb" else "L",
        sized=sized,
        size=size or "pixels.shape[-2:]",
        classes=code(listed) if Path(listed).is_file() else "",
        ignored=None if dataset.ignore_index in (None, 255) else dataset.ignore_index,
        single=single,
        count="1" if single else "classes",
        left_out=("masks of colors",),
    )


def _table(config: RunConfig, dataset: TableDataset | RankingDataset) -> DataText:
    if dataset.split_column or getattr(dataset, "group_column", None):
        raise InputError(
            "dataset.split_column: the short script draws the rows to hold back; empty it, or export --to script."
        )
    if dataset.high_cardinality == "hash":
        raise InputError(
            "dataset.high_cardinality: the short script hashes no texts; set it to leave_out, or export --to script."
        )
    if dataset.thousands not in ("auto", "none"):
        raise InputError("dataset.thousands: the short script reads no grouped digits; export --to script instead.")
    parquet = dataset.path.endswith(".parquet")
    separator = _SEPARATORS.get(dataset.separator, "," if dataset.separator == "auto" else dataset.separator)
    cut = "" if separator == "," else f", separator={code(separator)}"
    cut += "" if dataset.encoding in ("auto", "utf-8") else f", encoding={code(dataset.encoding)}"
    cut += ", decimal_comma=True" if dataset.decimal == "," else ""
    reading = f"{cut}, null_values={code(['', *dataset.missing_marks])}, infer_schema_length=None".replace("'", '"')
    query = code(dataset.query_column) if isinstance(dataset, RankingDataset) else ""
    out = ["*targets"] + [query] * bool(query) + [code(name) for name in dataset.ignored]
    judged = not dataset.features and dataset.uninformative == "leave_out"
    kept = f"name in {code(list(dataset.keep_columns))} or " if dataset.keep_columns else ""
    told = f" and ({kept}tells(frame[name]))" if kept else " and tells(frame[name])"
    features = (
        code(list(dataset.features))
        if dataset.features
        else f"[name for name in frame.columns if name not in ({', '.join(out)},){told if judged else ''}]"
    ).replace("'", '"')
    tasks = {"regression": "values", "multi_label": "labels", "multi_task": "tasks"}
    task = tasks.get(config.objective.kind, "class")
    counts = {"class": "len(classes)", "tasks": "sum(width for width, _ in heads)"}
    numeric = getattr(dataset, "numeric_targets", ())
    return DataText(
        template="table",
        kind=dataset.kind,
        path=code(dataset.path),
        format="parquet" if parquet else "csv",
        reading="" if parquet else reading,
        task=task,
        standardized=getattr(config.objective, "standardise", False),
        count=counts.get(task, "len(targets)"),
        judged=judged,
        left_out=("dates and times (the run makes year, month, weekday and hour of them)",),
        target_names=code(list(dataset.targets)).replace("'", '"') if dataset.targets else "frame.columns[-1:]",
        feature_names=features,
        categorical=f" or name in {code(list(dataset.categorical))}".replace("'", '"') if dataset.categorical else "",
        numeric=f" or column.name in {code(list(numeric))}".replace("'", '"') if numeric else "",
    )


def _text(dataset: TextDataset) -> DataText:
    if dataset.vocabulary == "bpe":
        raise InputError(
            "dataset.vocabulary: the short script reads characters or bytes; choose one, or export --to script."
        )
    if Path(dataset.path).is_dir():
        raise InputError("dataset.path: the short script reads one text file; name a file, or export --to script.")
    return DataText(
        template="text",
        kind="text",
        path=code(dataset.path),
        held=code(dataset.validation_path) if dataset.validation_path else "",
        encoding=code(dataset.encoding),
        bytes=dataset.vocabulary == "bytes",
    )


def augmentation_chain(config: RunConfig, data: DataText) -> str:
    """The transforms of a training image, as a list."""
    return describe_augmentation(config.dataset).chain(
        {"arrays": "", "masks": data.sized}.get(data.template, "*sized, ")
    )
