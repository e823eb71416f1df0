"""For which names a backend may have kernels.

Made by scripts/make_stubs.py (./dev lint --fix), not by hand.
"""

NAMES = {
    "core": """
_dirichlet_grad _sample_dirichlet _standard_gamma _standard_gamma_grad abs acos acosh add add_scaled addcdiv addcmul
addmm airy_ai alias all amax amin angle any argmax argmin argwhere as_strided asin asinh assign assign_at atan atan2
atanh bernoulli bernoulli_fill bessel_j0 bessel_j1 bessel_y0 bessel_y1 bincount binomial bitwise_and
bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor block_diag cat cauchy ceil
chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w clamp clone complex conj
conj_physical contiguous_copy convert copy copysign cos cosh count_nonzero csr_matmul csr_solve cummax cummin cumprod
cumsum deg2rad detach diagonal digamma div div_floor div_trunc embed entr eq erf erfc erfcx erfinv exp exp2 expand
expm1 exponential fft_c2c fft_c2r fft_covered fft_r2c fill flip floor floor_divide fmax fmin fmod frac frexp gather
gather_backward gcd ge geometric geqrf getitem gt hash_tensor heaviside hermite_polynomial_h hermite_polynomial_he
histc hypot i0 i0e i1 i1e igamma igammac imag index index_add index_put index_select int_mm integer_prod integer_sum
isfinite isin isinf isnan isneginf isposinf isreal kron kthvalue laguerre_polynomial_l lcm ldexp le
legendre_polynomial_p lerp lgamma linalg_cholesky linalg_cholesky_solve linalg_columns linalg_cross linalg_det
linalg_eig linalg_eigh linalg_eigvals linalg_eigvalsh linalg_inv linalg_ldl_factor linalg_ldl_solve linalg_lobpcg
linalg_lu_factor linalg_matrix_exp linalg_pinv linalg_qr linalg_slogdet linalg_solve linalg_solve_triangular
linalg_svd linalg_svdvals log log10 log1p log2 log_ndtr log_normal log_softmax log_softmax_backward logaddexp
logaddexp2 logcumsumexp logical_and logical_not logical_or logical_xor logit logsumexp lt lu_permutation masked_fill
matmul max max_all maximum mean median_all median_of min min_all minimum mode modified_bessel_i0 modified_bessel_i1
modified_bessel_k0 modified_bessel_k1 mul multinomial nan_to_num nansum ndtr ndtri ne neg neg_view nextafter nonzero
nonzero_static normal normal_fill permute poisson polygamma pow prod rad2deg random real reciprocal relu remainder
repeat_interleave roll round rsqrt scaled_modified_bessel_k0 scaled_modified_bessel_k1 scatter scatter_product
scatter_reduce searchsorted segment_extremes select setitem sgn shifted_chebyshev_polynomial_t
shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v shifted_chebyshev_polynomial_w sigmoid sigmoid_backward
sign signbit sin sinc sinh slice softmax softmax_backward sort spherical_bessel_j0 split spread sqrt square squeeze
stack std sub sum tan tanh tanh_backward threshold_backward topk transfer transpose tril triu trunc unbind unfold
unfold_backward uniform unique unique_consecutive unsqueeze var vector_norm view view_as_complex view_as_real
view_dtype view_scatter where xlog1py xlogy zeta
""",
    "foreach": """
abs abs_ acos acos_ add add_ addcdiv addcdiv_ addcmul addcmul_ asin asin_ atan atan_ ceil ceil_ clamp_max clamp_max_
clamp_min clamp_min_ clone copy_ cos cos_ cosh cosh_ div div_ erf erf_ erfc erfc_ exp exp_ expm1 expm1_ floor floor_
frac frac_ lerp lerp_ lgamma lgamma_ log log10 log10_ log1p log1p_ log2 log2_ log_ max maximum maximum_ minimum
minimum_ mm mul mul_ neg neg_ norm pow pow_ powsum reciprocal reciprocal_ round round_ rsqrt rsqrt_ sigmoid sigmoid_
sign sign_ sin sin_ sinh sinh_ sqrt sqrt_ sub sub_ tan tan_ tanh tanh_ trunc trunc_ zero_
""",
    "nn": """
adaptive_max_pool_with_indices attention attention_gradient avg_pool avg_pool_gradient bag_numbers batch_norm_gradient
batch_norm_training binary_cross_entropy binary_cross_entropy_with_logits channel_affine conv1d conv1d_input_gradient
conv1d_weight_gradient conv2d conv2d_input_gradient conv2d_weight_gradient conv3d conv3d_input_gradient
conv3d_weight_gradient cross_entropy cross_entropy_gradient ctc_loss ctc_loss_gradient difference_loss
difference_loss_gradient dropout elu elu_backward embedding embedding_bag embedding_gradient fold
fractional_max_pool_with_indices gelu gelu_backward glu glu_backward group_norm group_norm_gradient gru_layer
gru_layer_gradient hardsigmoid hardsigmoid_backward hardswish hardswish_backward hardtanh hardtanh_backward int_conv1d
int_conv2d int_conv3d layer_norm layer_norm_gradient leaky_relu leaky_relu_backward linear logits_loss_gradient
logsigmoid logsigmoid_backward lstm_layer lstm_layer_gradient max_pool_gradient max_pool_with_indices mish
mish_backward nll_loss nll_loss_gradient normalized one_hot pad_constant pad_inside pad_inside_backward prelu
prelu_backward redrawn_attention redrawn_dropout resample rms_norm rms_norm_gradient rnn_layer rnn_layer_gradient
sample sample_grid_gradient sample_input_gradient shrink shrink_backward silu silu_backward softplus softplus_backward
softsign softsign_backward threshold unfold
""",
    "optim": """
adadelta_step adagrad_step adam_step adamax_step asgd_step nadam_step radam_step rmsprop_step rprop_step sgd_step
""",
    "quantized_decomposed": """
dequantize quantize
""",
    "vision": """
blend_integers box_iou_rotated luma_of_integers nms ps_roi_align ps_roi_align_gradient ps_roi_pool
ps_roi_pool_gradient roi_align roi_align_gradient roi_pool
""",
}
