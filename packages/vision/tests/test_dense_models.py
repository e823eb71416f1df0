"""Models of segmentation, detection, video and optical flow: what they promise of shapes, targets and gradients."""

import pytest

import weft
from weft import fx, nn
from weft.vision.models import detection, optical_flow, video
from weft.vision.models.detection import _utils, anchor_utils, image_list, roi_heads, transform
from weft.vision.models.detection.faster_rcnn import FastRCNNPredictor, TwoMLPHead
from weft.vision.models.optical_flow import raft
from weft.vision.models.segmentation import deeplabv3, fcn, lraspp
from weft.vision.models.video import mvit, resnet, swin_transformer
from weft.vision.ops import MultiScaleRoIAlign


def network():
    layers = nn.Sequential(nn.Conv2d(3, 8, 3, 4, 1), nn.ReLU(), nn.Conv2d(8, 8, 3, 2, 1))
    layers.out_channels = 8
    return layers


def small_detector():
    weft.manual_seed(0)
    return detection.FasterRCNN(
        network(),
        min_size=64,
        max_size=96,
        rpn_anchor_generator=anchor_utils.AnchorGenerator(((16, 32),), ((1.0,),)),
        box_roi_pool=MultiScaleRoIAlign(["0"], 4, 2),
        box_head=TwoMLPHead(8 * 16, 16),
        box_predictor=FastRCNNPredictor(16, 3),
        box_score_thresh=0.0,
        box_detections_per_img=5,
    )


def target(*boxes, labels=None):
    return {"boxes": weft.tensor(boxes).reshape(-1, 4), "labels": weft.tensor(labels or [1] * len(boxes)).long()}


def test_a_detector_gives_losses_in_training_and_boxes_within_the_images_else():
    model = small_detector()
    images = [weft.rand(3, 64, 80), weft.rand(3, 50, 40)]
    losses = model(images, [target([4.0, 4.0, 40.0, 40.0]), target()])
    assert set(losses) == {"loss_classifier", "loss_box_reg", "loss_objectness", "loss_rpn_box_reg"}
    sum(losses.values()).backward()
    assert all(each.grad is not None for each in model.parameters())
    images[0].requires_grad_()
    found = model.eval()(images)
    assert [each["boxes"].shape for each in found] == [(5, 4), (5, 4)]
    for each, image in zip(found, images):
        height, width = image.shape[-2:]
        assert (each["boxes"] >= 0).all()
        assert (each["boxes"] <= weft.tensor([width, height, width, height])).all()
        assert (each["scores"].diff() <= 0).all()
    found[0]["scores"].sum().backward()
    assert images[0].grad.any()


@pytest.mark.parametrize(
    "targets, error, words",
    [
        (None, AssertionError, "targets should not be none"),
        ([target([4.0, 4.0, 4.0, 9.0])], AssertionError, "positive height and width"),
        ([{"boxes": [[0, 0, 1, 1]], "labels": []}], AssertionError, "to be of type Tensor"),
        ([{**target(), "boxes": weft.zeros(1, 5)}], AssertionError, r"of shape \[N, 4\]"),
        ([{**target([0.0, 0.0, 9.0, 9.0]), "labels": weft.ones(1)}], TypeError, "labels must of int64"),
        ([{"boxes": weft.tensor([[0.0, 0.0, 9.0, 9.0]])}], KeyError, "labels"),
    ],
)
def test_wrong_targets_are_refused(targets, error, words):
    with pytest.raises(error, match=words):
        small_detector()([weft.rand(3, 64, 64)], targets)


def test_targets_are_resized_with_their_image_and_left_as_they_were():
    module = transform.GeneralizedRCNNTransform(100, 200, [0.0] * 3, [1.0] * 3).eval()
    given = target([10.0, 20.0, 30.0, 40.0])
    images, targets = module([weft.rand(3, 50, 60)], [given])
    assert images.image_sizes == [(100, 120)]
    assert images.tensors.shape == (1, 3, 128, 128)  # multiples of 32
    assert targets[0]["boxes"].tolist() == [[20.0, 40.0, 60.0, 80.0]]
    assert given["boxes"].tolist() == [[10.0, 20.0, 30.0, 40.0]]


