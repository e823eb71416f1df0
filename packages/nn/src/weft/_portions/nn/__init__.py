"""What weft-nn adds to the top level of `weft`, by the module that has it: PyTorch's functions of neural networks."""

NAMES = {
    "weft.ao.fake_quantize": "fake_quantize_per_channel_affine fake_quantize_per_tensor_affine",
    "weft.nn.compiled": "ScriptModule",
    "weft.nn.functional": """
adaptive_avg_pool1d avg_pool1d bilinear celu_ channel_shuffle conv1d conv2d conv3d conv_tbc conv_transpose1d
conv_transpose2d conv_transpose3d hardshrink max_pool1d max_pool1d_with_indices max_pool2d max_pool3d
native_channel_shuffle pixel_shuffle pixel_unshuffle prelu rms_norm selu_
""",
    "weft.nn.toplevel": """
_grid_sampler_2d_cpu_fallback _native_batch_norm_legit adaptive_max_pool1d affine_grid_generator alpha_dropout
alpha_dropout_ batch_norm batch_norm_update_stats binary_cross_entropy_with_logits celu convolution
cosine_embedding_loss ctc_loss dropout dropout_ embedding embedding_bag embedding_renorm_ feature_alpha_dropout
feature_alpha_dropout_ feature_dropout feature_dropout_ grid_sampler grid_sampler_2d grid_sampler_3d group_norm gru
gru_cell hinge_embedding_loss instance_norm kl_div layer_norm lstm lstm_cell margin_ranking_loss native_batch_norm
native_dropout native_group_norm native_layer_norm poisson_nll_loss rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell
rrelu rrelu_ selu threshold threshold_ triplet_margin_loss
""",
    "weft.nn.functional._aten_functions": "_masked_softmax _scaled_dot_product_attention_math",
    "weft.nn.functional.quantized": "_int_conv1d _int_conv2d _int_conv3d",
}

ATEN = {
    "native_dropout_backward": "weft.nn.functional.dropout:native_dropout_backward",
    "max_pool2d_with_indices_backward": "weft.nn.functional.pooling:max_pool2d_with_indices_backward",
    "_batch_norm_with_update": "weft.nn.toplevel:_batch_norm_with_update",
    "_upsample_bilinear2d_aa": "weft.nn.functional.upsampling:_upsample_bilinear2d_aa",
    **{
        name: f"weft.nn.functional._aten_functions:{name}"
        for name in """
_convolution _masked_softmax _prelu_kernel _scaled_dot_product_attention_math
_scaled_dot_product_flash_attention_for_cpu binary_cross_entropy convolution_backward elu elu_backward embedding
embedding_dense_backward hardtanh_backward huber_loss l1_loss leaky_relu_backward mse_loss mse_loss_backward
multi_margin_loss multilabel_margin_loss native_group_norm_backward native_layer_norm_backward nll_loss
nll_loss2d_backward nll_loss2d_forward nll_loss_backward nll_loss_forward reflection_pad1d reflection_pad2d
reflection_pad3d replication_pad1d replication_pad2d replication_pad3d slow_conv3d smooth_l1_loss soft_margin_loss
thnn_conv2d
""".split()
    },
}

OPERATORS = {"mkldnn": "weft.nn.functional._mkldnn"}  # defines torch.ops.mkldnn

LAYERS = "torch.nn.modules."
FILES = {
    "weft.distributions.distribution": {
        "ExponentialFamily": "torch.distributions.exp_family",
        "": "torch.distributions.distribution",
    },
    "weft.nn.activation": {"": f"{LAYERS}activation"},
    "weft.nn.adaptive": {"": f"{LAYERS}adaptive"},
    "weft.nn.containers": {"": f"{LAYERS}container"},
    "weft.nn.convolution": {"": f"{LAYERS}conv"},
    "weft.nn.distance": {"": f"{LAYERS}distance"},
    "weft.nn.dropout": {"": f"{LAYERS}dropout"},
    "weft.nn.flatten": {"": f"{LAYERS}flatten"},
    "weft.nn.fold": {"": f"{LAYERS}fold"},
    "weft.nn.functional.*": {"LinearCrossEntropyOptions": "torch.nn", "": "torch.nn.functional"},
    "weft.nn.lazy": {
        "BatchNorm": f"{LAYERS}batchnorm",
        "InstanceNorm": f"{LAYERS}instancenorm",
        "Conv": f"{LAYERS}conv",
        "Linear": f"{LAYERS}linear",
        "": f"{LAYERS}lazy",
    },
    "weft.nn.linear": {"": f"{LAYERS}linear"},
    "weft.nn.loss": {"": f"{LAYERS}loss"},
    "weft.nn.module": {"": f"{LAYERS}module"},
    "weft.nn._module.hooks": {"": f"{LAYERS}module"},
    "weft.nn._module.state_dict": {"": f"{LAYERS}module"},
    "weft.nn.multihead_attention": {"": f"{LAYERS}activation"},
    "weft.nn.normalization": {
        "BatchNorm": f"{LAYERS}batchnorm",
        "InstanceNorm": f"{LAYERS}instancenorm",
        "": f"{LAYERS}normalization",
    },
    "weft.nn.padding": {"": f"{LAYERS}padding"},
    "weft.nn.parallel.wrappers": {"": "torch.nn.parallel"},
    "weft.nn.pixelshuffle": {"Channel": f"{LAYERS}channelshuffle", "": f"{LAYERS}pixelshuffle"},
    "weft.nn.pooling": {"": f"{LAYERS}pooling"},
    "weft.nn.rnn": {"": f"{LAYERS}rnn"},
    "weft.nn.sparse": {"": f"{LAYERS}sparse"},
    "weft.nn.transformer": {"": f"{LAYERS}transformer"},
    "weft.nn.upsampling": {"": f"{LAYERS}upsampling"},
    "weft.nn.utils.spectral_norm_hook": {"": "torch.nn.utils.spectral_norm"},
    "weft.nn.utils.weight_norm_hook": {"": "torch.nn.utils.weight_norm"},
    "weft.optim.adafactor": {"": "torch.optim"},
    "weft.optim.muon": {"": "torch.optim"},
}

LOWERING = "weft.nn.functional._aten_lowering"  # declares what modes of __torch_dispatch__ are shown
SAMPLES = "weft.nn.functional._samples"  # declares what `weft.testing` tries the functions with
