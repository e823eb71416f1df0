"""Tensors that know what they are."""

import copy
import pickle

import numpy as np
import pytest
from PIL import Image

import weft
from weft.vision import tv_tensors
from weft.vision.tv_tensors import BoundingBoxes, BoundingBoxFormat, KeyPoints, Mask, TVTensor, Video


def all_kinds():
    return [
        tv_tensors.Image(weft.rand(3, 4, 5)),
        Video(weft.rand(2, 3, 4, 5)),
        Mask(weft.rand(2, 4, 5)),
        BoundingBoxes(weft.rand(2, 4), format="xywh", canvas_size=(4, 5), clamping_mode="hard"),
        KeyPoints(weft.rand(2, 3, 2), canvas_size=(4, 5)),
    ]


def metadata(tensor):
    return {name: getattr(tensor, name, None) for name in ("format", "canvas_size", "clamping_mode")}


@pytest.mark.parametrize("inpt", all_kinds(), ids=lambda inpt: type(inpt).__name__)
def test_a_few_ops_keep_the_class_and_all_others_do_not(inpt):
    for same in (inpt.clone(), inpt.to(weft.float64), inpt.detach(), copy.copy(inpt), copy.deepcopy(inpt)):
        assert type(same) is type(inpt)
        assert metadata(same) == metadata(inpt)
    for plain in (inpt + 1, 1 - inpt, inpt[0], inpt.data, inpt.sum(), weft.stack([inpt, inpt]), weft.rand(1).to(inpt)):
        assert type(plain) is weft.Tensor
    assert type(inpt.requires_grad_(False)) is type(inpt)
    assert type(inpt.add_(0)) is weft.Tensor and type(inpt) is not weft.Tensor
    back = pickle.loads(pickle.dumps(inpt))
    assert type(back) is type(inpt) and metadata(back) == metadata(inpt)


@pytest.mark.parametrize("inpt", all_kinds(), ids=lambda inpt: type(inpt).__name__)
def test_all_ops_keep_the_class_where_that_is_asked(inpt):
    with tv_tensors.set_return_type("TVTensor"):
        for same in (inpt + 1, inpt[0], inpt.unbind(0)[1], weft.stack([inpt, inpt]), inpt.add_(0)):
            assert type(same) is type(inpt)
            assert metadata(same) == metadata(inpt)
        with tv_tensors.set_return_type("tensor"):
            assert type(inpt + 1) is weft.Tensor
        assert type(inpt + 1) is type(inpt)
    assert type(inpt + 1) is weft.Tensor


def test_a_tensor_is_wrapped_like_another():
    boxes = all_kinds()[3]
    values = boxes * 2
    wrapped = tv_tensors.wrap(values, like=boxes, canvas_size=(8, 10))
    assert wrapped.data_ptr() == values.data_ptr()
    assert metadata(wrapped) == {**metadata(boxes), "canvas_size": (8, 10)}

    class Mine(KeyPoints):
        pass

    mine = Mine([1, 2], canvas_size=(3, 4))
    assert type(tv_tensors.wrap(mine + 1, like=mine)) is Mine


def test_data_become_tensors_of_the_right_shape():
    picture = Image.fromarray(np.arange(12, dtype=np.uint8).reshape(3, 4))
    assert tv_tensors.Image(picture).shape == (1, 3, 4)
    assert Mask(picture).shape == (1, 3, 4)
    assert tv_tensors.Image([[1.0, 2.0]]).shape == (1, 1, 2)
    assert BoundingBoxes([1, 2, 3, 4], format="XYXY", canvas_size=(9, 9)).shape == (1, 4)
    assert KeyPoints([1, 2], canvas_size=(9, 9)).shape == (1, 2)
    leaf = weft.rand(3, 2, 2, requires_grad=True)
    assert tv_tensors.Image(leaf).requires_grad and not tv_tensors.Image(leaf, requires_grad=False).requires_grad


def test_gradients_pass():
    values = weft.rand(3, 2, 2, requires_grad=True)
    (tv_tensors.Image(values) * 2).sum().backward()
    assert weft.equal(values.grad, weft.full((3, 2, 2), 2.0))


def test_images_are_computed_with_in_float16_too():
    image = tv_tensors.Image(weft.ones(3, 2, 2), dtype=weft.float16)
    assert image.dtype is weft.float16 and type(image @ weft.ones(2, 2).half()) is weft.Tensor


@pytest.mark.parametrize("format", list(BoundingBoxFormat))
def test_rotated_formats_are_known_by_their_names_too(format):
    assert tv_tensors.is_rotated_bounding_format(format) == tv_tensors.is_rotated_bounding_format(format.name)
    assert tv_tensors.is_rotated_bounding_format(format) == (format.name in ("XYWHR", "CXCYWHR", "XYXYXYXY"))


def test_printed_with_what_is_known():
    boxes = BoundingBoxes([[0.0, 1, 2, 3]], format="XYXY", canvas_size=(4, 5))
    expected = (
        "BoundingBoxes([[0., 1., 2., 3.]], format=BoundingBoxFormat.XYXY, canvas_size=(4, 5), clamping_mode=soft)"
    )
    assert repr(boxes) == expected


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tv_tensors.Image(1.0), "0D"),
        (lambda: Video(weft.zeros(3, 2, 2)), "3D"),
        (lambda: BoundingBoxes(weft.zeros(1, 1, 4), format="XYXY", canvas_size=(1, 1)), "1D or 2D"),
        (lambda: BoundingBoxes([1, 2, 3, 4, 5], format="XYWHR", canvas_size=(1, 1)), "floating point"),
        (lambda: BoundingBoxes([1, 2, 3, 4], format="XYXY", canvas_size=(1, 1), clamping_mode="x"), "clamping_mode"),
        (lambda: KeyPoints(weft.zeros(1, 3), canvas_size=(1, 1)), "shape"),
        (lambda: tv_tensors.set_return_type("x"), "return_type must be"),
        (lambda: tv_tensors.is_rotated_bounding_format(3), "str or BoundingBoxFormat"),
    ],
)
def test_wrong_data_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_two_kinds_are_not_computed_with_together():
    image, *_, points = all_kinds()
    with pytest.raises(TypeError):
        weft.add(image, points)
    assert issubclass(type(image), TVTensor)