def test_codes_of_boxes_are_undone():
    weft.manual_seed(0)
    anchors = weft.rand(10, 2, 2).add(0.1).cumsum(1).flatten(1)
    boxes = weft.rand(10, 2, 2).add(0.1).cumsum(1).flatten(1)
    coder = _utils.BoxCoder((10.0, 10.0, 5.0, 5.0))
    assert weft.allclose(coder.decode_single(coder.encode_single(boxes, anchors), anchors), boxes, atol=1e-5)
    linear = _utils.BoxLinearCoder()
    assert weft.allclose(linear.decode(linear.encode(anchors, boxes), anchors), boxes, atol=1e-5)


def test_a_box_cannot_grow_without_bounds():
    decoded = _utils.BoxCoder((1.0, 1.0, 1.0, 1.0)).decode_single(
        weft.full((1, 4), 100.0), weft.tensor([[0.0, 0.0, 16.0, 16.0]])
    )
    assert (decoded[0, 2] - decoded[0, 0]).item() == pytest.approx(1000.0)


def test_matches_by_overlap():
    quality = weft.tensor([[0.9, 0.45, 0.1, 0.3], [0.2, 0.1, 0.3, 0.35]])  # two targets, four predictions
    assert _utils.Matcher(0.5, 0.4)(quality).tolist() == [0, -2, -1, -1]
    assert _utils.Matcher(0.5, 0.4, allow_low_quality_matches=True)(quality).tolist() == [0, -2, -1, 1]
    assert _utils.SSDMatcher(0.5)(quality).tolist() == [0, -1, -1, 1]
    with pytest.raises(ValueError, match="No ground-truth boxes"):
        _utils.Matcher(0.5, 0.4)(weft.zeros(0, 3))


def test_a_sample_has_no_more_positives_than_its_share():
    matches = weft.tensor([1] * 10 + [0] * 20 + [-1] * 5)
    (positive,), (negative,) = _utils.BalancedPositiveNegativeSampler(16, 0.25)([matches])
    assert (positive.sum().item(), negative.sum().item()) == (4, 12)
    assert not (positive * (matches != 1)).any()
    assert not (negative * (matches != 0)).any()


def test_anchors_lie_around_the_places_of_a_map():
    generator = anchor_utils.AnchorGenerator(((8,),), ((1.0,),))
    images = image_list.ImageList(weft.zeros(1, 3, 32, 48), [(32, 48)])
    (anchors,) = generator(images, [weft.zeros(1, 4, 2, 3)])
    assert anchors[0].tolist() == [-4.0, -4.0, 4.0, 4.0]
    assert anchors[1].tolist() == [12.0, -4.0, 20.0, 4.0]
    assert anchors[3].tolist() == [-4.0, 12.0, 4.0, 20.0]
    with pytest.raises(AssertionError, match="2 feature maps and 1 sizes"):
        generator(images, [weft.zeros(1, 4, 2, 3)] * 2)


def test_a_mask_is_pasted_into_its_box():
    pasted = roi_heads.paste_masks_in_image(weft.ones(1, 1, 28, 28), weft.tensor([[10.0, 5.0, 30.0, 25.0]]), (40, 50))
    inside = weft.zeros(40, 50)
    inside[7:23, 12:28] = 1
    assert (pasted[0, 0][inside > 0] > 0.99).all()
    assert not pasted[0, 0, :3].any()
    assert not pasted[0, 0, :, 34:].any()


def test_key_points_are_found_where_their_maps_are_high():
    maps = weft.zeros(1, 1, 56, 56)
    maps[0, 0, 14, 42] = 10.0
    points, scores = roi_heads.heatmaps_to_keypoints(maps, weft.tensor([[100.0, 200.0, 212.0, 312.0]]))
    assert points[0, 0, :2].tolist() == pytest.approx([100 + 2 * 42.5, 200 + 2 * 14.5], abs=1.1)
    assert scores[0, 0] > 5


def test_heads_of_segmentation_keep_or_restore_the_size():
    features = weft.rand(2, 16, 9, 11)
    assert fcn.FCNHead(16, 5)(features).shape == (2, 5, 9, 11)
    assert deeplabv3.DeepLabHead(16, 5)(features).shape == (2, 5, 9, 11)
    head = lraspp.LRASPPHead(8, 16, 5, 4)
    assert head({"low": weft.rand(2, 8, 18, 22), "high": features}).shape == (2, 5, 18, 22)


