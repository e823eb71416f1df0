"""Stereo matching: pictures of two cameras beside each other, and how far each pixel is displaced."""

from __future__ import annotations

import itertools
import json
import os
import random
import shutil
from glob import glob
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from PIL import Image

from weft.vision.datasets._flow_formats import read_pfm
from weft.vision.datasets._published import Archive, open_picture
from weft.vision.datasets.utils import StrPath, verify_str_arg
from weft.vision.datasets.vision import Transform, VisionDataset

Array = np.ndarray[Any, Any]
Pairs = list[tuple[str, str | None]]


class StereoMatchingDataset(VisionDataset):
    """Base of the data sets of stereo matching.

    Samples are (left picture, right picture, disparity), with a mask of the valid pixels as a fourth if the data set
    has one. Pictures are PIL's of mode "RGB"; the disparity is a float array of shape (1, H, W), how far to the left a
    pixel of the left picture stands in the right one, in pixels; None in a test part.

    ``transforms`` is called with pairs, for left and right: (pictures, disparities, masks), and returns the same.
    """

    _has_built_in_disparity_mask: ClassVar[bool] = False

    def __init__(self, root: StrPath, transforms: Transform | None = None) -> None:
        super().__init__(root)
        self.transforms = transforms
        self._images: Pairs = []
        self._disparities: Pairs = []

    def _scan_pairs(self, left: str | Path, right: str | Path | None = None) -> Pairs:
        """Return the paths that fit two patterns, in pairs; without a second one each with None."""
        lefts = _scan(left)
        if right is None:
            return [(path, None) for path in lefts]
        rights = _scan(right)
        if len(lefts) != len(rights):
            raise ValueError(
                f"{type(self).__name__}: there are {len(lefts)} files {left}, but {len(rights)} files {right}; each "
                "must have its fellow"
            )
        return list(zip(lefts, rights, strict=True))

    def _without_disparities(self) -> Pairs:
        return [("", None)] * len(self._images)

    def _read_img(self, file_path: str) -> Image.Image:
        return open_picture(file_path, "RGB")

    def _read_disparity(self, file_path: str) -> tuple[Array, Array | None]:
        """Return (disparity, mask or None)."""
        return np.abs(read_pfm(file_path)), None

    def __getitem__(self, index: int) -> Any:
        """Return (left picture, right picture, disparity), or with the mask as a fourth."""
        paths = self._images[index]
        images = tuple(self._read_img(path) for path in paths if path is not None)
        read = [self._read_disparity(path) if path else (None, None) for path in self._disparities[index]]
        disparities, masks = tuple(disparity for disparity, _ in read), tuple(mask for _, mask in read)
        if self.transforms is not None:
            images, disparities, masks = self.transforms(images, disparities, masks)
        if self._has_built_in_disparity_mask or masks[0] is not None:
            return (*images, disparities[0], masks[0])
        return (*images, disparities[0])

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self._images)


def _scan(pattern: str | Path) -> list[str]:
    found = sorted(glob(str(pattern)))
    if not found:
        raise FileNotFoundError(f"there is no {pattern}; put the data set's folder there as its publishers have it")
    return found


def _gray(path: str, dtype: Any = None) -> Array:
    """Return a picture of one channel as an array of shape (1, H, W)."""
    return np.asarray(open_picture(path), dtype=dtype)[None]


def _passes(name: str) -> tuple[str, ...]:
    """Return which renderings are meant: one, or both."""
    return ("clean", "final") if name == "both" else (name,)


class CarlaStereo(StereoMatchingDataset):
    """Carla: rendered streets, in ``root/carla-highres``.

    Parameters
    ----------
    root : path
    transforms : callable, optional
        Called with (pictures, disparities, masks), each a pair.

    References
    ----------
    G. Yang et al.: Hierarchical deep stereo matching on high-resolution images. arXiv:1912.06704.
    """

    def __init__(self, root: StrPath, transforms: Transform | None = None) -> None:
        super().__init__(root, transforms)
        scenes = Path(self.root) / "carla-highres" / "trainingF" / "*"
        self._images = self._scan_pairs(scenes / "im0.png", scenes / "im1.png")
        self._disparities = self._scan_pairs(scenes / "disp0GT.pfm", scenes / "disp1GT.pfm")


