"""RAFT (arXiv:2003.12039): optical flow, corrected step by step from the correlations of all pairs of places."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import weft
from weft import Tensor, nn
from weft.nn import functional as F
from weft.nn import init
from weft.vision.models._api import WeightsEnum, pretrained
from weft.vision.models._utils import builder
from weft.vision.ops.misc import Conv2dNormActivation

__all__ = ["RAFT", "Raft_Large_Weights", "Raft_Small_Weights", "raft_large", "raft_small"]


class Raft_Large_Weights(WeightsEnum):
    C_T_V1 = pretrained("raft_large_C_T_V1-22a6c225.pth")
    C_T_V2 = pretrained("raft_large_C_T_V2-1bb1363a.pth")
    C_T_SKHT_V1 = pretrained("raft_large_C_T_SKHT_V1-0b8c9e55.pth")
    C_T_SKHT_V2 = pretrained("raft_large_C_T_SKHT_V2-ff5fadd5.pth")
    C_T_SKHT_K_V1 = pretrained("raft_large_C_T_SKHT_K_V1-4a6a5039.pth")
    C_T_SKHT_K_V2 = pretrained("raft_large_C_T_SKHT_K_V2-b5c70766.pth")
    DEFAULT = C_T_SKHT_V2


class Raft_Small_Weights(WeightsEnum):
    C_T_V1 = pretrained("raft_small_C_T_V1-ad48884c.pth")
    C_T_V2 = pretrained("raft_small_C_T_V2-01064c6d.pth")
    DEFAULT = C_T_V2


def sampled(image: Tensor, places: Tensor) -> Tensor:
    """Interpolate images (N, C, H, W) at places (N, rows, columns, 2) in pixels, x before y."""
    height, width = image.shape[-2:]
    x, y = places.unbind(-1)
    x = 2 * x / (width - 1) - 1
    y = 2 * y / (height - 1) - 1 if height > 1 else y
    return F.grid_sample(image, weft.stack([x, y], -1), mode="bilinear", align_corners=True)


def coordinates(batch_size: int, height: int, width: int, device: Any = None) -> Tensor:
    """The x and y of each pixel, (N, 2, H, W)."""
    y, x = weft.meshgrid(weft.arange(height, device=device), weft.arange(width, device=device), indexing="ij")
    return weft.stack([x, y]).float().repeat(batch_size, 1, 1, 1)


def upsampled(flow: Tensor, mask: Tensor | None = None, factor: int = 8) -> Tensor:
    """The flow of the whole image: interpolated, or a convex combination of the nine places around (appendix B)."""
    batch, channels, height, width = flow.shape
    size = height * factor, width * factor
    if mask is None:
        return factor * F.interpolate(flow, size=size, mode="bilinear", align_corners=True)
    weights = mask.reshape(batch, 1, 9, factor, factor, height, width).softmax(dim=2)
    around = F.unfold(factor * flow, kernel_size=3, padding=1).reshape(batch, channels, 9, 1, 1, height, width)
    return (weights * around).sum(dim=2).permute(0, 1, 4, 2, 5, 3).reshape(batch, channels, *size)


class ResidualBlock(nn.Module):
    """Two convolutions with biases, an activation after each, and a shortcut."""

    def __init__(
        self, in_channels: int, out_channels: int, *, norm_layer: Any, stride: int = 1, always_project: bool = False
    ) -> None:
        super().__init__()
        options = {"norm_layer": norm_layer, "bias": True}
        self.convnormrelu1 = Conv2dNormActivation(in_channels, out_channels, 3, stride, **options)
        self.convnormrelu2 = Conv2dNormActivation(out_channels, out_channels, 3, **options)
        self.downsample: nn.Module = nn.Identity()
        if stride != 1 or always_project:
            options["activation_layer"] = None
            self.downsample = Conv2dNormActivation(in_channels, out_channels, 1, stride, **options)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        """Return what follows the block."""
        return self.relu(self.downsample(x) + self.convnormrelu2(self.convnormrelu1(x)))


class BottleneckBlock(nn.Module):
    """Three convolutions with biases, the middle ones with a quarter of the channels, and a shortcut."""

    def __init__(self, in_channels: int, out_channels: int, *, norm_layer: Any, stride: int = 1) -> None:
        super().__init__()
        options, inner = {"norm_layer": norm_layer, "bias": True}, out_channels // 4
        self.convnormrelu1 = Conv2dNormActivation(in_channels, inner, 1, **options)
        self.convnormrelu2 = Conv2dNormActivation(inner, inner, 3, stride, **options)
        self.convnormrelu3 = Conv2dNormActivation(inner, out_channels, 1, **options)
        self.relu = nn.ReLU(inplace=True)
        self.downsample: nn.Module = nn.Identity()
        if stride != 1:
            options["activation_layer"] = None
            self.downsample = Conv2dNormActivation(in_channels, out_channels, 1, stride, **options)

    def forward(self, x: Tensor) -> Tensor:
        """Return what follows the block."""
        inner = self.convnormrelu2(self.convnormrelu1(x))
        return self.relu(self.downsample(x) + self.convnormrelu3(inner))


class FeatureEncoder(nn.Module):
    """Features of images (N, 3, H, W), at an eighth of their size.

    Parameters
    ----------
    block : callable
    layers : sequence of five int
        Channels.
    strides : sequence of four int
    norm_layer : callable or None

    Raises
    ------
    ValueError
        For another number of layers.
    """

    def __init__(
        self,
        *,
        block: Any = ResidualBlock,
        layers: Sequence[int] = (64, 64, 96, 128, 256),
        strides: Sequence[int] = (2, 1, 2, 2),
        norm_layer: Any = nn.BatchNorm2d,
    ) -> None:
        super().__init__()
        if len(layers) != 5:
            raise ValueError(f"The expected number of layers is 5, instead got {len(layers)}")
        self.convnormrelu = Conv2dNormActivation(3, layers[0], 7, strides[0], norm_layer=norm_layer, bias=True)
        stages = (
            nn.Sequential(
                block(before, after, norm_layer=norm_layer, stride=stride), block(after, after, norm_layer=norm_layer)
            )
            for before, after, stride in zip(layers, layers[1:4], strides[1:])
        )
        self.layer1, self.layer2, self.layer3 = stages
        self.conv = nn.Conv2d(layers[3], layers[4], kernel_size=1)
        self.output_dim = layers[-1]
        self.downsample_factor = 2 ** list(strides).count(2)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(module, (nn.BatchNorm2d, nn.InstanceNorm2d)) and module.affine:
                init.ones_(module.weight)
                init.zeros_(module.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Return the features."""
        return self.conv(self.layer3(self.layer2(self.layer1(self.convnormrelu(x)))))