@pytest.mark.parametrize("conv", [resnet.Conv3DSimple, resnet.Conv3DNoTemporal, resnet.Conv2Plus1D])
def test_residual_networks_of_video(conv):
    model = video.VideoResNet(resnet.Bottleneck, [conv] * 4, [1, 1, 1, 1], resnet.BasicStem, 3, True)
    assert model.eval()(weft.rand(1, 3, 4, 16, 16)).shape == (1, 3)
    assert not model.layer1[0].conv3[1].weight.any()  # the block begins as the identity


def small_mvit(**options):
    rows = [(1, 1, 8, 16, 3, 1, 2), (1, 2, 16, 16, 3, 2, 1)]
    settings = mvit.block_settings(rows)
    flags = {"residual_pool": True, "residual_with_cls_embed": False, "rel_pos_embed": True, "proj_after_attn": True}
    return video.MViT((32, 32), 4, settings, num_classes=3, **{**flags, **options})


@pytest.mark.parametrize("relative", [True, False])
def test_multiscale_transformers_take_clips_and_can_be_traced(relative):
    model = small_mvit(rel_pos_embed=relative, residual_pool=relative).eval()
    clips = weft.rand(2, 3, 4, 32, 32)
    assert model(clips).shape == (2, 3)
    assert weft.equal(fx.symbolic_trace(model)(clips), model(clips))
    with pytest.raises(ValueError, match="can't be empty"):
        video.MViT((32, 32), 4, [], True, True, True, True)


def test_windows_of_video_are_cut_to_the_clip():
    model = video.SwinTransformer3d([2, 4, 4], 8, [2], [2], [4, 3, 3], num_classes=3).eval()
    clips = weft.rand(1, 3, 3, 30, 18)  # padded, and no longer than a window
    assert model(clips).shape == (1, 3)
    assert weft.equal(fx.symbolic_trace(model)(clips), model(clips))
    with pytest.raises(ValueError, match="length 3"):
        swin_transformer.ShiftedWindowAttention3d(8, [2, 2], [0, 0], 2)


def test_correlations_are_the_highest_where_the_features_are_the_same():
    weft.manual_seed(0)
    features = weft.randn(1, 64, 16, 16)
    block = raft.CorrBlock(num_levels=1, radius=1)
    block.build_pyramid(features, features.roll(1, 3))  # what was at x is at x + 1
    found = block.index_pyramid(raft.coordinates(1, 16, 16))
    centre = found[0, :, 4:12, 4:12].reshape(3, 3, -1)  # first along x, then along y
    assert (centre.flatten(0, 1).argmax(0) == 7).all()
    with pytest.raises(ValueError, match="too small"):
        raft.CorrBlock().build_pyramid(weft.zeros(1, 4, 8, 8), weft.zeros(1, 4, 8, 8))


def test_a_flow_without_a_mask_is_interpolated_and_scaled():
    flow = raft.upsampled(weft.ones(1, 2, 2, 3))
    assert flow.shape == (1, 2, 16, 24)
    assert (flow == 8).all()
    assert weft.allclose(
        raft.upsampled(weft.ones(1, 2, 4, 4), weft.randn(1, 576, 4, 4))[..., 8:-8, 8:-8], weft.tensor(8.0)
    )


def test_wrong_images_of_a_flow_are_refused():
    model = optical_flow.raft_small()
    with pytest.raises(ValueError, match="divisible by 8"):
        model(weft.rand(1, 3, 130, 128), weft.rand(1, 3, 130, 128))
    with pytest.raises(ValueError, match="same shape"):
        model(weft.rand(1, 3, 128, 128), weft.rand(1, 3, 128, 136))


def test_a_training_lowers_the_losses():
    model = small_detector()
    image = weft.zeros(3, 64, 64)
    image[:, 16:48, 20:52] = 1.0
    truth = target([20.0, 16.0, 52.0, 48.0])
    optimizer = weft.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    for _ in range(25):
        optimizer.zero_grad()
        loss = sum(model([image], [truth]).values())
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.6 * losses[0]
