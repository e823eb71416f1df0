"""What weft-nn adds to the top level of `weft`, by the module that has it: PyTorch's functions of neural networks."""

NAMES = {
    "weft.nn.functional": """
adaptive_avg_pool1d avg_pool1d bilinear celu_ channel_shuffle conv1d conv2d conv3d conv_tbc conv_transpose1d
conv_transpose2d conv_transpose3d hardshrink max_pool1d max_pool1d_with_indices max_pool2d max_pool3d
native_channel_shuffle pixel_shuffle pixel_unshuffle prelu rms_norm selu_
""",
    "weft.nn.toplevel": """
_native_batch_norm_legit adaptive_max_pool1d affine_grid_generator alpha_dropout alpha_dropout_ batch_norm
batch_norm_update_stats binary_cross_entropy_with_logits celu convolution cosine_embedding_loss ctc_loss dropout
dropout_ embedding embedding_bag embedding_renorm_ feature_alpha_dropout feature_alpha_dropout_ feature_dropout
feature_dropout_ grid_sampler grid_sampler_2d grid_sampler_3d group_norm gru gru_cell hinge_embedding_loss
instance_norm kl_div layer_norm lstm lstm_cell margin_ranking_loss native_batch_norm native_dropout native_group_norm
native_layer_norm poisson_nll_loss rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell rrelu rrelu_ selu threshold
threshold_ triplet_margin_loss
""",
    "weft.nn.functional.quantized": "_int_conv1d _int_conv2d _int_conv3d",
}

ATEN = {
    "native_dropout_backward": "weft.nn.functional.dropout:native_dropout_backward",
    "max_pool2d_with_indices_backward": "weft.nn.functional.pooling:max_pool2d_with_indices_backward",
    "_batch_norm_with_update": "weft.nn.toplevel:_batch_norm_with_update",
    "_upsample_bilinear2d_aa": "weft.nn.functional.upsampling:_upsample_bilinear2d_aa",
}