class MotionEncoder(nn.Module):
    """Features of the flow and of its correlations, with the flow itself as the last two channels.

    Parameters
    ----------
    in_channels_corr : int
    corr_layers : sequence of one or two int
    flow_layers : sequence of two int
    out_channels : int

    Raises
    ------
    ValueError
        For other numbers of layers.
    """

    def __init__(
        self,
        *,
        in_channels_corr: int,
        corr_layers: Sequence[int] = (256, 192),
        flow_layers: Sequence[int] = (128, 64),
        out_channels: int = 128,
    ) -> None:
        super().__init__()
        if len(flow_layers) != 2:
            raise ValueError(f"The expected number of flow_layers is 2, instead got {len(flow_layers)}")
        if len(corr_layers) not in (1, 2):
            raise ValueError(f"The number of corr_layers should be 1 or 2, instead got {len(corr_layers)}")
        self.convcorr1 = Conv2dNormActivation(in_channels_corr, corr_layers[0], 1, norm_layer=None)
        self.convcorr2: nn.Module = nn.Identity()
        if len(corr_layers) == 2:
            self.convcorr2 = Conv2dNormActivation(corr_layers[0], corr_layers[1], 3, norm_layer=None)
        self.convflow1 = Conv2dNormActivation(2, flow_layers[0], 7, norm_layer=None)
        self.convflow2 = Conv2dNormActivation(flow_layers[0], flow_layers[1], 3, norm_layer=None)
        joined = corr_layers[-1] + flow_layers[-1]
        self.conv = Conv2dNormActivation(joined, out_channels - 2, 3, norm_layer=None)
        self.out_channels = out_channels

    def forward(self, flow: Tensor, corr_features: Tensor) -> Tensor:
        """Return the features (N, out_channels, H, W)."""
        correlations = self.convcorr2(self.convcorr1(corr_features))
        motion = self.convflow2(self.convflow1(flow))
        return weft.cat([self.conv(weft.cat([correlations, motion], dim=1)), flow], dim=1)


