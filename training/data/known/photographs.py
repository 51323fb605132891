"""Sets of photographs: in class folders, or with lists that say what each shows."""

from __future__ import annotations

from training.data.download import Remote
from training.data.known.flowers import FLOWERS
from training.data.known.row import KnownSet

_FLOWERS = "https://www.robots.ox.ac.uk/~vgg/data/flowers/102/"
_SIGNS = "https://sid.erda.dk/public/archives/daaeac0d7ce1152aea9b61d9f1e19370/"
_CLIP = "https://openaipublic.azureedge.net/clip/data/"
_PETS = "https://www.robots.ox.ac.uk/~vgg/data/pets/data/"
_PLACES = "http://data.csail.mit.edu/places/places365/"
_SPECIES = "https://ml-inat-competition-datasets.s3.amazonaws.com/"


def _one(address: str, digest: str, makes: str = "", *, inner: str = "", extra: bool = False) -> Remote:
    return Remote(address.rpartition("/")[2], (address,), digest, makes, inner, extra)


def _put(name: str, makes: str = "", digest: str = "", *, extra: bool = False) -> Remote:
    """What only a person can get."""
    return Remote(name, (), digest, makes, extra=extra)


def _species(year: str, name: str, digest: str, version: str, *, extra: bool = False) -> Remote:
    packed_as = name.removesuffix(".tar.gz")
    return Remote(f"{version}.tgz", (f"{_SPECIES}{year}/{name}",), f"md5:{digest}", version, "", extra, packed_as)


_SPECIES_2021 = _species("2021", "val.tar.gz", "f6f6e0e242e3d4c9569ba56400938afc", "2021_valid", extra=True)

PETS = (
    _one(f"{_PETS}images.tar.gz", "md5:5c4f3ee8e5d25df40f4fd59a7f44e54c", "images"),
    _one(f"{_PETS}annotations.tar.gz", "md5:95a8c909bbe2e81eed6a22bccdf3f68f", "annotations"),
)
PETS_BYTES = 811_092_049

