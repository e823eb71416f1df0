"""Static quantization to 8 bits, for onnxruntime: observers, `prepare`, `convert`; and the classes that programs name.

`fuse_modules`, `prepare`, some examples, `convert`, `weft.onnx.export`: docs/deployment.md. There are no quantized
tensors: layers take and give floats, rounded to what integers stand for.
"""

from weft.ao.quantization.fake_quantize import FakeQuantizeBase
from weft.ao.quantization.fuse_modules import fuse_conv_bn, fuse_conv_bn_relu, fuse_linear_bn, fuse_modules
from weft.ao.quantization.histogram import HistogramObserver
from weft.ao.quantization.observer import (
    MinMaxObserver,
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
    NoopObserver,
    ObserverBase,
    PerChannelMinMaxObserver,
    PlaceholderObserver,
    UniformQuantizationObserverBase,
    default_observer,
    default_per_channel_weight_observer,
    default_weight_observer,
    per_channel_weight_observer_range_neg_127_to_127,
    weight_observer_range_neg_127_to_127,
)
from weft.ao.quantization.qconfig import (
    QConfig,
    QConfigAny,
    default_per_channel_qconfig,
    default_qconfig,
    get_default_qconfig,
)
from weft.ao.quantization.quantize import QuantWrapper, convert, prepare, propagate_qconfig_, quantize
from weft.ao.quantization.stubs import DeQuantStub, QuantStub

__all__ = [
    "DeQuantStub",
    "FakeQuantizeBase",
    "HistogramObserver",
    "MinMaxObserver",
    "MovingAverageMinMaxObserver",
    "MovingAveragePerChannelMinMaxObserver",
    "NoopObserver",
    "ObserverBase",
    "PerChannelMinMaxObserver",
    "PlaceholderObserver",
    "QConfig",
    "QConfigAny",
    "QuantStub",
    "QuantWrapper",
    "UniformQuantizationObserverBase",
    "convert",
    "default_observer",
    "default_per_channel_qconfig",
    "default_per_channel_weight_observer",
    "default_qconfig",
    "default_weight_observer",
    "fuse_conv_bn",
    "fuse_conv_bn_relu",
    "fuse_linear_bn",
    "fuse_modules",
    "get_default_qconfig",
    "per_channel_weight_observer_range_neg_127_to_127",
    "prepare",
    "propagate_qconfig_",
    "quantize",
    "weight_observer_range_neg_127_to_127",
]