class _KittiStereo(StereoMatchingDataset):
    """KITTI: pictures of streets; disparities are in PNGs of 16 bits, in parts of 256."""

    _has_built_in_disparity_mask = True

    def _read_disparity(self, file_path: str) -> tuple[Array, Array | None]:
        return _gray(file_path) / 256.0, None


class Kitti2012Stereo(_KittiStereo):
    """KITTI 2012: 194 pairs to train with and 195 to test, in ``root/Kitti2012``.

    Samples have a mask, which is None: where nothing was measured the disparity is 0.

    Parameters
    ----------
    root : path
    split : {"train", "test"}
    transforms : callable, optional
        Called with (pictures, disparities, masks), each a pair.

    References
    ----------
    A. Geiger, P. Lenz, R. Urtasun: Are we ready for autonomous driving? CVPR 2012.
    """

    def __init__(self, root: StrPath, split: str = "train", transforms: Transform | None = None) -> None:
        super().__init__(root, transforms)
        part = Path(self.root) / "Kitti2012" / f"{verify_str_arg(split, 'split', ('train', 'test'))}ing"
        self._images = self._scan_pairs(part / "colored_0" / "*_10.png", part / "colored_1" / "*_10.png")
        is_train = split == "train"
        self._disparities = self._scan_pairs(part / "disp_noc" / "*.png") if is_train else self._without_disparities()


class Kitti2015Stereo(_KittiStereo):
    """KITTI 2015: 200 pairs to train with and 200 to test, in ``root/Kitti2015``.

    Samples have a mask, which is None: where nothing was measured the disparity is 0.

    Parameters
    ----------
    root : path
    split : {"train", "test"}
    transforms : callable, optional
        Called with (pictures, disparities, masks), each a pair.

    References
    ----------
    M. Menze, A. Geiger: Object scene flow for autonomous vehicles. CVPR 2015.
    """

    def __init__(self, root: StrPath, split: str = "train", transforms: Transform | None = None) -> None:
        super().__init__(root, transforms)
        part = Path(self.root) / "Kitti2015" / f"{verify_str_arg(split, 'split', ('train', 'test'))}ing"
        self._images = self._scan_pairs(part / "image_2" / "*.png", part / "image_3" / "*.png")
        self._disparities = (
            self._scan_pairs(part / "disp_occ_0" / "*.png", part / "disp_occ_1" / "*.png")
            if split == "train"
            else self._without_disparities()
        )


