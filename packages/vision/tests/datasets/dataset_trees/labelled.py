"""Pictures with a class each."""

import json
import pickle
import zipfile
from pathlib import Path

import numpy as np

from dataset_trees._cases import picture, text, tree

WNIDS = ("n01440764", "n02102040")


@tree("ImageFolder", 5)
def image_folder(root: Path) -> None:
    for name in ("cat/1.png", "cat/2.jpg", "cat/more/3.png", "dog/4.bmp", "dog/5.PNG"):
        picture(root / name)
    text(root / "dog" / "notes.txt", "no picture")


def scipy_io():
    import scipy.io

    return scipy.io


@tree("Caltech101", 3)
@tree("Caltech101", 3, needs="scipy", target_type=["category", "annotation"])
def caltech101(root: Path) -> None:
    folder = root / "caltech101"
    picture(folder / "101_ObjectCategories" / "BACKGROUND_Google" / "image_0001.jpg")
    for category, annotations, count in (("Faces", "Faces_2", 1), ("crab", "crab", 2)):
        for number in range(1, count + 1):
            picture(folder / "101_ObjectCategories" / category / f"image_{number:04d}.jpg")
            path = folder / "Annotations" / annotations / f"annotation_{number:04d}.mat"
            path.parent.mkdir(parents=True, exist_ok=True)
            scipy_io().savemat(path, {"obj_contour": np.arange(6.0).reshape(2, 3) + number})


@tree("Caltech256", 3)
def caltech256(root: Path) -> None:
    folder = root / "caltech256" / "256_ObjectCategories"
    for name in ("001.ak47/001_0001", "001.ak47/001_0002", "002.american-flag/002_0001"):
        picture(folder / f"{name}.jpg")


@tree("CLEVRClassification", 2)
@tree("CLEVRClassification", 1, split="test")
def clevr(root: Path) -> None:
    folder = root / "clevr" / "CLEVR_v1.0"
    for name in ("train/CLEVR_train_000000", "train/CLEVR_train_000001", "test/CLEVR_test_000000"):
        picture(folder / "images" / f"{name}.png")
    scenes = [{"image_filename": f"CLEVR_train_{k:06d}.png", "objects": [{}] * (k + 3)} for k in range(2)]
    text(folder / "scenes" / "CLEVR_train_scenes.json", json.dumps({"scenes": scenes}))


@tree("Country211", 3, split="valid")
def country211(root: Path) -> None:
    for name in ("AD/1.jpg", "AD/2.jpg", "ZA/1.jpg"):
        picture(root / "country211" / "valid" / name)


@tree("DTD", 3, split="val", partition=2)
def dtd(root: Path) -> None:
    folder = root / "dtd" / "dtd"
    names = ("zigzagged/zigzagged_0001.jpg", "banded/banded_0002.jpg", "banded/banded_0001.jpg")
    for name in names:
        picture(folder / "images" / name)
    text(folder / "labels" / "val2.txt", *names)


@tree("EuroSAT", 3)
def eurosat(root: Path) -> None:
    for name in ("AnnualCrop/AnnualCrop_1.jpg", "Forest/Forest_1.jpg", "Forest/Forest_2.jpg"):
        picture(root / "eurosat" / "2750" / name)


@tree("FGVCAircraft", 2)
@tree("FGVCAircraft", 2, split="test", annotation_level="manufacturer")
def fgvc_aircraft(root: Path) -> None:
    folder = root / "fgvc-aircraft-2013b" / "data"
    for name in ("0034309", "0034958"):
        picture(folder / "images" / f"{name}.jpg")
    text(folder / "variants.txt", "707-320", "Boeing 717")
    text(folder / "manufacturers.txt", "Airbus", "Boeing")
    text(folder / "images_variant_trainval.txt", "0034309 Boeing 717", "0034958 707-320")
    text(folder / "images_manufacturer_test.txt", "0034958 Airbus", "0034309 Boeing")


@tree("Flowers102", 2, needs="scipy")
@tree("Flowers102", 3, needs="scipy", split="test")
def flowers102(root: Path) -> None:
    folder = root / "flowers-102"
    for number in range(1, 4):
        picture(folder / "jpg" / f"image_{number:05d}.jpg")
    scipy_io().savemat(folder / "imagelabels.mat", {"labels": np.array([77, 1, 102], np.uint8)})
    ids = {"trnid": np.array([3, 1]), "valid": np.array([2, 3]), "tstid": np.array([2, 3, 1])}
    scipy_io().savemat(folder / "setid.mat", ids)