PHOTOGRAPHS: dict[str, KnownSet] = {
    "EuroSAT": KnownSet(
        "folder",
        "eurosat",
        (
            _one(
                "https://huggingface.co/datasets/torchgeo/eurosat/resolve/"
                "c877bcd43f099cd0196738f714544e355477f3fd/EuroSAT.zip",
                "md5:c8fa014336c82ac7804f0398fcb19387",
                "2750",
            ),
        ),
        94_280_567,
        unpacked=95_000_000,
    ),
    "Imagenette": KnownSet(
        "folder",
        "",
        (
            _one(
                "https://s3.amazonaws.com/fast-ai-imageclas/imagenette2-160.tgz",
                "md5:e793b78cc4c9e9a4ccc0c1155377a412",
                "imagenette2-160",
            ),
        ),
        99_003_388,
        (
            "tench",
            "English springer",
            "cassette player",
            "chain saw",
            "church",
            "French horn",
            "garbage truck",
            "gas pump",
            "golf ball",
            "parachute",
        ),
        101_000_000,
    ),
    "Food101": KnownSet(
        "list",
        "",
        (
            _one(
                "http://data.vision.ee.ethz.ch/cvl/food-101.tar.gz",
                "md5:85eeb15f3717b99a5da872d97d918f87",
                "food-101",
            ),
        ),
        4_996_278_331,
        unpacked=5_100_000_000,
    ),
    "Flowers102": KnownSet(
        "list",
        "flowers-102",
        (
            _one(f"{_FLOWERS}102flowers.tgz", "md5:52808999861908f626f3c1f4e79d11fa", "jpg"),
            _one(f"{_FLOWERS}imagelabels.mat", "md5:e0620be6f572b9609742df49c70aed4d"),
            _one(f"{_FLOWERS}setid.mat", "md5:a5357ecc9cb78c4bef273ce3793fc85c"),
        ),
        344_878_000,
        FLOWERS,
        unpacked=347_000_000,
    ),
    "OxfordIIITPet": KnownSet("list", "oxford-iiit-pet", PETS, PETS_BYTES, unpacked=850_000_000),
    "DTD": KnownSet(
        "list",
        "dtd",
        (
            _one(
                "https://www.robots.ox.ac.uk/~vgg/data/dtd/download/dtd-r1.0.1.tar.gz",
                "md5:fff73e5086ae6bdbea199a49dfb8a4c1",
                "dtd/labels",
            ),
        ),
        625_239_812,
        unpacked=640_000_000,
    ),
    "GTSRB": KnownSet(
        "list",
        "gtsrb",
        (
            _one(
                f"{_SIGNS}GTSRB_Final_Test_GT.zip",
                "md5:fe31e9c9270bbcd7b84b7f21a9d9d9e5",
                "GT-final_test.csv",
                extra=True,
            ),
            _one(
                f"{_SIGNS}GTSRB_Final_Test_Images.zip",
                "md5:c7e4e6327067d32654124b0fe9e82185",
                "GTSRB/Final_Test",
                extra=True,
            ),
            _one(f"{_SIGNS}GTSRB-Training_fixed.zip", "md5:513f3c79a4c5141765e10e952eaa2478", "GTSRB/Training"),
        ),
        276_600_000,
        unpacked=290_000_000,
    ),
    "FGVCAircraft": KnownSet(
        "list",
        "",
        (
            _one(
                "https://www.robots.ox.ac.uk/~vgg/data/fgvc-aircraft/archives/fgvc-aircraft-2013b.tar.gz",
                "md5:d4acdd33327262359767eeaa97a4f732",  # that of its makers: torchvision has none
                "fgvc-aircraft-2013b",
            ),
        ),
        2_753_340_328,
        unpacked=2_800_000_000,
    ),
    "Caltech101": KnownSet(
        "list",
        "caltech101",
        (
            _one(
                "https://data.caltech.edu/records/mzrjq-6wc02/files/caltech-101.zip",
                "md5:3138e1922a9193bfa496528edbbc45d0",
                "101_ObjectCategories",
                inner="caltech-101/101_ObjectCategories.tar.gz",
            ),
        ),
        137_414_764,
        unpacked=290_000_000,
    ),
    "Caltech256": KnownSet(
        "list",
        "caltech256",
        (
            _one(
                "https://data.caltech.edu/records/nyy15-4j048/files/256_ObjectCategories.tar",
                "md5:67b4f42ca05d46448c6bb8ecd2220f6d",
                "256_ObjectCategories",
            ),
        ),
        1_183_006_720,
        unpacked=1_200_000_000,
    ),
    "SUN397": KnownSet(
        "list",
        "",
        (
            _one(
                "http://vision.princeton.edu/projects/2010/SUN/SUN397.tar.gz",
                "md5:8ca2778205c41d23104230ba66911c7a",
                "SUN397",
            ),
        ),
        39_077_296_924,
        unpacked=39_500_000_000,
    ),
    "Country211": KnownSet(
        "folder",
        "",
        (_one(f"{_CLIP}country211.tgz", "md5:84988d7644798601126c29e9877aab6a", "country211"),),
        11_300_000_000,
        unpacked=11_400_000_000,
    ),
    "RenderedSST2": KnownSet(
        "folder",
        "",
        (_one(f"{_CLIP}rendered-sst2.tgz", "md5:2384d08e9dcfa4bd55b324e610496ee5", "rendered-sst2"),),
        131_000_000,
        unpacked=140_000_000,
    ),
    "ImageNet": KnownSet(
        "folder",
        "imagenet",
        (_put("train"),),
        0,
        by_hand="Get ILSVRC2012_img_train.tar and ILSVRC2012_img_val.tar from https://image-net.org/challenges/LSVRC/2012, which asks "
        "for a registration, and unpack them as torchvision does, into train and val with a folder for each class "
        "(train/n01440764, ...), in",
    ),
    "Places365": KnownSet(
        "list",
        "places365",
        (
            _one(
                f"{_PLACES}filelist_places365-standard.tar",
                "md5:35a0585fee1fa656440f3ab298f8479c",
                "categories_places365.txt",
            ),
            _one(f"{_PLACES}val_256.tar", "md5:e27b17d8d44f4af9a78502beb927f808", "val_256", extra=True),
            Remote(
                "train_256_places365standard.tar",
                (f"{_PLACES}train_256_places365standard.tar",),
                "md5:53ca1c756c3d1e7809517cc47c5561c5",
                "data_256_standard",
                packed_as="data_256",
            ),
        ),
        24_700_000_000,
        unpacked=29_000_000_000,
    ),
    "StanfordCars": KnownSet(
        "cars",
        "stanford_cars",
        (
            _put("devkit"),
            _put("cars_train"),
            _put("cars_test_annos_withlabels.mat", extra=True),
            _put("cars_test", extra=True),
        ),
        0,
        by_hand="Its makers offer it no more: get copies of car_devkit.tgz, cars_train.tgz, cars_test.tgz and "
        "cars_test_annos_withlabels.mat elsewhere, for example at Kaggle, and unpack the archives in",
    ),
    "INaturalist2017": KnownSet(
        "list",
        "inaturalist",
        (_species("2017", "train_val_images.tar.gz", "7c784ea5e424efaec655bd392f87301f", "2017"),),
        186_000_000_000,
        unpacked=190_000_000_000,
    ),
    "INaturalist2018": KnownSet(
        "list",
        "inaturalist",
        (_species("2018", "train_val2018.tar.gz", "b1c6952ce38f31868cc50ea72d066cc3", "2018"),),
        120_000_000_000,
        unpacked=122_000_000_000,
    ),
    "INaturalist2019": KnownSet(
        "list",
        "inaturalist",
        (_species("2019", "train_val2019.tar.gz", "c60a6e2962c9b8ccbd458d12c8582644", "2019"),),
        82_000_000_000,
        unpacked=84_000_000_000,
    ),
    "INaturalist2021": KnownSet(
        "list",
        "inaturalist",
        (_SPECIES_2021, _species("2021", "train.tar.gz", "e0526d53c7f7b2e3167b2b43bb2690ed", "2021_train")),
        232_400_000_000,
        unpacked=240_000_000_000,
    ),
    "INaturalist2021Mini": KnownSet(
        "list",
        "inaturalist",
        (_SPECIES_2021, _species("2021", "train_mini.tar.gz", "db6ed8330e634445efc8fec83ae81442", "2021_train_mini")),
        50_400_000_000,
        unpacked=52_000_000_000,
    ),
    "CelebA": KnownSet(
        "faces",
        "celeba",
        (
            _put("list_attr_celeba.txt"),
            _put("list_eval_partition.txt"),
            _put("img_align_celeba.zip", "img_align_celeba", "md5:00d2c5bc6d35e252742224ab0c1e8fcb"),
        ),
        0,
        unpacked=1_750_000_000,
        by_hand="Get img_align_celeba.zip, list_attr_celeba.txt and list_eval_partition.txt from "
        "https://mmlab.ie.cuhk.edu.hk/projects/CelebA.html, which keeps them at Google Drive, and put them into",
    ),
    "LFWPeople": KnownSet(
        "list",
        "lfw-py",
        (
            _put("lfw-names.txt"),
            _put("people.txt"),
            _put("lfw-funneled.tgz", "lfw_funneled", "md5:1b42dfed7d15c9b2dd63d5e5840c86ad"),
        ),
        0,
        unpacked=250_000_000,
        by_hand="Get lfw-funneled.tgz, people.txt and lfw-names.txt from a copy of http://vis-www.cs.umass.edu/lfw, which "
        "offers them no more, and put them into",
    ),
    "Omniglot": KnownSet(
        "list",
        "omniglot-py",
        (
            _one(
                "https://raw.githubusercontent.com/brendenlake/omniglot/master/python/images_background.zip",
                "md5:68d2efa1b9178cc56df9314c21c6e718",
                "images_background",
            ),
        ),
        9_464_212,
        unpacked=80_000_000,
    ),
}
