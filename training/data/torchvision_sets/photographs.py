"""Sets of photographs: in class folders, or with lists that say what each shows."""

from __future__ import annotations

from training.data.download import Remote
from training.data.torchvision_sets.row import KnownSet, remote, split_names

_VGG = "https://www.robots.ox.ac.uk/~vgg/data/"
_SIGNS = "https://sid.erda.dk/public/archives/daaeac0d7ce1152aea9b61d9f1e19370/"
_CALTECH = "https://data.caltech.edu/records/"
_CLIP = "https://openaipublic.azureedge.net/clip/data/"
_PLACES = "http://data.csail.mit.edu/places/places365/"
_SPECIES = "https://ml-inat-competition-datasets.s3.amazonaws.com/"


def _put(name: str, makes: str = "", digest: str = "", *, extra: bool = False) -> Remote:
    """What only a person can get."""
    return Remote(name, (), digest, makes, extra=extra)


def _species(year: str, name: str, digest: str, version: str = "", *, extra: bool = False) -> Remote:
    packed_as, version = name.removesuffix(".tar.gz"), version or year
    return Remote(f"{version}.tgz", (f"{_SPECIES}{year}/{name}",), f"md5:{digest}", version, "", extra, packed_as)


def _inaturalist(size: int, unpacked: int, *files: Remote) -> KnownSet:
    return KnownSet("list", "inaturalist", files, size, unpacked)


_SPECIES_2021 = _species("2021", "val.tar.gz", "f6f6e0e242e3d4c9569ba56400938afc", "2021_valid", extra=True)
PETS = (
    remote(f"{_VGG}pets/data/images.tar.gz", "5c4f3ee8e5d25df40f4fd59a7f44e54c", "images"),
    remote(f"{_VGG}pets/data/annotations.tar.gz", "95a8c909bbe2e81eed6a22bccdf3f68f", "annotations"),
)
PETS_BYTES = 811_092_049
_LAND = remote(
    "https://huggingface.co/datasets/torchgeo/eurosat/resolve/c877bcd43f099cd0196738f714544e355477f3fd/EuroSAT.zip",
    "c8fa014336c82ac7804f0398fcb19387",
    "2750",
)
_IMAGENETTE = remote(
    "https://s3.amazonaws.com/fast-ai-imageclas/imagenette2-160.tgz",
    "e793b78cc4c9e9a4ccc0c1155377a412",
    "imagenette2-160",
)
_FOOD = remote("http://data.vision.ee.ethz.ch/cvl/food-101.tar.gz", "85eeb15f3717b99a5da872d97d918f87", "food-101")
_TEXTURES = remote(f"{_VGG}dtd/download/dtd-r1.0.1.tar.gz", "fff73e5086ae6bdbea199a49dfb8a4c1", "dtd/labels")
_SCENES = remote(
    "http://vision.princeton.edu/projects/2010/SUN/SUN397.tar.gz", "8ca2778205c41d23104230ba66911c7a", "SUN397"
)
_COUNTRIES = remote(f"{_CLIP}country211.tgz", "84988d7644798601126c29e9877aab6a", "country211")
_SENTENCES = remote(f"{_CLIP}rendered-sst2.tgz", "2384d08e9dcfa4bd55b324e610496ee5", "rendered-sst2")
_CHARACTERS = remote(
    "https://raw.githubusercontent.com/brendenlake/omniglot/master/python/images_background.zip",
    "68d2efa1b9178cc56df9314c21c6e718",
    "images_background",
)
_FLOWERS = (
    remote(f"{_VGG}flowers/102/102flowers.tgz", "52808999861908f626f3c1f4e79d11fa", "jpg"),
    remote(f"{_VGG}flowers/102/imagelabels.mat", "e0620be6f572b9609742df49c70aed4d"),
    remote(f"{_VGG}flowers/102/setid.mat", "a5357ecc9cb78c4bef273ce3793fc85c"),
)
_GERMAN_SIGNS = (
    remote(f"{_SIGNS}GTSRB_Final_Test_GT.zip", "fe31e9c9270bbcd7b84b7f21a9d9d9e5", "GT-final_test.csv", extra=True),
    remote(f"{_SIGNS}GTSRB_Final_Test_Images.zip", "c7e4e6327067d32654124b0fe9e82185", "GTSRB/Final_Test", extra=True),
    remote(f"{_SIGNS}GTSRB-Training_fixed.zip", "513f3c79a4c5141765e10e952eaa2478", "GTSRB/Training"),
)
# Its digest is that of its makers: torchvision has none.
_AIRCRAFT = remote(
    f"{_VGG}fgvc-aircraft/archives/fgvc-aircraft-2013b.tar.gz",
    "d4acdd33327262359767eeaa97a4f732",
    "fgvc-aircraft-2013b",
)
_CALTECH101 = remote(
    f"{_CALTECH}mzrjq-6wc02/files/caltech-101.zip",
    "3138e1922a9193bfa496528edbbc45d0",
    "101_ObjectCategories",
    inner="caltech-101/101_ObjectCategories.tar.gz",
)
_CALTECH256 = remote(
    f"{_CALTECH}nyy15-4j048/files/256_ObjectCategories.tar",
    "67b4f42ca05d46448c6bb8ecd2220f6d",
    "256_ObjectCategories",
)
_PLACES365 = (
    remote(f"{_PLACES}filelist_places365-standard.tar", "35a0585fee1fa656440f3ab298f8479c", "categories_places365.txt"),
    remote(f"{_PLACES}val_256.tar", "e27b17d8d44f4af9a78502beb927f808", "val_256", extra=True),
    Remote(
        "train_256_places365standard.tar",
        (f"{_PLACES}train_256_places365standard.tar",),
        "md5:53ca1c756c3d1e7809517cc47c5561c5",
        "data_256_standard",
        packed_as="data_256",
    ),
)
_CARS = (
    _put("devkit"),
    _put("cars_train"),
    _put("cars_test_annos_withlabels.mat", extra=True),
    _put("cars_test", extra=True),
)
_CELEBRITIES = (
    _put("list_attr_celeba.txt"),
    _put("list_eval_partition.txt"),
    _put("img_align_celeba.zip", "img_align_celeba", "md5:00d2c5bc6d35e252742224ab0c1e8fcb"),
)
_PEOPLE = (
    _put("lfw-names.txt"),
    _put("people.txt"),
    _put("lfw-funneled.tgz", "lfw_funneled", "md5:1b42dfed7d15c9b2dd63d5e5840c86ad"),
)
_TEN_THINGS = split_names(
    "tench, English springer, cassette player, chain saw, church, French horn, garbage truck, gas pump, golf ball, parachute"
)

