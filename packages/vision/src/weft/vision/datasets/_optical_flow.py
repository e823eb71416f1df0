"""Optical flow: pairs of pictures, and how far each pixel moves from the one to the other."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any, ClassVar

from weft.utils.data import ConcatDataset
from weft.vision.datasets._flow_formats import read_flo, read_flow_png, read_pfm
from weft.vision.datasets._published import Loader, lines_of
from weft.vision.datasets.folder import default_loader
from weft.vision.datasets.utils import StrPath, verify_str_arg
from weft.vision.datasets.vision import Transform, VisionDataset

__all__ = ["HD1K", "FlyingChairs", "FlyingThings3D", "KittiFlow", "Sintel"]


class FlowDataset(VisionDataset):
    """Base of the data sets of optical flow.

    Samples are (picture, picture, flow), with a mask of the valid pixels as a fourth if the data set has one. The flow
    is a float32 array of shape (2, H, W): how far a pixel moves to the right and down; None in a test part.

    ``transforms`` is called with (picture, picture, flow, mask), where the mask may be None, and returns the same.
    """

    _has_builtin_flow_mask: ClassVar[bool] = False

    def __init__(self, root: StrPath, transforms: Transform | None = None, loader: Loader = default_loader) -> None:
        super().__init__(root)
        self.transforms = transforms
        self._loader = loader
        self._image_list: list[list[str]] = []
        self._flow_list: list[str] = []

    def _read_flow(self, path: str) -> Any:
        """Return the flow, or (flow, mask) if the data set has masks."""
        return read_flo(path)

    def _require_images(self) -> None:
        if not self._image_list:
            raise FileNotFoundError(
                f"{type(self).__name__}: there are no pictures in {self.root}; put the data set's folder there as its "
                "publishers have it"
            )

    def __getitem__(self, index: int) -> Any:
        """Return (picture, picture, flow), or with the mask as a fourth."""
        first, second = map(self._loader, self._image_list[index])
        flow = self._read_flow(self._flow_list[index]) if self._flow_list else None
        mask = None
        if self._has_builtin_flow_mask and flow is not None:
            flow, mask = flow
        if self.transforms is not None:
            first, second, flow, mask = self.transforms(first, second, flow, mask)
        with_mask = self._has_builtin_flow_mask or mask is not None
        return (first, second, flow, mask) if with_mask else (first, second, flow)

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self._image_list)

    def __rmul__(self, v: int) -> Any:
        """``3 * dataset``: the data set three times over, to mix several in a ratio."""
        return ConcatDataset([self] * v)


def _paths(folder: Path, pattern: str) -> list[str]:
    """Return the paths in a folder that fit a pattern, in order."""
    return sorted(map(str, folder.glob(pattern)))


def _neighbours(paths: list[str]) -> list[list[str]]:
    """Return each path with the next one."""
    return [list(pair) for pair in itertools.pairwise(paths)]


class Sintel(FlowDataset):
    """MPI Sintel: 1,041 pairs of frames of a drawn film.

    The files are in ``root/Sintel/training`` and ``test``.

    Parameters
    ----------
    root : path
    split : {"train", "test"}
    pass_name : {"clean", "final", "both"}
        Rendered with few effects or all.
    transforms : callable, optional
        Called with (picture, picture, flow, mask).
    loader : callable
        Makes a picture from a path; by default a PIL picture of mode "RGB".

    References
    ----------
    D. Butler et al.: A naturalistic open source movie for optical flow evaluation. ECCV 2012.
    """

    def __init__(
        self,
        root: StrPath,
        split: str = "train",
        pass_name: str = "clean",
        transforms: Transform | None = None,
        loader: Loader = default_loader,
    ) -> None:
        super().__init__(root, transforms, loader)
        verify_str_arg(split, "split", ("train", "test"))
        verify_str_arg(pass_name, "pass_name", ("clean", "final", "both"))
        part = Path(self.root) / "Sintel" / ("training" if split == "train" else "test")
        for name in ("clean", "final") if pass_name == "both" else (pass_name,):
            for scene in sorted(path.name for path in (part / name).iterdir()):
                self._image_list += _neighbours(_paths(part / name / scene, "*.png"))
                if split == "train":
                    self._flow_list += _paths(part / "flow" / scene, "*.flo")


class KittiFlow(FlowDataset):
    """KITTI 2015: 200 pairs of streets, with a flow where a laser measured it.

    Samples have a mask. The files are in ``root/KittiFlow/training`` and ``testing``.

    Parameters
    ----------
    root : path
    split : {"train", "test"}
    transforms : callable, optional
        Called with (picture, picture, flow, mask).
    loader : callable
        Makes a picture from a path; by default a PIL picture of mode "RGB".

    References
    ----------
    M. Menze, A. Geiger: Object scene flow for autonomous vehicles. CVPR 2015.
    """

    _has_builtin_flow_mask = True

    def __init__(
        self,
        root: StrPath,
        split: str = "train",
        transforms: Transform | None = None,
        loader: Loader = default_loader,
    ) -> None:
        super().__init__(root, transforms, loader)
        verify_str_arg(split, "split", ("train", "test"))
        part = Path(self.root) / "KittiFlow" / f"{split}ing"
        pairs = zip(_paths(part / "image_2", "*_10.png"), _paths(part / "image_2", "*_11.png"), strict=False)
        self._image_list = [list(pair) for pair in pairs]
        self._require_images()
        if split == "train":
            self._flow_list = _paths(part / "flow_occ", "*_10.png")

    def _read_flow(self, path: str) -> Any:
        return read_flow_png(path)


class FlyingChairs(FlowDataset):
    """22,872 pairs of chairs that fly before photos.

    The files are in ``root/FlyingChairs``: the folder ``data``, and ``FlyingChairs_train_val.txt``, which has 1 for a
    pair to train with and 2 for one to validate.

    Parameters
    ----------
    root : path
    split : {"train", "val"}
    transforms : callable, optional
        Called with (picture, picture, flow, mask).

    References
    ----------
    A. Dosovitskiy et al.: FlowNet: learning optical flow with convolutional networks. arXiv:1504.06852.
    """

    def __init__(self, root: StrPath, split: str = "train", transforms: Transform | None = None) -> None:
        super().__init__(root, transforms)
        verify_str_arg(split, "split", ("train", "val"))
        folder = Path(self.root) / "FlyingChairs"
        parts_file = folder / "FlyingChairs_train_val.txt"
        if not parts_file.exists():
            raise FileNotFoundError(
                f"FlyingChairs: there is no {parts_file}; fetch it from the data set's page, "
                "https://lmb.informatik.uni-freiburg.de/resources/datasets/FlyingChairs.en.html"
            )
        images, flows = _paths(folder / "data", "*.ppm"), _paths(folder / "data", "*.flo")
        wanted = "1" if split == "train" else "2"
        for index, (flow, part) in enumerate(zip(flows, lines_of(parts_file), strict=False)):
            if part == wanted:
                self._flow_list.append(flow)
                self._image_list.append(images[2 * index : 2 * index + 2])


class FlyingThings3D(FlowDataset):
    """40,302 pairs of things that fly through space, seen by two cameras.

    The files are in ``root/FlyingThings3D``: ``frames_cleanpass``, ``frames_finalpass`` and ``optical_flow``.

    Parameters
    ----------
    root : path
    split : {"train", "test"}
    pass_name : {"clean", "final", "both"}
        Rendered with few effects or all.
    camera : {"left", "right", "both"}
    transforms : callable, optional
        Called with (picture, picture, flow, mask).
    loader : callable
        Makes a picture from a path; by default a PIL picture of mode "RGB".

    References
    ----------
    N. Mayer et al.: A large dataset to train convolutional networks for disparity, optical flow, and scene flow
    estimation. arXiv:1512.02134.
    """

    def __init__(
        self,
        root: StrPath,
        split: str = "train",
        pass_name: str = "clean",
        camera: str = "left",
        transforms: Transform | None = None,
        loader: Loader = default_loader,
    ) -> None:
        super().__init__(root, transforms, loader)
        verify_str_arg(split, "split", ("train", "test"))
        verify_str_arg(pass_name, "pass_name", ("clean", "final", "both"))
        verify_str_arg(camera, "camera", ("left", "right", "both"))
        folder = Path(self.root) / "FlyingThings3D"
        passes = ("clean", "final") if pass_name == "both" else (pass_name,)
        cameras = ("left", "right") if camera == "both" else (camera,)
        for name, side, direction in itertools.product(passes, cameras, ("into_future", "into_past")):
            scenes = _paths(folder / f"frames_{name}pass" / split.upper(), "*/*")
            flow_scenes = _paths(folder / "optical_flow" / split.upper(), "*/*")
            for scene, flow_scene in zip(scenes, flow_scenes, strict=False):
                self._add_scene(Path(scene) / side, Path(flow_scene) / direction / side, direction)
        self._require_images()

    def _add_scene(self, images_folder: Path, flows_folder: Path, direction: str) -> None:
        """Add the pairs of a scene; the last flow of the future and the first of the past have no second picture."""
        flows = _paths(flows_folder, "*.pfm")
        pairs = _neighbours(_paths(images_folder, "*.png"))[: max(len(flows) - 1, 0)]
        into_future = direction == "into_future"
        self._image_list += pairs if into_future else [pair[::-1] for pair in pairs]
        self._flow_list += flows[:-1] if into_future else flows[1:]

    def _read_flow(self, path: str) -> Any:
        return read_pfm(path)[:2]  # the third channel is empty


class HD1K(FlowDataset):
    """HD1K: 1,047 pairs of streets, with a flow where it could be measured.

    Samples have a mask. The files are in ``root/hd1k``: ``hd1k_input``, ``hd1k_flow_gt`` and ``hd1k_challenge``.

    Parameters
    ----------
    root : path
    split : {"train", "test"}
    transforms : callable, optional
        Called with (picture, picture, flow, mask).
    loader : callable
        Makes a picture from a path; by default a PIL picture of mode "RGB".

    References
    ----------
    D. Kondermann et al.: The HCI benchmark suite: stereo and flow ground truth with uncertainties for urban autonomous
    driving. CVPR Workshops 2016.
    """

    _has_builtin_flow_mask = True
    _sequences: ClassVar[int] = 36

    def __init__(
        self,
        root: StrPath,
        split: str = "train",
        transforms: Transform | None = None,
        loader: Loader = default_loader,
    ) -> None:
        super().__init__(root, transforms, loader)
        verify_str_arg(split, "split", ("train", "test"))
        folder = Path(self.root) / "hd1k"
        if split == "train":
            for number in range(self._sequences):
                flows = _paths(folder / "hd1k_flow_gt" / "flow_occ", f"{number:06d}_*.png")[:-1]
                images = _paths(folder / "hd1k_input" / "image_2", f"{number:06d}_*.png")
                self._flow_list += flows
                self._image_list += _neighbours(images)[: len(flows)]
        else:
            challenge = folder / "hd1k_challenge" / "image_2"
            pairs = zip(_paths(challenge, "*10.png"), _paths(challenge, "*11.png"), strict=False)
            self._image_list = [list(pair) for pair in pairs]
        self._require_images()

    def _read_flow(self, path: str) -> Any:
        return read_flow_png(path)
