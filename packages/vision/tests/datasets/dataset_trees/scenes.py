"""Pictures with boxes, outlines, attributes or captions."""

import json
from pathlib import Path

import numpy as np
from PIL import Image

from dataset_trees._cases import noise, picture, text, tree
from dataset_trees.labelled import scipy_io


def mask(path: Path, pixels: np.ndarray, mode: str = "L") -> None:
    """Write a picture of numbers."""
    path.parent.mkdir(parents=True, exist_ok=True)
    image = Image.fromarray(pixels)
    if mode == "P":
        image = image.convert("P")
        image.putdata(pixels.ravel().tolist())
    image.save(path)


@tree("CelebA", 2)
@tree("CelebA", 2, split="valid", target_type=["identity", "bbox"])
@tree("CelebA", 6, split="all", target_type="landmarks")
@tree("CelebA", 2, split="test", target_type="bbox")
def celeba(root: Path) -> None:
    folder = root / "celeba"
    names = [f"{number:06d}.jpg" for number in range(1, 7)]
    for name in names:
        picture(folder / "img_align_celeba" / name, 10, 12)
    text(
        folder / "list_eval_partition.txt",
        *(f"{name} {part}" for name, part in zip(names, (0, 1, 0, 2, 1, 2), strict=True)),
    )
    text(folder / "identity_CelebA.txt", *(f"{name} {2880 + number}" for number, name in enumerate(names)))
    tables = {
        "list_attr_celeba.txt": ("Attractive Bald Male", "-1  1 -1"),
        "list_bbox_celeba.txt": ("image_id x_1 y_1 width height", "1    2  5   6"),
        "list_landmarks_align_celeba.txt": ("lefteye_x lefteye_y nose_x nose_y", "1 2  3  4"),
    }
    for name, (head, values) in tables.items():
        text(folder / name, len(names), head, *(f"{each}  {values}" for each in names))


@tree("Cityscapes", 3)
@tree("Cityscapes", 3, target_type=["semantic", "instance"])
@tree("Cityscapes", 3, target_type=["polygon", "color"])
@tree("Cityscapes", 1, split="train_extra", mode="coarse", target_type="semantic")
def cityscapes(root: Path) -> None:
    for split, mode, names in (
        (
            "train",
            "gtFine",
            ("aachen/aachen_000000_000019", "aachen/aachen_000001_000019", "bremen/bremen_000000_000019"),
        ),
        ("train_extra", "gtCoarse", ("nuernberg/nuernberg_000000_000001",)),
    ):
        for name in names:
            picture(root / "leftImg8bit" / split / f"{name}_leftImg8bit.png")
            stem = root / mode / split / f"{name}_{mode}"
            mask(Path(f"{stem}_labelIds.png"), noise(name, 6, 8, below=34).astype(np.uint8))
            instances = np.array([[7, 26001, 26002, 24000, 0, 7, 7, 26001]] * 6, np.uint16)
            mask(Path(f"{stem}_instanceIds.png"), instances)
            picture(Path(f"{stem}_color.png"), channels=4)
            text(Path(f"{stem}_polygons.json"), json.dumps({"imgHeight": 6, "imgWidth": 8, "objects": []}))


COCO_OBJECTS = [
    {"segmentation": [[1.0, 1.0, 6.5, 1.2, 5.0, 4.8]], "area": 9.6, "iscrowd": 0, "bbox": [1.0, 1.0, 5.5, 3.8]},
    {"segmentation": [[0, 0, 3, 0, 3, 3, 0, 3], [5, 2, 7, 2, 7, 5]], "area": 12.0, "iscrowd": 0, "bbox": [0, 0, 7, 5]},
    {"segmentation": {"counts": [7, 4, 2, 4, 31], "size": [6, 8]}, "area": 8, "iscrowd": 1, "bbox": [1, 1, 2, 4]},
]


