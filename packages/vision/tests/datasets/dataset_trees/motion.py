"""Optical flow, stereo matching and videos."""

import json
import struct
import zlib
from itertools import product
from pathlib import Path

import numpy as np
from PIL import Image

from dataset_trees._cases import noise, picture, text, tree


def flo(path: Path, width: int = 8, height: int = 6) -> None:
    """Write a flow in Middlebury's format."""
    path.parent.mkdir(parents=True, exist_ok=True)
    values = (noise(path, height, width, 2) / 16).astype("<f4")
    path.write_bytes(b"PIEH" + struct.pack("<ii", width, height) + values.tobytes())


def pfm(path: Path, channels: int, width: int = 8, height: int = 6, big_endian: bool = False) -> None:
    """Write a portable float map."""
    path.parent.mkdir(parents=True, exist_ok=True)
    values = (noise(path.name, height, width, channels) / 16 - 8).astype(">f4" if big_endian else "<f4")
    head = f"{'PF' if channels == 3 else 'Pf'}\n{width} {height}\n{1.0 if big_endian else -1.0}\n"
    path.write_bytes(head.encode() + values.tobytes())


def png16(path: Path, pixels: np.ndarray) -> None:
    """Write a PNG of three channels of 16 bits; its rows have the filters 0 to 4 in turn."""
    path.parent.mkdir(parents=True, exist_ok=True)
    height, width, _ = pixels.shape
    plain = pixels.astype(">u2").view(np.uint8).reshape(height, width, 6).astype(np.int16)
    padded = np.pad(plain, ((1, 0), (1, 0), (0, 0)))
    left, up, corner = padded[1:, :-1], padded[:-1, 1:], padded[:-1, :-1]
    guesses = [np.zeros_like(plain), left, up, (left + up) // 2, paeth(left, up, corner)]
    rows = b"".join(bytes([y % 5]) + (plain[y] - guesses[y % 5][y]).astype(np.uint8).tobytes() for y in range(height))
    head = struct.pack(">IIBBBBB", width, height, 16, 2, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n"
        + b"".join(
            struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
            for name, data in chunks
        )
    )


def paeth(left: np.ndarray, up: np.ndarray, corner: np.ndarray) -> np.ndarray:
    guess = left + up - corner
    to_left, to_up, to_corner = abs(guess - left), abs(guess - up), abs(guess - corner)
    nearest_is_left = (to_left <= to_up) & (to_left <= to_corner)
    return np.where(nearest_is_left, left, np.where(to_up <= to_corner, up, corner))


def flow_png(path: Path) -> None:
    """Write a flow in KITTI's format."""
    pixels = noise(path.name, 6, 8, 3, below=2**16)
    pixels[..., 2] %= 2
    png16(path, pixels)


def gray16(path: Path, width: int = 8, height: int = 6) -> None:
    """Write a picture of one channel of 16 bits."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray((noise(path.name, height, width, below=2**16 - 1) + 1).astype(np.uint16)).save(path)


@tree("Sintel", 3)
@tree("Sintel", 6, pass_name="both")
@tree("Sintel", 1, split="test", pass_name="final")
def sintel(root: Path) -> None:
    for name, scene in product(("clean", "final"), ("alley_1", "market_2")):
        for number in range(1, 4 if scene == "alley_1" else 3):
            picture(root / "Sintel" / "training" / name / scene / f"frame_{number:04d}.png")
            if number > 1:
                flo(root / "Sintel" / "training" / "flow" / scene / f"frame_{number - 1:04d}.flo")
    for number in (1, 2):
        picture(root / "Sintel" / "test" / "final" / "cave_3" / f"frame_{number:04d}.png")


@tree("KittiFlow", 2)
@tree("KittiFlow", 2, split="test")
def kitti_flow(root: Path) -> None:
    for part, number in product(("training", "testing"), range(2)):
        folder = root / "KittiFlow" / part
        for frame in (10, 11):
            picture(folder / "image_2" / f"{number:06d}_{frame}.png")
        if part == "training":
            flow_png(folder / "flow_occ" / f"{number:06d}_10.png")


@tree("FlyingChairs", 2)
@tree("FlyingChairs", 1, split="val")
def flying_chairs(root: Path) -> None:
    folder = root / "FlyingChairs"
    for number in range(1, 4):
        for image in (1, 2):
            picture(folder / "data" / f"{number:05d}_img{image}.ppm")
        flo(folder / "data" / f"{number:05d}_flow.flo")
    text(folder / "FlyingChairs_train_val.txt", 1, 2, 1)


@tree("FlyingThings3D", 4)
@tree("FlyingThings3D", 16, pass_name="both", camera="both")
def flying_things(root: Path) -> None:
    folder = root / "FlyingThings3D"
    for scene, camera, number in product(("A/0000", "B/0001"), ("left", "right"), (6, 7)):
        for name in ("cleanpass", "finalpass"):
            picture(folder / f"frames_{name}" / "TRAIN" / scene / camera / f"{number:04d}.png")
        for direction, short in (("into_future", "Future"), ("into_past", "Past")):
            name = f"OpticalFlowInto{short}_{number:04d}_{camera[0].upper()}.pfm"
            pfm(folder / "optical_flow" / "TRAIN" / scene / direction / camera / name, channels=3)


@tree("HD1K", 3)
@tree("HD1K", 1, split="test")
def hd1k(root: Path) -> None:
    folder = root / "hd1k"
    for sequence, count in ((0, 3), (35, 2)):
        for number in range(count):
            name = f"{sequence:06d}_{number:04d}.png"
            picture(folder / "hd1k_input" / "image_2" / name)
            flow_png(folder / "hd1k_flow_gt" / "flow_occ" / name)
    for frame in (10, 11):
        picture(folder / "hd1k_challenge" / "image_2" / f"000000_{frame:04d}.png")


@tree("CarlaStereo", 2)
def carla(root: Path) -> None:
    for number in range(2):
        folder = root / "carla-highres" / "trainingF" / f"scene{number}"
        for side in range(2):
            picture(folder / f"im{side}.png")
            pfm(folder / f"disp{side}GT.pfm", channels=1, big_endian=bool(side))


@tree("Kitti2012Stereo", 2)
@tree("Kitti2012Stereo", 2, split="test")
@tree("Kitti2015Stereo", 2)
@tree("Kitti2015Stereo", 2, split="test")
def kitti_stereo(root: Path) -> None:
    for part, number in product(("training", "testing"), range(2)):
        for folder in (
            "Kitti2012/{}/colored_0",
            "Kitti2012/{}/colored_1",
            "Kitti2015/{}/image_2",
            "Kitti2015/{}/image_3",
        ):
            picture(root / folder.format(part) / f"{number:06d}_10.png")
        if part == "training":
            for folder in (
                "Kitti2012/training/disp_noc",
                "Kitti2015/training/disp_occ_0",
                "Kitti2015/training/disp_occ_1",
            ):
                gray16(root / folder / f"{number:06d}_10.png")


@tree("Middlebury2014Stereo", 2)
@tree("Middlebury2014Stereo", 3, calibration="both")
@tree("Middlebury2014Stereo", 1, split="test", calibration=None)
def middlebury(root: Path) -> None:
    folder = root / "Middlebury2014"
    for name in ("train/Adirondack-perfect", "train/Piano-perfect", "train/Piano-imperfect", "test/Plants"):
        for side in range(2):
            picture(folder / name / f"im{side}.png")
            if not name.startswith("test"):
                pfm(folder / name / f"disp{side}.pfm", channels=1)
        if name.endswith("perfect"):
            with open(folder / name / "disp0.pfm", "r+b") as file:  # where nothing is known
                file.seek(-4, 2)
                file.write(struct.pack("<f", float("inf")))


@tree("CREStereo", 4)
def crestereo(root: Path) -> None:
    for name, side in product(("shapenet", "reflective", "tree", "hole"), ("left", "right")):
        picture(root / "CREStereo" / name / f"0_{side}.jpg")
        picture(root / "CREStereo" / name / f"0_{side}.disp.png", channels=1)


@tree("FallingThingsStereo", 1)
@tree("FallingThingsStereo", 2, variant="both")
def falling_things(root: Path) -> None:
    for name in ("single/002_master_chef_can_16k/kitchen_0", "mixed/kitchen_0"):
        folder = root / "FallingThings" / name
        for side in ("left", "right"):
            picture(folder / f"000000.{side}.jpg")
            gray16(folder / f"000000.{side}.depth.png")
        settings = {"camera_settings": [{"intrinsic_settings": {"fx": 768.2}}]}
        text(folder / "_camera_settings.json", json.dumps(settings))


@tree("SceneFlowStereo", 1)
@tree("SceneFlowStereo", 2, variant="Monkaa", pass_name="both")
@tree("SceneFlowStereo", 1, variant="Driving", pass_name="final")
def scene_flow(root: Path) -> None:
    scenes = {
        "FlyingThings3D": "TRAIN/A/0000",
        "Driving": "15mm_focallength/scene_forwards/fast",
        "Monkaa": "a_rain_of_stones_x2",
    }
    for (variant, scene), side in product(scenes.items(), ("left", "right")):
        folder = root / "SceneFlow" / variant
        for name in ("clean", "final"):
            picture(folder / f"frames_{name}pass" / scene / side / "0006.png")
        pfm(folder / "disparity" / scene / side / "0006.pfm", channels=1)


@tree("SintelStereo", 2)
@tree("SintelStereo", 4, pass_name="both")
def sintel_stereo(root: Path) -> None:
    folder = root / "Sintel" / "training"
    for name, scene in product(("clean", "final"), ("alley_1", "cave_2")):
        for side in ("left", "right"):
            picture(folder / f"{name}_{side}" / scene / "frame_0001.png")
        picture(folder / "disparities" / scene / "frame_0001.png")
        for kind in ("occlusions", "outofframe"):
            path = folder / kind / scene / "frame_0001.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray((noise(f"{kind}{scene}", 6, 8, below=2) * 255).astype(np.uint8)).save(path)


@tree("InStereo2k", 2)
@tree("InStereo2k", 1, split="test")
def instereo2k(root: Path) -> None:
    for name in ("train/000000", "train/000001", "test/000860"):
        for side in ("left", "right"):
            picture(root / "InStereo2k" / name / f"{side}.png")
            gray16(root / "InStereo2k" / name / f"{side}_disp.png")


@tree("ETH3DStereo", 2)
@tree("ETH3DStereo", 1, split="test")
def eth3d(root: Path) -> None:
    folder = root / "ETH3D"
    for name in ("two_view_training/delivery_area_1l", "two_view_training/forest_1s", "two_view_test/lakeside_1l"):
        for side in range(2):
            picture(folder / name / f"im{side}.png", channels=1)
    for scene in ("delivery_area_1l", "forest_1s"):
        truth = folder / "two_view_training_gt" / scene
        pfm(truth / "disp0GT.pfm", channels=1)
        Image.fromarray((noise(scene, 6, 8, below=2) * 255).astype(np.uint8)).save(truth / "mask0nocc.png")


def video(path: Path, frames: int) -> None:
    """Write a stand-in for a video: an array of frames, which the tests' decoder reads."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as file:
        np.save(file, noise(path.name, frames, 6, 8, 3).astype(np.uint8))


CLIPS = {"frames_per_clip": 4, "step_between_clips": 2, "num_workers": 0}


@tree("UCF101", 5, annotation_path="{}/lists", root="videos", **CLIPS)
@tree("UCF101", 1, annotation_path="{}/lists", root="videos", train=False, output_format="TCHW", **CLIPS)
@tree("UCF101", 2, annotation_path="{}/lists", root="videos", frame_rate=8, **CLIPS)
def ucf101(root: Path) -> None:
    names = ("ApplyEyeMakeup/v_ApplyEyeMakeup_g08_c01.avi", "Archery/v_Archery_g01_c01.avi", "YoYo/v_YoYo_g25_c03.avi")
    for name, frames in zip(names, (7, 5, 9), strict=True):
        video(root / "videos" / name, frames)
    text(root / "lists" / "trainlist01.txt", f"{names[0]} 1", f"{names[2]} 101")
    text(root / "lists" / "testlist01.txt", names[1])


@tree("HMDB51", 3, annotation_path="{}/lists", root="videos", **CLIPS)
@tree("HMDB51", 1, annotation_path="{}/lists", root="videos", train=False, output_format="TCHW", **CLIPS)
def hmdb51(root: Path) -> None:
    for name, frames in (
        ("brush_hair/a.avi", 7),
        ("brush_hair/b.avi", 5),
        ("cartwheel/c.avi", 4),
        ("cartwheel/d.avi", 9),
    ):
        video(root / "videos" / name, frames)
    text(root / "lists" / "brush_hair_test_split1.txt", "a.avi 1 ", "b.avi 2 ")
    text(root / "lists" / "cartwheel_test_split1.txt", "c.avi 1 ", "d.avi 0 ")


@tree("Kinetics", 5, split="val", **CLIPS)
@tree("Kinetics", 5, split="val", output_format="THWC", **CLIPS)
def kinetics(root: Path) -> None:
    for name, frames in (("abseiling/x_000001_000011.mp4", 7), ("zumba/y_000002_000012.mp4", 9)):
        video(root / "val" / name, frames)
