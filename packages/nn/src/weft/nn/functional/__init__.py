"""Functions of neural networks, with PyTorch's signatures."""

from weft.nn.functional.activation import gelu, log_softmax, relu, relu_, softmax, softmin
from weft.nn.functional.attention import scaled_dot_product_attention
from weft.nn.functional.convolution import (
    conv1d,
    conv2d,
    conv3d,
    conv_tbc,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
)
from weft.nn.functional.dropout import (
    alpha_dropout,
    dropout,
    dropout1d,
    dropout2d,
    dropout3d,
    feature_alpha_dropout,
)
from weft.nn.functional.linear import bilinear, linear
from weft.nn.functional.loss import cross_entropy, mse_loss, nll_loss
from weft.nn.functional.normalization import batch_norm, layer_norm
from weft.nn.functional.padding import pad
from weft.nn.functional.pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool1d_with_indices,
    adaptive_max_pool2d,
    adaptive_max_pool2d_with_indices,
    adaptive_max_pool3d,
    adaptive_max_pool3d_with_indices,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    max_pool1d,
    max_pool1d_with_indices,
    max_pool2d,
    max_pool2d_with_indices,
    max_pool3d,
    max_pool3d_with_indices,
)
from weft.nn.functional.sparse import embedding, one_hot
