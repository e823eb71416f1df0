"""Which kernel a functional calls, and which parts of a sample a transform transforms."""

import numpy as np
import pytest
from PIL import Image

import weft
from weft.vision import tv_tensors
from weft.vision.transforms import v2
from weft.vision.transforms.v2 import functional as F

BOXES = tv_tensors.BoundingBoxes([[0, 0, 2, 2]], format="XYXY", canvas_size=(4, 6))


def picture():
    return Image.fromarray(np.arange(24, dtype=np.uint8).reshape(4, 6))


def test_a_functional_returns_the_class_that_it_was_given():
    for inpt in (
        weft.rand(1, 4, 6),
        tv_tensors.Image(weft.rand(1, 4, 6)),
        tv_tensors.Video(weft.rand(2, 1, 4, 6)),
        tv_tensors.Mask(weft.rand(4, 6)),
        tv_tensors.KeyPoints([[1, 2]], canvas_size=(4, 6)),
        BOXES,
        picture(),
    ):
        assert type(F.horizontal_flip(inpt)) is type(inpt)
        assert F.get_size(F.resize(inpt, [2, 3])) == [2, 3]


def test_arguments_reach_kernels_by_position_and_by_name():
    image = weft.rand(3, 8, 8)
    assert weft.equal(F.crop(image, 1, 2, 3, 4), F.crop(image, width=4, height=3, left=2, top=1))
    with pytest.raises(TypeError):
        F.crop(image, 1, 2, 3, 4, 5)
    with pytest.raises(TypeError):
        F.crop(image, 1, 2, 3)
    with pytest.raises(TypeError):
        F.resize(image, 4, unknown=1)
    with pytest.raises(TypeError, match="<class 'str'>"):
        F.resize("image", 4)


class Points(tv_tensors.TVTensor):
    """A class of the user's."""


def test_kernels_are_registered_for_classes_of_the_users():
    seen = []

    @F.register_kernel(F.vertical_flip, Points)
    def flipped(inpt):
        seen.append(inpt)
        return inpt

    points = Points(weft.rand(3, 2))
    assert F.vertical_flip(points) is points
    assert v2.RandomVerticalFlip(p=1.0)(points) is points and len(seen) == 2
    with pytest.raises(ValueError, match="already has a kernel registered"):
        F.register_kernel("vertical_flip", Points)(flipped)
    with pytest.raises(TypeError):
        F.horizontal_flip(points)  # and not as the tensor that it is, too
    assert v2.RandomHorizontalFlip(p=1.0)(points) is points


@pytest.mark.parametrize(
    ("functional", "cls", "message"),
    [
        ("no_such", Points, "Could not find functional"),
        (len, Points, "Kernels can only be registered on functionals"),
        (F.resize, object, "Kernels can only be registered for subclasses"),
        (F.resize, tv_tensors.Image, "cannot be registered for the builtin"),
    ],
)
def test_wrong_registrations_are_refused(functional, cls, message):
    with pytest.raises(ValueError, match=message):
        F.register_kernel(functional, cls)


class Negated(v2.Transform):
    def transform(self, inpt, params):
        return -inpt if isinstance(inpt, weft.Tensor) else "transformed"


def transformed(*parts):
    return [after is not before for before, after in zip(parts, Negated()(list(parts)))]


def test_only_the_first_plain_tensor_is_an_image_and_none_beside_a_known_one():
    plain, image = weft.ones(1, 2, 2), tv_tensors.Image(weft.ones(1, 2, 2))
    assert transformed(plain, weft.ones(3), 1, "text", None) == [True, False, False, False, False]
    assert transformed(plain, image) == [False, True]
    assert transformed(plain, picture()) == [False, True]
    assert transformed(plain, tv_tensors.Mask(weft.ones(2, 2))) == [True, True]
    assert transformed(3, plain) == [False, True]


def test_samples_are_any_nest_or_several_arguments():
    image = weft.ones(1, 2, 2)
    sample = {"a": [image, {"b": (BOXES, "text")}], "c": np.zeros(2)}
    output = Negated()(sample)
    assert weft.equal(output["a"][0], -image) and weft.equal(output["a"][1]["b"][0], -BOXES)
    assert output["a"][1]["b"][1] == "text" and output["c"] is sample["c"]
    first, label = Negated()(image, 3)
    assert weft.equal(first, -image) and label == 3


def test_all_parts_share_the_parameters():
    weft.manual_seed(0)
    flip = v2.RandomHorizontalFlip(p=0.5)
    image, mask = tv_tensors.Image(weft.rand(1, 4, 6)), tv_tensors.Mask(weft.rand(4, 6))
    for _ in range(8):
        one, other = flip(image, mask)
        assert weft.equal(one, image) == weft.equal(other, mask)


def test_a_sample_has_one_size():
    image = weft.rand(3, 4, 6)
    assert v2.query_size([image, BOXES]) == (4, 6) and v2.query_chw([image, picture().convert("RGB")]) == (3, 4, 6)
    with pytest.raises(ValueError, match="multiple HxW"):
        v2.query_size([image, weft.rand(3, 5, 6)])
    with pytest.raises(TypeError, match="was found"):
        v2.query_size(["text"])
    assert v2.has_any([1, "a"], str) and not v2.has_all([1, "a"], str, list)
    assert v2.get_bounding_boxes([1, BOXES]) is BOXES
    with pytest.raises(ValueError, match="No keypoints"):
        v2.get_keypoints([BOXES])


def test_a_transform_that_does_nothing_says_so():
    with pytest.raises(NotImplementedError):
        v2.Transform()(weft.rand(3, 2, 2))
    assert repr(v2.Resize(3)) == "Resize(size=[3], interpolation=bilinear, antialias=True)"
