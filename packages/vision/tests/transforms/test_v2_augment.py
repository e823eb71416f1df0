"""Erasing, mixing, JPEG, containers, conversion and auto-augmentation of the second version."""

import pickle

import numpy as np
import pytest
from PIL import Image

import weft
from weft.vision import transforms, tv_tensors
from weft.vision.transforms import v2
from weft.vision.transforms.v2 import functional as F

PICTURE = Image.fromarray(np.arange(12 * 14 * 3, dtype=np.uint8).reshape(12, 14, 3))
BATCH = weft.arange(4.0).reshape(4, 1, 1, 1).expand(4, 3, 8, 8)
LABELS = weft.tensor([0, 1, 2, 1])


def test_mixup_mixes_images_and_labels_by_one_share():
    weft.manual_seed(0)
    images, labels = v2.MixUp(num_classes=3)(BATCH, LABELS)
    share = labels[0, 0].item()  # sample 0 has class 0, the one before it, 3, has class 1
    assert labels.sum(1).tolist() == pytest.approx([1.0] * 4)
    assert images[:, 0, 0, 0].tolist() == pytest.approx([(1 - share) * ((k - 1) % 4) + share * k for k in range(4)])


def test_cutmix_shares_are_those_of_the_area():
    for seed in range(5):
        weft.manual_seed(seed)
        images, labels = v2.CutMix(num_classes=3)(BATCH, LABELS)
        assert (images[1] == 1).float().mean().item() == pytest.approx(labels[1, 1].item())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: v2.MixUp()(BATCH, LABELS), "num_classes must be passed"),
        (lambda: v2.MixUp(num_classes=3)(BATCH[0], LABELS), "batched input with 4 dims"),
        (lambda: v2.MixUp(num_classes=3)(BATCH, LABELS[:2]), "does not match the batch size"),
        (lambda: v2.MixUp(num_classes=3)(PICTURE, LABELS), "does not support PIL images"),
        (lambda: v2.CutMix(num_classes=2)(BATCH, weft.eye(4)), "2D labels"),
        (lambda: v2.JPEG(0), "from 1 to 100"),
        (lambda: v2.JPEG((90, 10)), "from 1 to 100"),
        (lambda: v2.RandomErasing(value="noise"), "'random'"),
        (lambda: v2.RandomErasing(p=1, value=(1, 2))(BATCH), "single value or 3"),
        (lambda: v2.AugMix(severity=11), "between 1 and 10"),
        (lambda: v2.AutoAugment("imagenet"), "provided policy"),
        (lambda: v2.Compose([]), "at least one"),
        (lambda: v2.RandomChoice([v2.RGB()], p=[0.5, 0.5]), "2 != 1"),
    ],
)
def test_wrong_arguments_are_explained(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_erasing_overwrites_a_rectangle_and_warns_of_boxes():
    weft.manual_seed(0)
    image = tv_tensors.Image(weft.zeros(3, 20, 20))
    erased = v2.RandomErasing(p=1.0, value=7)(image)
    rows, columns = (erased[0] == 7).any(1), (erased[0] == 7).any(0)
    assert (erased == 7).sum() == 3 * rows.sum() * columns.sum() > 0
    assert (image == 0).all()
    boxes = tv_tensors.BoundingBoxes([[0, 0, 2, 2]], format="XYXY", canvas_size=(20, 20))
    with pytest.warns(UserWarning, match="passing through"):
        v2.RandomErasing(p=1.0)(image, boxes)


def test_jpeg_leaves_even_areas_alone_and_is_pillows():
    assert weft.equal(F.jpeg(weft.full((3, 8, 8), 100, dtype=weft.uint8), 50), weft.full((3, 8, 8), 100).byte())
    batch = weft.stack([F.pil_to_tensor(PICTURE)] * 2)
    expected = F.pil_to_tensor(F.jpeg(PICTURE, 30))
    assert all(weft.equal(each, expected) for each in F.jpeg(batch, 30))
    assert not weft.equal(expected, batch[0])


def test_choice_and_order_are_drawn_by_the_generator_of_tensors():
    def drawn(transform):
        weft.manual_seed(3)
        return [transform(weft.zeros(())).item() for _ in range(8)]

    steps = [v2.Lambda(lambda x, k=k: x * 10 + k) for k in range(3)]
    for transform in (v2.RandomChoice(steps), v2.RandomOrder(steps), v2.RandomApply(steps[1:2])):
        first = drawn(transform)
        assert first == drawn(transform)
        assert len(set(first)) > 1


def test_several_arguments_pass_through_compositions():
    image, label = v2.Compose([v2.RGB(), v2.ToImage()])(PICTURE, 3)
    assert isinstance(image, tv_tensors.Image)
    assert label == 3


@pytest.mark.parametrize("module", [transforms, v2], ids=["v1", "v2"])
@pytest.mark.parametrize("name", ["AutoAugment", "RandAugment", "TrivialAugmentWide", "AugMix"])
def test_auto_augmentation_keeps_type_and_size(module, name):
    transform = getattr(module, name)()
    weft.manual_seed(1)
    for image in (PICTURE, F.pil_to_tensor(PICTURE)):
        for _ in range(6):
            found = transform(image)
            assert type(found) is type(image)
            assert F.get_size(found) == F.get_size(image)
    assert type(pickle.loads(pickle.dumps(transform))) is type(transform)


def test_auto_augmentation_changes_the_one_image_of_a_sample():
    sample = {"image": PICTURE, "label": weft.tensor(3)}
    assert v2.RandAugment()(sample)["label"] is sample["label"]
    with pytest.raises(TypeError, match="BoundingBoxes are not supported"):
        boxes = tv_tensors.BoundingBoxes([[0, 0, 2, 2]], format="XYXY", canvas_size=(12, 14))
        v2.RandAugment()(PICTURE, boxes)
    with pytest.raises(TypeError, match="found 2"):
        v2.RandAugment()(PICTURE, PICTURE)


def test_a_policy_of_certain_operations_is_applied_in_turn(monkeypatch):
    transform = v2.AutoAugment()
    monkeypatch.setattr(transform, "_policies", [(("Invert", 1.0, None), ("Posterize", 1.0, 9))])
    image = F.pil_to_tensor(PICTURE)
    assert weft.equal(transform(image), F.posterize(F.invert(image), 4))


def test_videos_are_sampled_uniformly():
    video = tv_tensors.Video(weft.arange(10).reshape(10, 1, 1, 1))
    assert v2.UniformTemporalSubsample(4)(video).flatten().tolist() == [0, 3, 6, 9]
    assert F.uniform_temporal_subsample(video, 20).flatten().tolist()[::19] == [0, 9]


def test_what_a_conversion_is_not_for_passes():
    array, image = np.zeros((2, 3, 3), np.uint8), weft.zeros(3, 2, 2)
    assert v2.PILToTensor()(array) is array
    assert v2.ToPureTensor()(image) is image
    assert v2.ConvertImageDtype(weft.uint8)(PICTURE) is PICTURE
    assert isinstance(v2.ToImage()(array), tv_tensors.Image)
    assert isinstance(v2.ToPILImage()(array), Image.Image)
    with pytest.warns(UserWarning, match="deprecated"):
        to_tensor = v2.ToTensor()
    assert to_tensor(image) is image