PHOTOGRAPHS: dict[str, KnownSet] = {
    "EuroSAT": KnownSet("folder", "eurosat", (_LAND,), 94_280_567, 95_000_000),
    "Imagenette": KnownSet("folder", "", (_IMAGENETTE,), 99_003_388, 101_000_000, _TEN_THINGS),
    "Food101": KnownSet("list", "", (_FOOD,), 4_996_278_331, 5_100_000_000),
    "Flowers102": KnownSet("list", "flowers-102", _FLOWERS, 344_878_000, 347_000_000),
    "OxfordIIITPet": KnownSet("list", "oxford-iiit-pet", PETS, PETS_BYTES, 850_000_000),
    "DTD": KnownSet("list", "dtd", (_TEXTURES,), 625_239_812, 640_000_000),
    "GTSRB": KnownSet("list", "gtsrb", _GERMAN_SIGNS, 276_600_000, 290_000_000),
    "FGVCAircraft": KnownSet("list", "", (_AIRCRAFT,), 2_753_340_328, 2_800_000_000),
    "Caltech101": KnownSet("list", "caltech101", (_CALTECH101,), 137_414_764, 290_000_000),
    "Caltech256": KnownSet("list", "caltech256", (_CALTECH256,), 1_183_006_720, 1_200_000_000),
    "SUN397": KnownSet("list", "", (_SCENES,), 39_077_296_924, 39_500_000_000),
    "Country211": KnownSet("folder", "", (_COUNTRIES,), 11_300_000_000, 11_400_000_000),
    "RenderedSST2": KnownSet("folder", "", (_SENTENCES,), 131_000_000, 140_000_000),
    "ImageNet": KnownSet(
        "folder",
        "imagenet",
        (_put("train"),),
        0,
        by_hand="Get ILSVRC2012_img_train.tar and ILSVRC2012_img_val.tar from https://image-net.org/challenges/LSVRC/2012, which asks "
        "for a registration, and unpack them as torchvision does, into train and val with a folder for each class "
        "(train/n01440764, ...), in",
    ),
    "Places365": KnownSet("list", "places365", _PLACES365, 24_700_000_000, 29_000_000_000),
    "StanfordCars": KnownSet(
        "list",
        "stanford_cars",
        _CARS,
        0,
        by_hand="Its makers offer it no more: get copies of car_devkit.tgz, cars_train.tgz, cars_test.tgz and "
        "cars_test_annos_withlabels.mat elsewhere, for example at Kaggle, and unpack the archives in",
    ),
    "INaturalist2017": _inaturalist(
        186_000_000_000,
        190_000_000_000,
        _species("2017", "train_val_images.tar.gz", "7c784ea5e424efaec655bd392f87301f"),
    ),
    "INaturalist2018": _inaturalist(
        120_000_000_000, 122_000_000_000, _species("2018", "train_val2018.tar.gz", "b1c6952ce38f31868cc50ea72d066cc3")
    ),
    "INaturalist2019": _inaturalist(
        82_000_000_000, 84_000_000_000, _species("2019", "train_val2019.tar.gz", "c60a6e2962c9b8ccbd458d12c8582644")
    ),
    "INaturalist2021": _inaturalist(
        232_400_000_000,
        240_000_000_000,
        _SPECIES_2021,
        _species("2021", "train.tar.gz", "e0526d53c7f7b2e3167b2b43bb2690ed", "2021_train"),
    ),
    "INaturalist2021Mini": _inaturalist(
        50_400_000_000,
        52_000_000_000,
        _SPECIES_2021,
        _species("2021", "train_mini.tar.gz", "db6ed8330e634445efc8fec83ae81442", "2021_train_mini"),
    ),
    "CelebA": KnownSet(
        "faces",
        "celeba",
        _CELEBRITIES,
        0,
        1_750_000_000,
        by_hand="Get img_align_celeba.zip, list_attr_celeba.txt and list_eval_partition.txt from "
        "https://mmlab.ie.cuhk.edu.hk/projects/CelebA.html, which keeps them at Google Drive, and put them into",
    ),
    "LFWPeople": KnownSet(
        "list",
        "lfw-py",
        _PEOPLE,
        0,
        250_000_000,
        by_hand="Get lfw-funneled.tgz, people.txt and lfw-names.txt from a copy of http://vis-www.cs.umass.edu/lfw, which "
        "offers them no more, and put them into",
    ),
    "Omniglot": KnownSet("list", "omniglot-py", (_CHARACTERS,), 9_464_212, 80_000_000),
}