class Middlebury2014Stereo(StereoMatchingDataset):
    """Middlebury 2014: scenes in rooms, of six million pixels, in ``root/Middlebury2014``.

    Samples have a mask.

    Parameters
    ----------
    root : path
    split : {"train", "test", "additional"}
    calibration : {"perfect", "imperfect", "both"}, or None for the test part
    use_ambient_views : bool, default False
        Take the right picture by chance, by Python's `random`, with another light or exposure.
    transforms : callable, optional
        Called with (pictures, disparities, masks), each a pair.
    download : bool, default False
        Fetch the scenes that are missing.

    References
    ----------
    D. Scharstein et al.: High-resolution stereo datasets with subpixel-accurate ground truth. GCPR 2014.
    """

    splits: ClassVar[dict[str, list[str]]] = {
        "train": "Adirondack Jadeplant Motorcycle Piano Pipes Playroom Playtable Recycle Shelves Vintage".split(),
        "additional": (
            "Backpack Bicycle1 Cable Classroom1 Couch Flowers Mask Shopvac Sticks Storage Sword1 Sword2 Umbrella"
        ).split(),
        "test": (
            "Plants Classroom2E Classroom2 Australia DjembeL CrusadeP Crusade Hoops Bicycle2 Staircase Newkuba "
            "AustraliaP Djembe Livingroom Computer"
        ).split(),
    }
    _has_built_in_disparity_mask = True
    _address = "https://vision.middlebury.edu/stereo/"

    def __init__(
        self,
        root: StrPath,
        split: str = "train",
        calibration: str | None = "perfect",
        use_ambient_views: bool = False,
        transforms: Transform | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transforms)
        self.split = verify_str_arg(split, "split", tuple(self.splits))
        self.use_ambient_views = use_ambient_views
        if calibration:
            verify_str_arg(calibration, "calibration", ("perfect", "imperfect", "both"))
        if (split == "test") != (not calibration):
            expected = "None" if split == "test" else "'perfect', 'imperfect' or 'both'"
            raise ValueError(
                f"Middlebury2014Stereo: calibration must be {expected} where split is {split!r}; got {calibration!r}"
            )
        part = Path(self.root) / "Middlebury2014" / split
        if download:
            self.download()
        scenes = tuple(self.splits[split])
        if not part.is_dir() or not any(name.startswith(scenes) for name in os.listdir(part)):
            raise FileNotFoundError(
                f"Middlebury2014Stereo: there are no scenes in {part}; put them there, or pass download=True"
            )
        for ending in self._endings(calibration):
            folders = part / f"*{ending}"
            self._images += self._scan_pairs(folders / "im0.png", folders / "im1.png")
            if split != "test":
                self._disparities += self._scan_pairs(folders / "disp0.pfm", folders / "disp1.pfm")
        if split == "test":
            self._disparities = self._without_disparities()

    @staticmethod
    def _endings(calibration: str | None) -> list[str]:
        """Return the endings of the scenes' names."""
        if calibration is None:
            return [""]
        return [f"-{each}" for each in (("perfect", "imperfect") if calibration == "both" else (calibration,))]

    def download(self) -> None:
        """Fetch the scenes of this part that are missing, and unpack them."""
        part = Path(self.root) / "Middlebury2014" / self.split
        if self.split == "test":
            self._download_test(part)
            return
        for scene, ending in itertools.product(self.splits[self.split], self._endings("both")):
            if not (part / f"{scene}{ending}").exists():
                Archive(f"{self._address}data/scenes2014/zip/{scene}{ending}.zip").unpack_into(part)

    def _download_test(self, part: Path) -> None:
        if all((part / scene).exists() for scene in self.splits["test"]):
            return
        Archive(f"{self._address}submit3/zip/MiddEval3-data-F.zip").unpack_into(part.parent)
        part.mkdir(exist_ok=True)
        for scene in (part.parent / "MiddEval3" / "testF").iterdir():
            shutil.move(scene, part)
        shutil.rmtree(part.parent / "MiddEval3")

    def _read_img(self, file_path: str) -> Image.Image:
        path = Path(file_path)
        if path.name == "im1.png" and self.use_ambient_views:
            others = [path.with_name(name) for name in ("im1E.png", "im1L.png")]  # another exposure, another light
            path = random.choice([*(other for other in others if other.exists()), path])
        return super()._read_img(str(path))

    def _read_disparity(self, file_path: str) -> tuple[Array, Array | None]:
        disparity = np.abs(read_pfm(file_path))
        disparity[np.isinf(disparity)] = 0  # not known
        return disparity, disparity[0] > 0


