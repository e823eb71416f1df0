"""Models with the weights' names and first values of torchvision's."""

import copy
import importlib
import pickle

import pytest

import weft
from weft import vision
from weft.vision import models
from weft.vision.models import _utils, feature_extraction, swin_transformer, vision_transformer

# Entries of the state, parameters for 1,000 classes, and the first logits that torchvision 0.28 gives for ten classes
# after manual_seed(0), in eval mode, on a ramp from -1 to 1.
OBSERVED = {
    "resnet18": (122, 11689512, [-0.07510411739349365, -0.0071381088346242905, -0.12515996396541595]),
    "squeezenet1_1": (52, 1235496, [0.013601012527942657, 0.17366242408752441, 0.005788332317024469]),
    "densenet121": (727, 7978856, [-0.1236257404088974, 0.07644671201705933, -0.11995258927345276]),
    "mobilenet_v2": (314, 3504872, None),
}


@pytest.mark.parametrize("name", OBSERVED)
def test_a_model_has_the_weights_and_gives_the_logits_of_torchvision(name):
    entries, parameters, logits = OBSERVED[name]
    make = getattr(models, name)
    assert sum(each.numel() for each in make().parameters()) == parameters
    weft.manual_seed(0)
    model = make(weights=None, num_classes=10).eval()
    assert len(model.state_dict()) == entries
    with weft.no_grad():
        out = model(weft.linspace(-1, 1, 3 * 64 * 64).view(1, 3, 64, 64))
    assert out.shape == (1, 10)
    if logits is not None:
        assert out[0, :3].tolist() == pytest.approx(logits, rel=1e-3, abs=1e-5)


def test_the_last_layers_have_the_names_that_programs_replace():
    assert models.resnet18(num_classes=3).fc.out_features == 3
    assert models.squeezenet1_0(num_classes=3).classifier[1].out_channels == 3
    assert models.mobilenet_v2(num_classes=3, width_mult=0.25).classifier[1].out_features == 3
    assert models.DenseNet(4, (1, 1), 8, num_classes=3, memory_efficient=True).classifier.out_features == 3


def test_published_weights_are_loaded_from_the_cache_of_pytorch(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    weft.manual_seed(0)
    model = models.squeezenet1_1()
    folder = tmp_path / "hub" / "checkpoints"
    folder.mkdir(parents=True)
    weft.save(model.state_dict(), folder / "squeezenet1_1-b8a52dc0.pth")
    for asked in ("IMAGENET1K_V1", "SqueezeNet1_1_Weights.DEFAULT", models.SqueezeNet1_1_Weights.DEFAULT):
        again = models.squeezenet1_1(weights=asked)
        assert weft.equal(again.features[0].weight, model.features[0].weight)
    with pytest.raises(ValueError, match="'num_classes' expected value 1000 but got 10"):
        models.squeezenet1_1(weights="DEFAULT", num_classes=10)
    with pytest.warns(UserWarning, match="deprecated; write weights=SqueezeNet1_1_Weights.IMAGENET1K_V1"):
        again = models.squeezenet1_1(pretrained=True)
    assert weft.equal(again.features[0].weight, model.features[0].weight)
    with pytest.warns(UserWarning, match="positional 'weights' is deprecated"):
        models.squeezenet1_1(None)


def test_models_and_weights_are_found_by_name():
    assert {"alexnet", "resnet18", "vgg11"} <= set(models.list_models())
    assert models.list_models(models, include=["vgg1?", "alex*"], exclude="*3") == [
        "alexnet",
        "vgg11",
        "vgg16",
        "vgg19",
    ]
    assert isinstance(models.get_model("SqueezeNet1_0", num_classes=2), models.SqueezeNet)
    assert models.get_model_weights("resnet50") is models.get_model_weights(models.resnet50) is models.ResNet50_Weights
    weights = models.get_weight("ResNet50_Weights.IMAGENET1K_V2")
    assert weights is models.ResNet50_Weights.DEFAULT
    assert copy.deepcopy(weights) is weights is pickle.loads(pickle.dumps(weights))
    assert weights.meta["categories"][:2] == ["tench", "goldfish"]
    assert weights.transforms()(weft.zeros(3, 300, 400, dtype=weft.uint8)).shape == (3, 224, 224)
    for wrong in ("ResNet50_Weights", "A.B.C", "ResNet49_Weights.DEFAULT"):
        with pytest.raises(ValueError, match="weight"):
            models.get_weight(wrong)
    with pytest.raises(ValueError, match="Unknown model resnet49"):
        models.get_model("resnet49")
    with pytest.raises(TypeError, match="expected ResNet18_Weights but received ResNet50_Weights"):
        models.resnet18(weights=weights)


def test_a_function_keeps_its_name_where_its_module_has_the_same():
    module = importlib.import_module("weft.vision.models.alexnet")
    models.alexnet = module  # as Python does when it has imported the module
    assert models.alexnet is module.alexnet
    with pytest.raises(AttributeError, match=r"'weft.vision.models' has no attribute 'alexnet2'"):
        _ = models.alexnet2


def test_dense_layers_that_compute_again_have_the_same_gradients():
    found = []
    for efficient in (False, True):
        weft.manual_seed(0)
        model = models.DenseNet(4, (2, 1), 8, num_classes=3, memory_efficient=efficient)
        model(weft.rand(2, 3, 32, 32, requires_grad=True)).sum().backward()
        found.append([each.grad for each in model.parameters()])
    assert all(weft.allclose(plain, again) for plain, again in zip(*found))


class Twice(weft.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = weft.nn.Sequential(weft.nn.Linear(2, 2), weft.nn.Dropout(1.0))

    def forward(self, x):
        x = self.inner(x + 1)
        return x * 2 if self.training else self.inner(x - 1 + 1)


def test_outputs_from_within_a_model_in_both_modes():
    model = Twice().eval()
    with pytest.warns(UserWarning, match="train mode are different"):
        train, evaluation = feature_extraction.get_graph_node_names(model)
    assert train == ["x", "add", "inner.0", "inner.1", "mul"]
    assert evaluation == ["x", "add", "inner.0", "inner.1", "sub", "add_1", "inner.0_1", "inner.1_1"]
    made = feature_extraction.create_feature_extractor(
        model,
        train_return_nodes=["mul"],
        eval_return_nodes={"add": "first", "inner": "last"},
        suppress_diff_warning=True,
    )
    x = weft.rand(3, 2)
    assert not model.training and not made.training
    assert list(made(x)) == ["first", "last"]
    assert weft.equal(made(x)["last"], model(x))
    assert weft.equal(made.train()(x)["mul"], weft.zeros(3, 2))
    assert made.get_submodule("inner.0") is model.inner[0]
    assert weft.equal(copy.deepcopy(made).eval()(x)["first"], x + 1)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({}, "give return_nodes"),
        ({"train_return_nodes": ["0"]}, "must both be given"),
        ({"return_nodes": ["0"], "train_return_nodes": ["0"], "eval_return_nodes": ["0"]}, "give either"),
        ({"return_nodes": ["2"]}, "'2' is not present in model"),
    ],
)
def test_nodes_that_cannot_be_returned_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        feature_extraction.create_feature_extractor(weft.nn.Sequential(weft.nn.ReLU()), **wrong)