@tree("Food101", 3, split="test")
def food101(root: Path) -> None:
    names = {"waffles": ["waffles/1"], "apple_pie": ["apple_pie/7", "apple_pie/5"]}
    for name in (*names["waffles"], *names["apple_pie"]):
        picture(root / "food-101" / "images" / f"{name}.jpg")
    text(root / "food-101" / "meta" / "test.json", json.dumps(names))


@tree("GTSRB", 3)
@tree("GTSRB", 2, split="test")
def gtsrb(root: Path) -> None:
    folder = root / "gtsrb"
    for name in ("00000/00000_00000", "00000/00000_00001", "00013/00000_00000"):
        picture(folder / "GTSRB" / "Training" / f"{name}.ppm")
    for name in ("00000", "00001"):
        picture(folder / "GTSRB" / "Final_Test" / "Images" / f"{name}.ppm")
    head = "Filename;Width;Height;Roi.X1;Roi.Y1;Roi.X2;Roi.Y2;ClassId"
    text(folder / "GT-final_test.csv", head, "00000.ppm;8;6;1;1;7;5;16", "00001.ppm;8;6;1;1;7;5;1")


@tree("ImageNet", 3)
@tree("ImageNet", 2, split="val")
def imagenet(root: Path) -> None:
    for name in (f"train/{WNIDS[0]}/1", f"train/{WNIDS[0]}/2", f"train/{WNIDS[1]}/3", f"val/{WNIDS[0]}/4"):
        picture(root / f"{name}.JPEG")
    picture(root / "val" / WNIDS[1] / "5.JPEG")
    meta = ({WNIDS[0]: ("tench", "Tinca tinca"), WNIDS[1]: ("English springer",)}, list(WNIDS))
    # A file of torch.save is a zip archive with a pickle.
    with zipfile.ZipFile(root / "meta.bin", "w") as archive:
        archive.writestr("meta/data.pkl", pickle.dumps(meta, protocol=2))
        archive.writestr("meta/version", "3\n")
        archive.writestr("meta/byteorder", "little")


@tree("Imagenette", 3)
@tree("Imagenette", 1, size="160px", split="val")
def imagenette(root: Path) -> None:
    for name in (f"{WNIDS[0]}/1", f"{WNIDS[0]}/2", f"{WNIDS[1]}/1"):
        picture(root / "imagenette2" / "train" / f"{name}.jpeg")
    picture(root / "imagenette2-160" / "val" / WNIDS[1] / "1.jpeg")


@tree("INaturalist", 3)
@tree("INaturalist", 3, target_type=["full", "phylum", "genus"])
@tree("INaturalist", 3, version="2018", target_type=["super", "full"])
@tree("INaturalist", 2, version="2017", target_type="super")
def inaturalist(root: Path) -> None:
    species = (
        "00000_Animalia_Annelida_Clitellata_Haplotaxida_Lumbricidae_Lumbricus_terrestris",
        "00001_Animalia_Chordata_Aves_Passeriformes_Turdidae_Turdus_merula",
    )
    for name in (f"{species[0]}/a", f"{species[0]}/b", f"{species[1]}/c"):
        picture(root / "2021_train" / f"{name}.jpg")
    for name in ("Aves/1/a", "Aves/0/b", "Plantae/2/c"):
        picture(root / "2018" / f"{name}.jpg")
    for name in ("Aves/Turdus merula/a", "Plantae/Urtica dioica/b"):
        picture(root / "2017" / f"{name}.jpg")


@tree("LFWPeople", 6)
@tree("LFWPeople", 3, split="test", image_set="original")
@tree("LFWPairs", 8)
@tree("LFWPairs", 2, split="train", image_set="deepfunneled")
def lfw(root: Path) -> None:
    folder = root / "lfw-py"
    people = {"Aaron_Eckhart": 1, "Ann_Lee": 2, "Zico": 3}
    for alignment in ("lfw", "lfw_funneled", "lfw-deepfunneled"):
        for name, count in people.items():
            for number in range(1, count + 1):
                picture(folder / alignment / name / f"{name}_{number:04d}.jpg")
    for name in ("lfw.tgz", "lfw-funneled.tgz", "lfw-deepfunneled.tgz"):
        (folder / name).touch()
    rows = [f"{name}\t{count}" for name, count in people.items()]
    text(folder / "lfw-names.txt", *rows)
    text(folder / "people.txt", 2, 1, rows[2], 2, *rows[:2])
    text(folder / "peopleDevTest.txt", 2, *rows[:2])
    same, other = "Zico\t1\t3", "Aaron_Eckhart\t1\tAnn_Lee\t2"
    again = "Ann_Lee\t1\t2"
    text(folder / "pairs.txt", "2\t2", same, again, other, other, again, same, other, other)
    text(folder / "pairsDevTrain.txt", 1, same, other)