class CREStereo(StereoMatchingDataset):
    """CREStereo: rendered things, in ``root/CREStereo``.

    Samples have a mask, which is None.

    Parameters
    ----------
    root : path
    transforms : callable, optional
        Called with (pictures, disparities, masks), each a pair.

    References
    ----------
    J. Li et al.: Practical stereo matching via cascaded recurrent network with adaptive correlation. arXiv:2203.11483.
    """

    _has_built_in_disparity_mask = True

    def __init__(self, root: StrPath, transforms: Transform | None = None) -> None:
        super().__init__(root, transforms)
        for name in ("shapenet", "reflective", "tree", "hole"):
            folder = Path(self.root) / "CREStereo" / name
            self._images += self._scan_pairs(folder / "*_left.jpg", folder / "*_right.jpg")
            self._disparities += self._scan_pairs(folder / "*_left.disp.png", folder / "*_right.disp.png")

    def _read_disparity(self, file_path: str) -> tuple[Array, Array | None]:
        return _gray(file_path, np.float32) / 32.0, None


class FallingThingsStereo(StereoMatchingDataset):
    """Falling Things: things of a household that fall, in ``root/FallingThings``.

    Parameters
    ----------
    root : path
    variant : {"single", "mixed", "both"}
        One thing in a picture, or several.
    transforms : callable, optional
        Called with (pictures, disparities, masks), each a pair.

    References
    ----------
    J. Tremblay, T. To, S. Birchfield: Falling things: a synthetic dataset for 3D object detection and pose estimation.
    arXiv:1804.06534.
    """

    _baseline = 6  # centimetres between the cameras; depths are in 1/100 of that unit

    def __init__(self, root: StrPath, variant: str = "single", transforms: Transform | None = None) -> None:
        super().__init__(root, transforms)
        verify_str_arg(variant, "variant", ("single", "mixed", "both"))
        scenes = {"single": "*/*", "mixed": "*"}
        for name in scenes if variant == "both" else (variant,):
            folders = Path(self.root) / "FallingThings" / name / scenes[name]
            self._images += self._scan_pairs(folders / "*.left.jpg", folders / "*.right.jpg")
            self._disparities += self._scan_pairs(folders / "*.left.depth.png", folders / "*.right.depth.png")

    def _read_disparity(self, file_path: str) -> tuple[Array, Array | None]:
        with open(Path(file_path).with_name("_camera_settings.json"), encoding="utf-8") as file:
            focal_length = json.load(file)["camera_settings"][0]["intrinsic_settings"]["fx"]
        return self._baseline * focal_length * 100 / _gray(file_path).astype(np.float32), None


class SceneFlowStereo(StereoMatchingDataset):
    """Scene Flow: rendered things, streets and monkeys, in ``root/SceneFlow``.

    Parameters
    ----------
    root : path
    variant : {"FlyingThings3D", "Driving", "Monkaa"}
    pass_name : {"clean", "final", "both"}
        Rendered with few effects or all.
    transforms : callable, optional
        Called with (pictures, disparities, masks), each a pair.

    References
    ----------
    N. Mayer et al.: A large dataset to train convolutional networks for disparity, optical flow, and scene flow
    estimation. arXiv:1512.02134.
    """

    def __init__(
        self,
        root: StrPath,
        variant: str = "FlyingThings3D",
        pass_name: str = "clean",
        transforms: Transform | None = None,
    ) -> None:
        super().__init__(root, transforms)
        scenes = {"FlyingThings3D": "*/*/*", "Driving": "*/*/*", "Monkaa": "*"}
        verify_str_arg(variant, "variant", tuple(scenes))
        verify_str_arg(pass_name, "pass_name", ("clean", "final", "both"))
        folder = Path(self.root) / "SceneFlow" / variant
        for name in _passes(pass_name):
            images = folder / f"frames_{name}pass" / scenes[variant]
            disparities = folder / "disparity" / scenes[variant]
            self._images += self._scan_pairs(images / "left" / "*.png", images / "right" / "*.png")
            self._disparities += self._scan_pairs(disparities / "left" / "*.pfm", disparities / "right" / "*.pfm")


