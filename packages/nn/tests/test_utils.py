"""weft.nn.utils: clipping, vectors of parameters, skip_init, batches of sequences."""

import math

import pytest

import weft
from weft import nn
from weft.nn.utils import rnn


def parameters_with_gradients(*gradients):
    parameters = []
    for gradient in gradients:
        parameters.append(nn.Parameter(weft.zeros(len(gradient))))
        parameters[-1].grad = weft.tensor(gradient)
    return parameters


def test_clip_grad_norm_scales_to_the_limit_and_returns_the_norm_before():
    parameters = parameters_with_gradients([3.0, 0.0], [4.0])
    assert nn.utils.clip_grad_norm_(parameters, 1.0).item() == pytest.approx(5.0)
    assert parameters[0].grad.tolist() == pytest.approx([0.6, 0.0], rel=1e-5)
    assert parameters[1].grad.tolist() == pytest.approx([0.8], rel=1e-5)


def test_clip_grad_norm_leaves_small_gradients_alone():
    parameters = parameters_with_gradients([3.0, 4.0])
    nn.utils.clip_grad_norm_(parameters, 10.0)
    assert parameters[0].grad.tolist() == [3.0, 4.0]


@pytest.mark.parametrize(("norm_type", "norm"), [(1, 8.0), (2, math.sqrt(26)), (math.inf, 4.0)])
def test_norms_of_all_gradients_as_one_vector(norm_type, norm):
    parameters = parameters_with_gradients([3.0, -1.0], [4.0])
    gradients = [parameter.grad for parameter in parameters]
    assert nn.utils.get_total_norm(gradients, norm_type).item() == pytest.approx(norm)
    assert nn.utils.clip_grad_norm_(iter(parameters), 1.0, norm_type).item() == pytest.approx(norm)


def test_a_norm_that_is_not_finite_raises_on_request():
    parameters = parameters_with_gradients([math.nan])
    with pytest.raises(RuntimeError, match="non-finite"):
        nn.utils.clip_grad_norm_(parameters, 1.0, error_if_nonfinite=True)


def test_no_gradients_have_norm_zero():
    assert nn.utils.clip_grad_norm_([nn.Parameter(weft.zeros(1))], 1.0).item() == 0.0


def test_clip_grad_value_limits_each_element():
    (parameter,) = parameters_with_gradients([3.0, -0.5, -2.0])
    nn.utils.clip_grad_value_(parameter, 1.0)
    assert parameter.grad.tolist() == [1.0, -0.5, -1.0]


def test_parameters_become_a_vector_and_back():
    module = nn.Linear(2, 3)
    vector = nn.utils.parameters_to_vector(module.parameters())
    assert vector.tolist() == [*module.weight.flatten().tolist(), *module.bias.tolist()]
    nn.utils.vector_to_parameters(weft.arange(9.0), module.parameters())
    assert module.weight.tolist() == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
    assert module.bias.tolist() == [6.0, 7.0, 8.0]
    with pytest.raises(TypeError, match="expected Tensor"):
        nn.utils.vector_to_parameters([1.0], module.parameters())


def test_skip_init_gives_shapes_and_draws_nothing():
    weft.manual_seed(0)
    module = nn.utils.skip_init(nn.Linear, 3, 4)
    after = weft.rand(1).item()
    weft.manual_seed(0)
    assert weft.rand(1).item() == after
    assert module.weight.shape == (4, 3)
    with pytest.raises(RuntimeError, match="device"):
        nn.utils.skip_init(nn.ReLU)
    with pytest.raises(RuntimeError, match="subclass of Module"):
        nn.utils.skip_init(dict)
    with pytest.raises(TypeError, match="subclass of Module"):
        nn.utils.skip_init(3)


# -- sequences -------------------------------------------------------------------------------------------------------

SEQUENCES = [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0, 6.0], [7.0, 8.0]]


def sequences():
    return [weft.tensor(values) for values in SEQUENCES]


def test_pad_sequence_fills_the_shorter_ones():
    assert rnn.pad_sequence(sequences(), batch_first=True).tolist() == [
        [0.0, 1.0, 2.0, 0.0],
        [3.0, 4.0, 5.0, 6.0],
        [7.0, 8.0, 0.0, 0.0],
    ]
    left = rnn.pad_sequence(sequences(), True, padding_value=-1.0, padding_side="left")
    assert left[2].tolist() == [-1.0, -1.0, 7.0, 8.0]
    assert rnn.pad_sequence(sequences()).shape == (4, 3)


def test_packing_puts_steps_in_a_row_longest_first():
    packed = rnn.pack_sequence(sequences(), enforce_sorted=False)
    assert packed.data.tolist() == [3.0, 0.0, 7.0, 4.0, 1.0, 8.0, 5.0, 2.0, 6.0]
    assert packed.batch_sizes.tolist() == [3, 3, 2, 1]
    assert packed.sorted_indices.tolist() == [1, 0, 2]
    assert packed.unsorted_indices.tolist() == [1, 0, 2]


def test_unpacking_undoes_packing():
    packed = rnn.pack_sequence(sequences(), enforce_sorted=False)
    assert [sequence.tolist() for sequence in rnn.unpack_sequence(packed)] == SEQUENCES
    padded, lengths = rnn.pad_packed_sequence(packed, batch_first=True, padding_value=9.0, total_length=5)
    assert lengths.tolist() == [3, 4, 2]
    assert padded[2].tolist() == [7.0, 8.0, 9.0, 9.0, 9.0]


def test_a_packed_sequence_is_cast_with_its_data():
    assert rnn.pack_sequence(sequences(), enforce_sorted=False).double().data.dtype is weft.float64


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: rnn.pack_sequence(sequences()), RuntimeError),
        (lambda: rnn.pack_padded_sequence(weft.ones(2, 2), [2, 0]), RuntimeError),
        (lambda: rnn.pack_padded_sequence(weft.ones(2, 2), [2]), RuntimeError),
        (lambda: rnn.pack_padded_sequence(weft.ones(2, 2), [3, 1]), RuntimeError),
        (lambda: rnn.pad_sequence(3), RuntimeError),
        (lambda: rnn.pad_sequence(sequences(), padding_side="top"), RuntimeError),
        (lambda: rnn.pad_packed_sequence(rnn.pack_sequence(sequences()[1:2]), total_length=2), ValueError),
    ],
)
def test_wrong_batches_are_refused(call, error):
    with pytest.raises(error):
        call()


def test_unpadded_sequences_have_memory_of_their_own():
    padded = weft.ones(3, 2)
    for sequence in rnn.unpad_sequence(padded, weft.tensor([3, 1])):
        sequence.zero_()
    assert padded.sum() == 6


def test_clipping_the_gradients_of_a_generator_that_is_empty_warns():
    parameters = iter([])
    with pytest.warns(UserWarning, match="empty generator"):
        nn.utils.clip_grad_norm_(parameters, 1.0)
    assert nn.utils.clip_grad_norm_([], 1.0).item() == 0
