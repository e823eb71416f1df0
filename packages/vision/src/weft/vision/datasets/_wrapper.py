"""Data sets whose samples are tensors that know what they are, for the transforms of the second version."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Sequence
from typing import Any

import weft
from weft.vision import tv_tensors
from weft.vision.datasets._coco_masks import decode_segmentation
from weft.vision.datasets.vision import VisionDataset

Wrapper = Callable[[int, Any], Any]
Factory = Callable[[Any, Any], Wrapper]

VOC_CATEGORIES = (
    "__background__ aeroplane bicycle bird boat bottle bus car cat chair cow diningtable dog horse motorbike person "
    "pottedplant sheep sofa train tvmonitor"
).split()
KITTI_CATEGORIES = "Car Van Truck Pedestrian Person_sitting Cyclist Tram Misc DontCare".split()


def wrap_dataset_for_transforms_v2(dataset: Any, target_keys: Collection[str] | str | None = None) -> Any:
    """Return a data set with the samples of another, in which masks, boxes and videos are `tv_tensors`.

    Its transforms are called after that, so that they treat a picture and its target alike. Data sets of classes alone
    are returned with samples as they are.

    Parameters
    ----------
    dataset : VisionDataset
        One of weft's, or of a class derived from them.
    target_keys : collection of str or "all", optional
        Which entries the target has, where it is a dict: of `CocoDetection`, `VOCDetection`, `Kitti` and `WIDERFace`.
        By default those that one trains with: "boxes" and "labels", of COCO "image_id" too, of WIDERFace all.

    Returns
    -------
    An object of the class of ``dataset`` and of a wrapper; what the wrapper has not is the data set's.

    Raises
    ------
    TypeError
        If the data set is no `VisionDataset`, or none that it is known how to wrap.
    ValueError
        If ``target_keys`` has a name that the data set has not, or the targets are not dicts.
    RuntimeError
        If the data set was made with targets that have no tensor for them, such as polygons.

    Examples
    --------
    >>> from weft.vision.datasets import FakeData, wrap_dataset_for_transforms_v2
    >>> wrap_dataset_for_transforms_v2(FakeData())
    Traceback (most recent call last):
        ...
    TypeError: wrap_dataset_for_transforms_v2: it is not known what the samples of FakeData are; wrap them yourself
    """
    is_collection = isinstance(target_keys, Collection) and all(isinstance(key, str) for key in target_keys)
    if not (target_keys is None or target_keys == "all" or (is_collection and not isinstance(target_keys, str))):
        raise ValueError(
            "wrap_dataset_for_transforms_v2: target_keys must be None, 'all' or a collection of str; "
            f"got {target_keys!r}"
        )
    name = f"Wrapped{type(dataset).__name__}"
    return type(name, (WrappedDataset, type(dataset)), {})(dataset, target_keys)


class WrappedDataset:
    """The samples of a data set as `wrap_dataset_for_transforms_v2` returns them."""

    def __init__(self, dataset: Any, target_keys: Any) -> None:
        self._dataset = dataset
        self._target_keys = target_keys
        self._wrapper = _factory_of(dataset, target_keys)(dataset, target_keys)
        for name in ("transform", "target_transform", "transforms"):  # called here, after the samples are wrapped
            setattr(self, name, getattr(dataset, name))
            setattr(dataset, name, None)

    def __getattr__(self, name: str) -> Any:
        if name == "_dataset":  # while it is unpickled
            raise AttributeError(name)
        return getattr(self._dataset, name)

    def __getitem__(self, index: int) -> Any:
        sample = self._wrapper(index, self._dataset[index])
        transforms: Any = self.transforms
        return sample if transforms is None else transforms(*sample)

    def __len__(self) -> int:
        return len(self._dataset)

    def __reduce__(self) -> Any:
        dataset = copy.copy(self._dataset)
        for name in ("transform", "target_transform", "transforms"):
            setattr(dataset, name, getattr(self, name))
        return wrap_dataset_for_transforms_v2, (dataset, self._target_keys)


def _factory_of(dataset: Any, target_keys: Any) -> Factory:
    """Return what makes the wrapper of a data set, by the first of its classes that is known."""
    name = type(dataset).__name__
    if not isinstance(dataset, VisionDataset):
        raise TypeError(f"wrap_dataset_for_transforms_v2: the data set must be a VisionDataset; got {name}")
    known = next((each.__name__ for each in type(dataset).__mro__ if _is_known(each)), None)
    if known is None:
        raise TypeError(
            f"wrap_dataset_for_transforms_v2: it is not known what the samples of {name} are; wrap them yourself"
        )
    if target_keys is not None and known not in _WITH_KEYS:
        raise ValueError(
            f"wrap_dataset_for_transforms_v2: target_keys are for {', '.join(_WITH_KEYS)}; the data set is of {known}"
        )
    return _FACTORIES[known]


def _is_known(dataset_class: type) -> bool:
    return dataset_class.__name__ in _FACTORIES and dataset_class.__module__.startswith("weft.vision.datasets.")


# Wrappers by kind of target -------------------------------------------------------------------------------


def _as_it_is(dataset: Any, target_keys: Any) -> Wrapper:
    return lambda index, sample: sample


def _segmentation(dataset: Any, target_keys: Any) -> Wrapper:
    return lambda index, sample: (sample[0], tv_tensors.Mask(sample[1]))


def _video(dataset: Any, target_keys: Any) -> Wrapper:
    if dataset.video_clips.output_format == "THWC":
        raise RuntimeError(
            f"wrap_dataset_for_transforms_v2: {type(dataset).__name__} must have output_format='TCHW', as "
            "transforms need it; it has 'THWC'"
        )
    return lambda index, sample: (tv_tensors.Video(sample[0]), *sample[1:])


def _caltech101(dataset: Any, target_keys: Any) -> Wrapper:
    _refuse(dataset, {"annotation"} & set(dataset.target_type))
    return _as_it_is(dataset, target_keys)


def _sbd(dataset: Any, target_keys: Any) -> Wrapper:
    _refuse(dataset, {"boundaries"} & {dataset.mode})
    return _segmentation(dataset, target_keys)


def _celeba(dataset: Any, target_keys: Any) -> Wrapper:
    _refuse(dataset, {"attr", "landmarks"} & set(dataset.target_type))
    return _by_type(dataset.target_type, {"bbox": lambda box, picture: _boxes(box, picture, "XYWH")})


def _oxford_iiit_pet(dataset: Any, target_keys: Any) -> Wrapper:
    return _by_type(dataset._target_types, {"segmentation": lambda mask, picture: tv_tensors.Mask(mask)})


def _cityscapes(dataset: Any, target_keys: Any) -> Wrapper:
    _refuse(dataset, {"polygon", "color"} & set(dataset.target_type))
    kinds = {
        "instance": lambda mask, picture: _instances(tv_tensors.Mask(mask)),
        "semantic": lambda mask, picture: tv_tensors.Mask(mask),
    }
    return _by_type(dataset.target_type, kinds)


def _refuse(dataset: Any, unsupported: set[str]) -> None:
    """Raise if the data set has targets that no tensor stands for."""
    if unsupported:
        raise RuntimeError(
            f"wrap_dataset_for_transforms_v2: {type(dataset).__name__} with the target "
            f"{', '.join(sorted(unsupported))} is not supported; make it with another, or wrap the samples yourself"
        )


def _by_type(target_types: Sequence[str], kinds: dict[str, Callable[[Any, Any], Any]]) -> Wrapper:
    """Wrap a target, or each of a tuple, by its type; the others are left as they are."""

    def wrap(index: int, sample: Any) -> Any:
        picture, target = sample
        if target is None:
            return sample
        targets = target if isinstance(target, (tuple, list)) else [target]
        wrapped = [
            kinds[kind](item, picture) if kind in kinds else item
            for kind, item in zip(target_types, targets, strict=True)
        ]
        return picture, wrapped[0] if len(wrapped) == 1 else tuple(wrapped)

    return wrap


def _instances(mask: Any) -> dict[str, Any]:
    """Return a mask of each instance, and the classes: an instance's number is 1000 times its class, and more."""
    numbers = mask.unique()
    return {
        "masks": tv_tensors.Mask(mask[0] == numbers.reshape(-1, 1, 1)),
        "labels": weft.where(numbers >= 1000, numbers // 1000, numbers),
    }


# Wrappers of dicts ----------------------------------------------------------------------------------------


def _coco(dataset: Any, target_keys: Any) -> Wrapper:
    available = {"segmentation", "area", "iscrowd", "image_id", "bbox", "category_id", "boxes", "masks", "labels"}
    keys = _chosen(target_keys, available, {"image_id", "boxes", "labels"})

    def wrap(index: int, sample: Any) -> Any:
        picture, annotations = sample
        number = dataset.ids[index]
        if not annotations:
            return picture, {"image_id": number}
        columns = _columns(annotations)
        made = {
            "image_id": lambda: number,
            "boxes": lambda: _boxes(columns["bbox"], picture, "XYWH"),
            "masks": lambda: _coco_masks(columns["segmentation"], picture),
            "labels": lambda: weft.tensor(columns["category_id"]),
        }
        return picture, _dict(keys, made, columns)

    return wrap


def _coco_masks(segmentations: Any, picture: Any) -> Any:
    masks = [weft.from_numpy(decode_segmentation(each, picture.height, picture.width)) for each in segmentations]
    return tv_tensors.Mask(weft.stack(masks))


def _voc_detection(dataset: Any, target_keys: Any) -> Wrapper:
    keys = _chosen(target_keys, {"annotation", "boxes", "labels"}, {"boxes", "labels"})

    def wrap(index: int, sample: Any) -> Any:
        picture, target = sample
        columns = _columns(target["annotation"]["object"])
        sides = [[int(box[side]) for side in ("xmin", "ymin", "xmax", "ymax")] for box in columns["bndbox"]]
        made = {
            "boxes": lambda: _boxes(sides, picture),
            "labels": lambda: weft.tensor([VOC_CATEGORIES.index(name) for name in columns["name"]]),
        }
        return picture, _dict(keys, made, target)

    return wrap


def _kitti(dataset: Any, target_keys: Any) -> Wrapper:
    available = set("type truncated occluded alpha bbox dimensions location rotation_y boxes labels".split())
    keys = _chosen(target_keys, available, {"boxes", "labels"})

    def wrap(index: int, sample: Any) -> Any:
        picture, objects = sample
        if objects is None:
            return sample
        columns = _columns(objects)
        made = {
            "boxes": lambda: _boxes(columns["bbox"], picture),
            "labels": lambda: weft.tensor([KITTI_CATEGORIES.index(name) for name in columns["type"]]),
        }
        return picture, _dict(keys, made, columns)

    return wrap


def _widerface(dataset: Any, target_keys: Any) -> Wrapper:
    available = {"bbox", "blur", "expression", "illumination", "occlusion", "pose", "invalid"}
    keys = _chosen(target_keys, available, available)

    def wrap(index: int, sample: Any) -> Any:
        picture, faces = sample
        if faces is None:
            return sample
        return picture, _dict(keys, {"bbox": lambda: _boxes(faces["bbox"], picture, "XYWH")}, faces)

    return wrap


def _chosen(target_keys: Any, available: set[str], default: set[str]) -> set[str]:
    """Return which entries the target is to have."""
    if target_keys is None:
        return default
    keys = available if target_keys == "all" else set(target_keys)
    if keys - available:
        raise ValueError(
            f"wrap_dataset_for_transforms_v2: there are no target_keys {sorted(keys - available)}; there are "
            f"{sorted(available)}"
        )
    return keys


def _dict(keys: set[str], made: dict[str, Callable[[], Any]], given: dict[str, Any]) -> dict[str, Any]:
    """Return the entries of a target: those that are made, and those that are given."""
    order = [*made, *(key for key in sorted(keys) if key not in made)]
    return {key: made[key]() if key in made else given[key] for key in order if key in keys}


def _columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Return a list of dicts as a dict of lists."""
    names = {name: None for row in rows for name in row}
    return {name: [row[name] for row in rows if name in row] for name in names}


def _boxes(boxes: Any, picture: Any, format: str = "XYXY") -> Any:
    """Return boxes in a picture, by their corners."""
    from weft.vision.transforms.v2.functional import convert_bounding_box_format

    size = (picture.height, picture.width)
    found = tv_tensors.BoundingBoxes(boxes, format=format, canvas_size=size)  # type: ignore[arg-type]
    if format == "XYXY":
        return found
    return convert_bounding_box_format(found, new_format=tv_tensors.BoundingBoxFormat.XYXY)


_FACTORIES: dict[str, Factory] = {
    **dict.fromkeys("Caltech256 CIFAR10 CIFAR100 ImageNet MNIST FashionMNIST GTSRB".split(), _as_it_is),
    **dict.fromkeys("DatasetFolder ImageFolder Imagenette CocoCaptions".split(), _as_it_is),
    "Caltech101": _caltech101,
    "VOCSegmentation": _segmentation,
    "SBDataset": _sbd,
    **dict.fromkeys("HMDB51 Kinetics UCF101".split(), _video),
    "CelebA": _celeba,
    "OxfordIIITPet": _oxford_iiit_pet,
    "Cityscapes": _cityscapes,
    "CocoDetection": _coco,
    "VOCDetection": _voc_detection,
    "Kitti": _kitti,
    "WIDERFace": _widerface,
}
_WITH_KEYS = ("CocoDetection", "VOCDetection", "Kitti", "WIDERFace")