class SintelStereo(StereoMatchingDataset):
    """MPI Sintel: pairs of a drawn film, in ``root/Sintel/training``.

    Samples have a mask of the pixels that both cameras see.

    Parameters
    ----------
    root : path
    pass_name : {"final", "clean", "both"}
        Rendered with all effects or few.
    transforms : callable, optional
        Called with (pictures, disparities, masks), each a pair.

    References
    ----------
    D. Butler et al.: A naturalistic open source movie for optical flow evaluation. ECCV 2012.
    """

    _has_built_in_disparity_mask = True

    def __init__(self, root: StrPath, pass_name: str = "final", transforms: Transform | None = None) -> None:
        super().__init__(root, transforms)
        verify_str_arg(pass_name, "pass_name", ("final", "clean", "both"))
        folder = Path(self.root) / "Sintel" / "training"
        for name in reversed(_passes(pass_name)):
            left, right = folder / f"{name}_left" / "*", folder / f"{name}_right" / "*"
            self._images += self._scan_pairs(left / "*.png", right / "*.png")
            self._disparities += self._scan_pairs(folder / "disparities" / "*" / "*.png")

    def _read_disparity(self, file_path: str) -> tuple[Array, Array | None]:
        pixels = np.asarray(open_picture(file_path), dtype=np.float32)
        disparity = pixels @ np.array([4, 2**-6, 2**-14], dtype=np.float32)  # a number in three bytes
        path = Path(file_path)
        valid = np.ones(disparity.shape, dtype=bool)
        for kind in ("occlusions", "outofframe"):
            mask = path.parent.parent.parent / kind / path.parent.name / path.name
            if not mask.exists():
                raise FileNotFoundError(f"SintelStereo: there is no {mask}, which belongs to {path}")
            valid &= np.asarray(open_picture(mask)) == 0
        return disparity[None], valid


class InStereo2k(StereoMatchingDataset):
    """InStereo2k: 2,050 pairs of rooms, in ``root/InStereo2k``.

    Parameters
    ----------
    root : path
    split : {"train", "test"}
    transforms : callable, optional
        Called with (pictures, disparities, masks), each a pair.

    References
    ----------
    W. Bao et al.: InStereo2K: a large real dataset for stereo matching in indoor scenes. 2020.
    """

    def __init__(self, root: StrPath, split: str = "train", transforms: Transform | None = None) -> None:
        super().__init__(root, transforms)
        folders = Path(self.root) / "InStereo2k" / verify_str_arg(split, "split", ("train", "test")) / "*"
        self._images = self._scan_pairs(folders / "left.png", folders / "right.png")
        self._disparities = self._scan_pairs(folders / "left_disp.png", folders / "right_disp.png")

    def _read_disparity(self, file_path: str) -> tuple[Array, Array | None]:
        return _gray(file_path, np.float32) / 1024.0, None


class ETH3DStereo(StereoMatchingDataset):
    """ETH3D: 27 grey pairs to train with and 20 to test, in ``root/ETH3D``.

    Samples have a mask of the pixels that both cameras see.

    Parameters
    ----------
    root : path
    split : {"train", "test"}
    transforms : callable, optional
        Called with (pictures, disparities, masks), each a pair.

    References
    ----------
    T. Schoeps et al.: A multi-view stereo benchmark with high-resolution images and multi-camera videos. CVPR 2017.
    """

    _has_built_in_disparity_mask = True

    def __init__(self, root: StrPath, split: str = "train", transforms: Transform | None = None) -> None:
        super().__init__(root, transforms)
        verify_str_arg(split, "split", ("train", "test"))
        folder = Path(self.root) / "ETH3D"
        scenes = folder / ("two_view_training" if split == "train" else "two_view_test") / "*"
        self._images = self._scan_pairs(scenes / "im0.png", scenes / "im1.png")
        truth = folder / "two_view_training_gt" / "*" / "disp0GT.pfm"
        self._disparities = self._scan_pairs(truth) if split == "train" else self._without_disparities()

    def _read_disparity(self, file_path: str) -> tuple[Array, Array | None]:
        mask = open_picture(Path(file_path).with_name("mask0nocc.png"))
        return np.abs(read_pfm(file_path)), np.asarray(mask).astype(bool)