def test_readers_of_pictures_and_videos_are_named():
    vision.set_image_backend("PIL")
    vision.set_video_backend("pyav")
    assert (vision.get_image_backend(), vision.get_video_backend()) == ("PIL", "pyav")
    for choose in (vision.set_image_backend, vision.set_video_backend):
        with pytest.raises(ValueError, match="Invalid backend 'accimage'"):
            choose("accimage")
    vision.disable_beta_transforms_warning()


def test_children_are_called_as_far_as_they_are_needed():
    model = models.resnet18(num_classes=2)
    getter = _utils.IntermediateLayerGetter(model, {"layer1": "low", "layer2": "high"})
    assert {name: tuple(each.shape) for name, each in getter(weft.rand(1, 3, 32, 32)).items()} == {
        "low": (1, 64, 8, 8),
        "high": (1, 128, 4, 4),
    }
    assert "layer3" not in getter
    with pytest.raises(ValueError, match="return_layers are not present in model"):
        _utils.IntermediateLayerGetter(model, {"layer9": "low"})


def test_states_of_earlier_versions_are_read():
    dense = models.DenseNet(4, (1,), 8, num_classes=3)
    old = {
        name.replace("norm1", "norm.1").replace("conv2", "conv.2"): value for name, value in dense.state_dict().items()
    }
    assert "features.denseblock1.denselayer1.norm.1.weight" in old
    models.DenseNet(4, (1,), 8, num_classes=3).load_state_dict(old)
    block = vision_transformer.MLPBlock(2, 3, 0.0)
    old = {f"linear_{1 + int(name[0]) // 3}{name[1:]}": value for name, value in block.state_dict().items()}
    vision_transformer.MLPBlock(2, 3, 0.0).load_state_dict(old)
    state = models.mnasnet0_5().state_dict()
    state._metadata[""]["version"] = 1
    with (
        pytest.warns(UserWarning, match="first version of MNASNet"),
        pytest.raises(RuntimeError, match="size mismatch"),
    ):
        models.mnasnet0_5().load_state_dict(state)


def test_embeddings_of_places_are_resampled_for_another_size():
    state = {"encoder.pos_embedding": weft.ones(1, 5, 3), "heads.head.bias": weft.zeros(2)}
    found = vision_transformer.interpolate_embeddings(48, 16, state, reset_heads=True)
    assert list(found) == ["encoder.pos_embedding"]
    assert found["encoder.pos_embedding"].shape == (1, 10, 3)
    assert weft.allclose(found["encoder.pos_embedding"], weft.tensor(1.0))
    with pytest.raises(ValueError, match="not a perfect square"):
        vision_transformer.interpolate_embeddings(48, 16, {"encoder.pos_embedding": weft.ones(1, 4, 3)})


def test_windows_of_any_rank_are_attended_alone():
    """Without mixing between windows, a change in one window changes that window only."""

    def attend(x):
        identity = weft.eye(4)
        return swin_transformer.shifted_window_attention(
            x, identity.repeat(3, 1), identity, weft.zeros(1, 2, 8, 8), [2, 2, 2], 2, [0, 0, 0]
        )

    x = weft.rand(1, 4, 2, 3, 4)  # the last axis is padded
    changed = x.clone()
    changed[0, 3, 1, 2] += 1
    difference = (attend(x) != attend(changed)).any(-1)[0]
    assert difference[2:, :, 2].all()
    assert not difference[:2].any() and not difference[:, :, :2].any()


def test_an_unknown_version_is_refused():
    with pytest.raises(ValueError, match="Unsupported SqueezeNet version 2"):
        models.SqueezeNet("2")