@tree("CocoDetection", 3, root="images", annFile="{}/instances.json")
@tree("CocoCaptions", 3, root="images", annFile="{}/captions.json")
def coco(root: Path) -> None:
    images = [{"id": number, "file_name": f"{number:012d}.jpg", "height": 6, "width": 8} for number in (285, 139, 632)]
    for image in images:
        picture(root / "images" / image["file_name"])
    owners = (139, 285, 139)
    annotations = [
        {"id": 10 - number, "image_id": owner, "category_id": 18 + number, **content}
        for number, (owner, content) in enumerate(zip(owners, COCO_OBJECTS, strict=True))
    ]
    categories = [{"id": 18 + number, "name": f"thing{number}"} for number in range(3)]
    content = {"images": images, "annotations": annotations, "categories": categories}
    text(root / "instances.json", json.dumps(content))
    captions = [{"id": number, "image_id": owner, "caption": f"Nr. {number}"} for number, owner in enumerate(owners)]
    text(root / "captions.json", json.dumps({"images": images, "annotations": captions}))


@tree("Flickr8k", 2, root="images", ann_file="{}/captions.html")
def flickr8k(root: Path) -> None:
    rows = []
    for number in ("1007129816", "1000268201"):
        picture(root / "images" / f"{number}_e794419615.jpg")
        link = f'<a href="http://www.flickr.com/photos/x/{number}/">http://www.flickr.com/photos/x/{number}/</a>'
        rows += [f"<tr><td>{link}<br/>", f"<ul><li>One of {number} .\n<li>Two .</ul></td></tr>"]
    rows += ["<tr><td>Image Not Found</td><td><ul><li>Lost .</ul></td></tr>"]
    text(root / "captions.html", "<html><body><table>", *rows, "</table></body></html>")


@tree("Flickr30k", 2, root="images", ann_file="{}/results.token")
def flickr30k(root: Path) -> None:
    names = ("1000366164.jpg", "1000092795.jpg")
    for name in names:
        picture(root / "images" / name)
    text(root / "results.token", *(f"{name}#{number}\tCaption {number} ." for name in names for number in range(2)))


@tree("Kitti", 2)
@tree("Kitti", 2, train=False)
def kitti(root: Path) -> None:
    folder = root / "Kitti" / "raw"
    for name in ("000000", "000007"):
        picture(folder / "training" / "image_2" / f"{name}.png")
        picture(folder / "testing" / "image_2" / f"{name}.png")
        text(
            folder / "training" / "label_2" / f"{name}.txt",
            "Car 0.00 0 -1.58 1.21 0.43 6.52 5.10 1.65 1.67 3.64 -0.65 1.71 46.70 -1.59",
            "DontCare -1 -1 -10 0.0 1.0 4.0 3.0 -1 -1 -1 -1000 -1000 -1000 -10",
        )


@tree("OxfordIIITPet", 3)
@tree("OxfordIIITPet", 3, target_types=["segmentation", "category", "binary-category"])
@tree("OxfordIIITPet", 1, split="test", target_types="segmentation")
@tree("OxfordIIITPet", 3, target_types=[])
def oxford_iiit_pet(root: Path) -> None:
    folder = root / "oxford-iiit-pet"
    names = ("Abyssinian_100", "yorkshire_terrier_2", "american_bulldog_15", "Abyssinian_7")
    for name in names:
        picture(folder / "images" / f"{name}.jpg")
        mask(folder / "annotations" / "trimaps" / f"{name}.png", (noise(name, 6, 8, below=3) + 1).astype(np.uint8))
    rows = [
        f"{name} {breed} {species} 1" for name, breed, species in zip(names, (1, 3, 2, 1), (1, 2, 2, 1), strict=True)
    ]
    text(folder / "annotations" / "trainval.txt", *rows[:3])
    text(folder / "annotations" / "test.txt", rows[3])