class ConvGRU(nn.Module):
    """A gated recurrent unit whose products are convolutions."""

    def __init__(self, *, input_size: int, hidden_size: int, kernel_size: Any, padding: Any) -> None:
        super().__init__()
        joined = hidden_size + input_size
        self.convz = nn.Conv2d(joined, hidden_size, kernel_size, padding=padding)
        self.convr = nn.Conv2d(joined, hidden_size, kernel_size, padding=padding)
        self.convq = nn.Conv2d(joined, hidden_size, kernel_size, padding=padding)

    def forward(self, h: Tensor, x: Tensor) -> Tensor:
        """Return the next state."""
        both = weft.cat([h, x], dim=1)
        z, r = self.convz(both).sigmoid(), self.convr(both).sigmoid()
        q = self.convq(weft.cat([r * h, x], dim=1)).tanh()
        return (1 - z) * h + z * q


def _unchanged(h: Tensor, x: Tensor) -> Tensor:
    return h


class RecurrentBlock(nn.Module):
    """One or two `ConvGRU`, one after the other.

    Parameters
    ----------
    input_size, hidden_size : int
    kernel_size, padding : sequence of one or two

    Raises
    ------
    ValueError
        For other lengths.
    """

    def __init__(
        self,
        *,
        input_size: int,
        hidden_size: int,
        kernel_size: Sequence[Any] = ((1, 5), (5, 1)),
        padding: Sequence[Any] = ((0, 2), (2, 0)),
    ) -> None:
        super().__init__()
        if len(kernel_size) != len(padding):
            raise ValueError(
                f"kernel_size should have the same length as padding, instead got len(kernel_size) = "
                f"{len(kernel_size)} and len(padding) = {len(padding)}"
            )
        if len(kernel_size) not in (1, 2):
            raise ValueError(f"kernel_size should either 1 or 2, instead got {len(kernel_size)}")
        units = [
            ConvGRU(input_size=input_size, hidden_size=hidden_size, kernel_size=size, padding=width)
            for size, width in zip(kernel_size, padding)
        ]
        self.convgru1 = units[0]
        self.convgru2 = units[1] if len(units) == 2 else _unchanged
        self.hidden_size = hidden_size

    def forward(self, h: Tensor, x: Tensor) -> Tensor:
        """Return the next state."""
        return self.convgru2(self.convgru1(h, x), x)