@tree("Omniglot", 3)
@tree("Omniglot", 1, background=False)
def omniglot(root: Path) -> None:
    folder = root / "omniglot-py"
    for name in ("Greek/character01/0394_01", "Greek/character02/0395_01", "Latin/character01/0641_01"):
        picture(folder / "images_background" / f"{name}.png", channels=1)
    picture(folder / "images_evaluation" / "Tengwar" / "character01" / "1.png", channels=1)
    for name in ("images_background.zip", "images_evaluation.zip"):
        (folder / name).touch()


@tree("Places365", 3)
@tree("Places365", 2, split="test", small=True)
def places365(root: Path) -> None:
    text(root / "categories_places365.txt", "/a/airfield 0", "/z/zen_garden 1")
    text(root / "places365_train_standard.txt", "/a/airfield/1.jpg 0", "/z/zen_garden/2.jpg 1", "/a/airfield/3.jpg 0")
    for name in ("a/airfield/1", "z/zen_garden/2", "a/airfield/3"):
        picture(root / "data_large_standard" / f"{name}.jpg")
    text(root / "places365_test.txt", "Places365_test_1.jpg", "Places365_test_2.jpg")
    for number in (1, 2):
        picture(root / "test_256" / f"Places365_test_{number}.jpg")


@tree("RenderedSST2", 3, split="val")
def rendered_sst2(root: Path) -> None:
    for name in ("negative/1", "negative/2", "positive/1"):
        picture(root / "rendered-sst2" / "valid" / f"{name}.png")


@tree("StanfordCars", 2, needs="scipy")
@tree("StanfordCars", 2, needs="scipy", split="test")
def stanford_cars(root: Path) -> None:
    folder = root / "stanford_cars"
    fields = [("fname", "O"), ("class", "O")]
    for part, names in (("train", ("00001.jpg", "00002.jpg")), ("test", ("00003.jpg", "00004.jpg"))):
        for name in names:
            picture(folder / f"cars_{part}" / name)
        rows = np.array([(name, 2 - number) for number, name in enumerate(names)], dtype=fields)
        target = folder / ("devkit/cars_train_annos.mat" if part == "train" else "cars_test_annos_withlabels.mat")
        target.parent.mkdir(exist_ok=True)
        scipy_io().savemat(target, {"annotations": rows})
    classes = np.array(["AM General Hummer SUV 2000", "Acura RL Sedan 2012"], dtype=object)
    scipy_io().savemat(folder / "devkit" / "cars_meta.mat", {"class_names": classes})


@tree("SUN397", 3)
def sun397(root: Path) -> None:
    folder = root / "SUN397"
    text(folder / "ClassName.txt", "/a/abbey", "/c/church/indoor", "/c/church/outdoor")
    for name in ("a/abbey/sun_a", "c/church/outdoor/sun_b", "c/church/indoor/sun_c"):
        picture(folder / f"{name}.jpg")


@tree("FER2013", 2)
@tree("FER2013", 2, split="test")
def fer2013(root: Path) -> None:
    pixels = " ".join(str(value % 256) for value in range(48 * 48))
    text(root / "fer2013" / "train.csv", "emotion,pixels", f'0,"{pixels}"', f'6,"{pixels}"')
    text(root / "fer2013" / "test.csv", "pixels", f'"{pixels}"', f'"{pixels}"')


@tree("FER2013", 1)
@tree("FER2013", 2, split="test")
def fer2013_icml(root: Path) -> None:
    pixels = " ".join(str(value % 256) for value in range(48 * 48))
    rows = [f'{number},{usage},"{pixels}"' for number, usage in enumerate(("Training", "PublicTest", "PrivateTest"))]
    text(root / "fer2013" / "icml_face_data.csv", "emotion, Usage, pixels", *rows)