@tree("SBDataset", 2, needs="scipy")
@tree("SBDataset", 1, needs="scipy", image_set="val", mode="segmentation")
def sbd(root: Path) -> None:
    from scipy.sparse import csc_array

    names = ("2008_000002", "2008_000003")
    (root / "cls").mkdir()
    for name in names:
        picture(root / "img" / f"{name}.jpg")
        boundaries = np.empty((20, 1), dtype=object)
        for number in range(20):
            boundaries[number, 0] = csc_array((noise(f"{name}{number}", 6, 8, below=9) == 0).astype(np.uint8))
        segmentation = noise(name, 6, 8, below=21).astype(np.uint8)
        content = {"Boundaries": boundaries, "Segmentation": segmentation}
        scipy_io().savemat(root / "cls" / f"{name}.mat", {"GTcls": content})
    text(root / "train.txt", *names)
    text(root / "val.txt", names[1])


@tree("SBU", 2, download=False)
def sbu(root: Path) -> None:
    folder = root / "dataset"
    for name in ("4385058960_b0f291553e.jpg", "4148984280_26e2c6d7a1.jpg"):
        picture(folder / name)
    names = ("4385058960_b0f291553e", "gone_1", "4148984280_26e2c6d7a1")
    text(
        folder / "SBU_captioned_photo_dataset_urls.txt",
        *(f"http://static.flickr.com/2723/{each}.jpg" for each in names),
    )
    text(folder / "SBU_captioned_photo_dataset_captions.txt", "a church", "a ghost", "a boat")
    (root / "SBUCaptionedPhotoDataset.tar.gz").touch()


@tree("VOCSegmentation", 2)
@tree("VOCDetection", 2)
@tree("VOCSegmentation", 1, year="2007", image_set="test")
@tree("VOCDetection", 1, year="2011", image_set="trainval")
def voc(root: Path) -> None:
    for year, image_set, names in (
        ("2012", "train", ("2007_000032", "2007_000039")),
        ("2007", "test", ("000001",)),
        ("2011", "trainval", ("2007_000027",)),
    ):
        folder = root / ("TrainVal/VOCdevkit" if year == "2011" else "VOCdevkit") / f"VOC{year}"
        for kind in ("Segmentation", "Main"):
            text(folder / "ImageSets" / kind / f"{image_set}.txt", *names)
        for name in names:
            picture(folder / "JPEGImages" / f"{name}.jpg")
            mask(folder / "SegmentationClass" / f"{name}.png", noise(name, 6, 8, below=21).astype(np.uint8), "P")
            objects = "".join(voc_object(each) for each in (("dog", "person") if year == "2012" else ("cat",)))
            size = "<size><width>8</width><height>6</height><depth>3</depth></size>"
            annotation = f"<annotation>\n<folder>VOC{year}</folder><source/>{size}{objects}</annotation>"
            text(folder / "Annotations" / f"{name}.xml", annotation)


def voc_object(name: str) -> str:
    box = "".join(
        f"<{side}>{value}</{side}>" for side, value in zip("xmin ymin xmax ymax".split(), (2, 1, 7, 5), strict=True)
    )
    return f"<object><name>{name}</name><truncated>0</truncated><bndbox>{box}</bndbox></object>"


@tree("WIDERFace", 3)
@tree("WIDERFace", 2, split="test")
@tree("WIDERFace", 1, split="val")
def wider_face(root: Path) -> None:
    folder = root / "widerface"
    names = [f"0--Parade/0_Parade_{number}.jpg" for number in (5, 465, 849)]
    for part, count in (("train", 3), ("val", 1), ("test", 2)):
        for name in names[:count]:
            picture(folder / f"WIDER_{part}" / "images" / name)
    one, two = "2 1 3 4 0 0 0 0 0 0", "1 1 2 2 2 0 0 2 0 1"
    lists = folder / "wider_face_split"
    text(lists / "wider_face_train_bbx_gt.txt", names[0], 1, one, names[1], 2, one, two, names[2], 0, "0 " * 9 + "0 ")
    text(lists / "wider_face_val_bbx_gt.txt", names[0], 1, two)
    text(lists / "wider_face_test_filelist.txt", *names[:2])