class FlowHead(nn.Module):
    """From the state to a correction of the flow."""

    def __init__(self, *, in_channels: int, hidden_size: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(in_channels, hidden_size, 3, padding=1)
        self.conv2 = nn.Conv2d(hidden_size, 2, 3, padding=1)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        """Return the correction (N, 2, H, W)."""
        return self.conv2(self.relu(self.conv1(x)))


class UpdateBlock(nn.Module):
    """One step: the next state, and the correction of the flow.

    Parameters
    ----------
    motion_encoder, recurrent_block, flow_head : Module
        Such as `MotionEncoder`, `RecurrentBlock` and `FlowHead`.
    """

    def __init__(self, *, motion_encoder: nn.Module, recurrent_block: nn.Module, flow_head: nn.Module) -> None:
        super().__init__()
        self.motion_encoder = motion_encoder
        self.recurrent_block = recurrent_block
        self.flow_head = flow_head
        self.hidden_state_size = recurrent_block.hidden_size

    def forward(
        self, hidden_state: Tensor, context: Tensor, corr_features: Tensor, flow: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return the state and the correction."""
        motion = self.motion_encoder(flow, corr_features)
        hidden_state = self.recurrent_block(hidden_state, weft.cat([context, motion], dim=1))
        return hidden_state, self.flow_head(hidden_state)


class MaskPredictor(nn.Module):
    """From the state to the weights of each pixel's nine neighbours, as logits times ``multiplier``."""

    def __init__(self, *, in_channels: int, hidden_size: int, multiplier: float = 0.25) -> None:
        super().__init__()
        self.convrelu = Conv2dNormActivation(in_channels, hidden_size, 3, norm_layer=None)
        self.conv = nn.Conv2d(hidden_size, 8 * 8 * 9, 1)
        self.multiplier = multiplier

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits (N, 576, H, W)."""
        return self.multiplier * self.conv(self.convrelu(x))


class CorrBlock(nn.Module):
    """Correlations of all pairs of places, at several resolutions of the second image.

    Parameters
    ----------
    num_levels : int
        Resolutions, each half of the one before.
    radius : int
        How far around a place it is looked, along each axis.
    """

    def __init__(self, *, num_levels: int = 4, radius: int = 4) -> None:
        super().__init__()
        self.num_levels = num_levels
        self.radius = radius
        self.corr_pyramid: list[Tensor] = []
        self.out_channels = num_levels * (2 * radius + 1) ** 2

    def build_pyramid(self, fmap1: Tensor, fmap2: Tensor) -> None:
        """Correlate two maps of features (N, C, H, W).

        Raises
        ------
        ValueError
            For different shapes, and for maps with fewer than two pixels at the lowest resolution.
        """
        if fmap1.shape != fmap2.shape:
            raise ValueError(
                f"Input feature maps should have the same shape, instead got {fmap1.shape} (fmap1.shape) != "
                f"{fmap2.shape} (fmap2.shape)"
            )
        smallest = 2**self.num_levels
        if min(fmap1.shape[-2:]) < smallest:
            raise ValueError(
                "Feature maps are too small to be down-sampled by the correlation pyramid. H and W of feature maps "
                f"should be at least {smallest}; got: {fmap1.shape[-2:]}. Images are 8 times as large as their "
                f"feature maps: at least {8 * smallest} pixels high and wide."
            )
        batch, channels, height, width = fmap1.shape
        products = fmap1.flatten(2).transpose(1, 2) @ fmap2.flatten(2)
        level = products.reshape(batch * height * width, 1, height, width) / math.sqrt(channels)
        self.corr_pyramid = [level]
        for _ in range(self.num_levels - 1):
            level = F.avg_pool2d(level, kernel_size=2, stride=2)
            self.corr_pyramid.append(level)

    def index_pyramid(self, centroids_coords: Tensor) -> Tensor:
        """Look up the correlations around a place (x, y) of the second image for each place of the first.

        Parameters
        ----------
        centroids_coords : Tensor, shape (N, 2, H, W)

        Returns
        -------
        Tensor, shape (N, out_channels, H, W)
        """
        batch, _, height, width = centroids_coords.shape
        steps = weft.linspace(-self.radius, self.radius, 2 * self.radius + 1, device=centroids_coords.device)
        around = weft.stack(weft.meshgrid(steps, steps, indexing="ij"), dim=-1)
        places = centroids_coords.permute(0, 2, 3, 1).reshape(batch * height * width, 1, 1, 2)
        levels = [
            sampled(correlations, places / 2**level + around).reshape(batch, height, width, -1)
            for level, correlations in enumerate(self.corr_pyramid)
        ]
        found = weft.cat(levels, dim=-1).permute(0, 3, 1, 2).contiguous()
        expected = (batch, self.out_channels, height, width)
        if found.shape != expected:
            raise ValueError(
                f"Output shape of index pyramid is incorrect. Should be {expected}, got {tuple(found.shape)}"
            )
        return found


class RAFT(nn.Module):
    """Optical flow from one image to the next, in recurrent steps.

    Parameters
    ----------
    feature_encoder : Module
        Features of both images at an eighth of their size.
    context_encoder : Module
        The first state and the context of the first image, at the same size, along the channels.
    corr_block : Module
        With ``build_pyramid`` and ``index_pyramid`` as of `CorrBlock`.
    update_block : Module
        With a ``hidden_state_size``; takes and returns what `UpdateBlock` does.
    mask_predictor : Module, optional
        Weights for the upsampling of the flow; by default it is interpolated.

    Raises
    ------
    ValueError
        If ``update_block`` has no ``hidden_state_size``.
    """

    def __init__(
        self,
        *,
        feature_encoder: nn.Module,
        context_encoder: nn.Module,
        corr_block: nn.Module,
        update_block: nn.Module,
        mask_predictor: nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.feature_encoder = feature_encoder
        self.context_encoder = context_encoder
        self.corr_block = corr_block
        self.update_block = update_block
        self.mask_predictor = mask_predictor
        if not hasattr(update_block, "hidden_state_size"):
            raise ValueError("The update_block parameter should expose a 'hidden_state_size' attribute.")

    def forward(self, image1: Tensor, image2: Tensor, num_flow_updates: int = 12) -> list[Tensor]:
        """Estimate the flow.

        Parameters
        ----------
        image1, image2 : Tensor, shape (N, 3, H, W)
            From -1 to 1; height and width are multiples of 8.
        num_flow_updates : int

        Returns
        -------
        list of Tensor, shape (N, 2, H, W)
            After each step, in pixels, along x and y.
        """
        batch, _, height, width = image1.shape
        if (height, width) != tuple(image2.shape[-2:]):
            raise ValueError(
                f"input images should have the same shape, instead got ({height}, {width}) != {image2.shape[-2:]}"
            )
        if height % 8 or width % 8:
            raise ValueError(f"input image H and W should be divisible by 8, instead got {height} (h) and {width} (w)")
        eighth = height // 8, width // 8
        fmap1, fmap2 = self._encoded("feature", weft.cat([image1, image2]), eighth).chunk(2)
        self.corr_block.build_pyramid(fmap1, fmap2)
        state, context = self._split(self._encoded("context", image1, eighth))
        start = coordinates(batch, *eighth, device=fmap1.device)
        place, flows = start, []
        for _ in range(num_flow_updates):
            place = place.detach()  # gradients flow through the corrections, not through where they are looked up
            found = self.corr_block.index_pyramid(centroids_coords=place)
            state, correction = self.update_block(state, context, found, place - start)
            place = place + correction
            mask = None if self.mask_predictor is None else self.mask_predictor(state)
            flows.append(upsampled(place - start, mask))
        return flows

    def _encoded(self, which: str, images: Tensor, size: tuple[int, int]) -> Tensor:
        features = getattr(self, f"{which}_encoder")(images)
        if tuple(features.shape[-2:]) != size:
            raise ValueError(f"The {which} encoder should downsample H and W by 8")
        return features

    def _split(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """The first state and the context."""
        hidden = self.update_block.hidden_state_size
        rest = features.shape[1] - hidden
        if rest <= 0:
            raise ValueError(
                f"The context encoder outputs {features.shape[1]} channels, but it should have at strictly more than "
                f"hidden_state={hidden} channels"
            )
        state, context = features.split([hidden, rest], dim=1)
        return state.tanh(), context.relu()


LARGE: dict[str, Any] = {
    "block": ResidualBlock,
    "layers": (64, 64, 96, 128),
    "channels": (256, 256),
    "context_norm": nn.BatchNorm2d,
    "radius": 4,
    "motion": {"corr_layers": (256, 192), "flow_layers": (128, 64), "out_channels": 128},
    "state": {"hidden_size": 128, "kernel_size": ((1, 5), (5, 1)), "padding": ((0, 2), (2, 0))},
    "flow_size": 256,
    "with_mask": True,
}
SMALL: dict[str, Any] = {
    "block": BottleneckBlock,
    "layers": (32, 32, 64, 96),
    "channels": (128, 160),
    "context_norm": None,
    "radius": 3,
    "motion": {"corr_layers": (96,), "flow_layers": (64, 32), "out_channels": 82},
    "state": {"hidden_size": 96, "kernel_size": (3,), "padding": (1,)},
    "flow_size": 128,
    "with_mask": False,
}


def _raft(
    sizes: dict[str, Any],
    feature_encoder: nn.Module | None = None,
    context_encoder: nn.Module | None = None,
    corr_block: nn.Module | None = None,
    update_block: nn.Module | None = None,
    mask_predictor: nn.Module | None = None,
) -> RAFT:
    """The model of a table of sizes; parts that are given take the place of its own."""
    block, layers, (features, context) = sizes["block"], sizes["layers"], sizes["channels"]
    hidden = sizes["state"]["hidden_size"]
    if feature_encoder is None:
        feature_encoder = FeatureEncoder(block=block, layers=(*layers, features), norm_layer=nn.InstanceNorm2d)
    if context_encoder is None:
        context_encoder = FeatureEncoder(block=block, layers=(*layers, context), norm_layer=sizes["context_norm"])
    if corr_block is None:
        corr_block = CorrBlock(num_levels=4, radius=sizes["radius"])
    if update_block is None:
        motion = MotionEncoder(in_channels_corr=corr_block.out_channels, **sizes["motion"])
        update_block = UpdateBlock(
            motion_encoder=motion,
            recurrent_block=RecurrentBlock(input_size=motion.out_channels + context - hidden, **sizes["state"]),
            flow_head=FlowHead(in_channels=hidden, hidden_size=sizes["flow_size"]),
        )
    if mask_predictor is None and sizes["with_mask"]:
        mask_predictor = MaskPredictor(in_channels=hidden, hidden_size=256)
    return RAFT(
        feature_encoder=feature_encoder,
        context_encoder=context_encoder,
        corr_block=corr_block,
        update_block=update_block,
        mask_predictor=mask_predictor,
    )


raft_large = builder("raft_large", Raft_Large_Weights, _raft, LARGE, former="DEFAULT")
raft_small = builder("raft_small", Raft_Small_Weights, _raft, SMALL, former="DEFAULT")
