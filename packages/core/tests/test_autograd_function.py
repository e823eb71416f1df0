"""Custom functions, in both styles: what they may do with their inputs, and what is checked."""

import pytest

import weft
from weft.autograd import Function, grad, gradcheck, gradgradcheck
from weft.autograd.function import once_differentiable


def leaf(*values):
    return weft.tensor(values or (1.0, 1.0), requires_grad=True)


def function(forward, backward, **more):
    """A Function from two plain functions."""
    return type("Made", (Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward), **more})


class Square(Function):
    @staticmethod
    def forward(ctx, x, scale=1):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return x * x * scale

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * grad * ctx.scale, None


class Exp(Function):
    @staticmethod
    def forward(ctx, x):
        output = x.exp()
        ctx.save_for_backward(output)
        return output

    @staticmethod
    def backward(ctx, grad):
        (output,) = ctx.saved_tensors
        return grad * output


class Split(Function):
    """The second style: forward without ctx."""

    @staticmethod
    def forward(x, scale):
        return x * scale, x + 1

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.scale = inputs[1]
        ctx.save_for_backward(inputs[0], output[0])

    @staticmethod
    def backward(ctx, first, second):
        x, scaled = ctx.saved_tensors
        return first * ctx.scale + second + 0 * (x + scaled), None


def test_both_styles_give_right_first_and_second_derivatives():
    x = weft.tensor([0.5, -1.5], dtype=weft.float64, requires_grad=True)
    for apply in (lambda a: Square.apply(a, 3), Exp.apply, lambda a: Split.apply(a, 2)):
        assert gradcheck(apply, x)
        assert gradgradcheck(apply, x)


def test_the_node_is_the_ctx_and_bears_the_functions_name():
    y = Square.apply(leaf(), 5)
    assert y.grad_fn.name() == type(y.grad_fn).__name__ == "SquareBackward"
    assert y.grad_fn.scale == 5
    assert y.grad_fn.needs_input_grad == (True, False)
    assert [each.output_nr for each in Split.apply(leaf(), 2)] == [0, 1]


def test_without_recording_there_is_no_history():
    with weft.no_grad():
        assert Square.apply(leaf()).grad_fn is None
    assert Square.apply(weft.ones(2)).grad_fn is None


def test_forward_and_backward_are_not_recorded_unless_asked_for():
    seen = []

    def forward(ctx, x):
        seen.append(weft.is_grad_enabled())
        return x * 2

    def backward(ctx, grad):
        seen.append(weft.is_grad_enabled())
        return grad * 2

    made, x = function(forward, backward), leaf()
    made.apply(x).sum().backward()
    grad(made.apply(x).sum(), x, create_graph=True)
    assert seen == [False, False, False, True]


@pytest.mark.parametrize(
    ("returned", "error", "says"),
    [
        (lambda g: g, RuntimeError, "expected 2, got 1"),
        (lambda g: (g, g, g), RuntimeError, "expected 2, got 3"),
        (lambda g: (g, g), RuntimeError, "not a Variable"),
        (lambda g: (weft.ones(3), None), RuntimeError, r"\[3\].*\[2\]"),
        (lambda g: (3.0, None), RuntimeError, "float"),
    ],
)
def test_what_backward_returns_is_checked(returned, error, says):
    made, x = function(lambda ctx, x, k: x * k, lambda ctx, g: returned(g)), leaf()
    with pytest.raises(error, match=says):
        made.apply(x, 2).sum().backward()
    assert x.grad is None


def test_none_for_further_arguments_may_be_returned():
    made, x = function(lambda ctx, x: x * 2, lambda ctx, g: (g * 2, None)), leaf()
    made.apply(x).sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_a_gradient_is_summed_and_converted_to_what_the_input_is():
    made, x = function(lambda ctx, x: x.double(), lambda ctx, g: weft.ones(3, 2, dtype=weft.float64)), leaf()
    made.apply(x).sum().backward()
    assert x.grad.tolist() == [3, 3]
    assert x.grad.dtype is weft.float32


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda x: type("Empty", (Function,), {}).apply(x), NotImplementedError),
        (lambda x: function(lambda ctx, x: x * 2, Function.backward).apply(x).sum().backward(), NotImplementedError),
        (lambda x: function(lambda ctx, x: ctx.save_for_backward(3), None).apply(x), TypeError),
    ],
)
def test_wrong_use_is_refused(call, error):
    with pytest.raises(error):
        call(leaf())


def test_gradients_that_did_not_arrive_are_zeros_or_none():
    seen = []

    def forward(ctx, x, materialize):
        ctx.set_materialize_grads(materialize)
        return x * 2, x * 3, 5

    def backward(ctx, first, second, number):
        seen.append((second, number))
        return first, None

    made, x = function(forward, backward), leaf()
    made.apply(x, True)[0].sum().backward()
    made.apply(x, False)[0].sum().backward()
    assert seen[0][0].tolist() == [0, 0]
    assert seen[0][1] is None
    assert seen[1] == (None, None)


def test_outputs_without_gradient():
    seen = []

    def forward(ctx, x):
        flagged = x * 2
        ctx.mark_non_differentiable(flagged)
        return x * 3, flagged, x.argsort()

    def backward(ctx, first, flagged, places):
        seen.extend((flagged.tolist(), places.tolist()))
        return first * 3

    x = leaf(2.0, 1.0)
    value, flagged, places = function(forward, backward).apply(x)
    assert (value.requires_grad, flagged.requires_grad, places.requires_grad) == (True, False, False)
    value.sum().backward()
    assert seen == [[0, 0], [0, 0]]
    assert x.grad.tolist() == [3, 3]


def test_ctx_says_which_arguments_need_a_gradient():
    seen = []

    def forward(ctx, x, y, z):
        seen.append(ctx.needs_input_grad)
        return x * y

    made = function(forward, lambda ctx, g: (g, g, None))
    made.apply(leaf(), weft.ones(2), 1)
    made.apply(leaf(), leaf(), 1)
    made.apply([leaf()][0].detach(), leaf(), None)
    assert seen == [(True, False, False), (True, True, False), (False, True, False)]


def test_an_input_that_is_returned_is_another_tensor_over_the_same_memory():
    made, x = function(lambda ctx, x: x, lambda ctx, g: g * 7), leaf()
    y = made.apply(x)
    assert y is not x
    assert y.data_ptr() == x.data_ptr()
    assert y.grad_fn.name() == "MadeBackward"
    y.sum().backward()
    assert x.grad.tolist() == [7, 7]
    with pytest.raises(RuntimeError, match="view"):
        y.add_(1)


def test_a_view_that_is_returned_has_the_functions_gradient_and_is_not_written_to():
    made = function(lambda ctx, x: x[0], lambda ctx, g: weft.stack([g * 7, g * 0]))
    x = weft.ones(2, 3, requires_grad=True)
    y = made.apply(x * 1)
    with pytest.raises(RuntimeError, match="view"):
        y.add_(1)
    y.sum().backward()
    assert x.grad.tolist() == [[7] * 3, [0] * 3]


def test_one_output_twice_gets_both_gradients():
    def forward(ctx, x):
        output = x * 2
        return output, output

    x = leaf()
    first, second = function(forward, lambda ctx, g, h: 2 * g + 2 * h).apply(x)
    assert first is second
    (first + second).sum().backward()
    assert x.grad.tolist() == [4, 4]


def double_in_place(ctx, x):
    ctx.mark_dirty(x)
    return x.mul_(2)


Doubled = function(double_in_place, lambda ctx, g: g * 2)


def test_an_input_that_is_written_to_is_the_output_and_has_its_history():
    x = leaf()
    y = x * 1
    before = y._version
    z = Doubled.apply(y)
    assert z is y
    assert y._version > before
    assert y.grad_fn.name() == "MadeBackward"
    (z * 3).sum().backward()
    assert x.grad.tolist() == [6, 6]
    with pytest.raises(RuntimeError, match="leaf"):
        Doubled.apply(x)


def test_writing_to_a_view_passes_the_history_on_to_its_base():
    x = leaf(1.0, 1.0, 1.0, 1.0)
    base = x * 1
    view = base[:2]
    Doubled.apply(view)
    (base * 3).sum().backward(retain_graph=True)
    assert x.grad.tolist() == [6, 6, 3, 3]
    x.grad = None
    (view * 3).sum().backward()
    assert x.grad.tolist() == [6, 6, 0, 0]
    made = function(lambda ctx, a, y: ctx.mark_dirty(a) or a.mul_(y), lambda ctx, g: (g * 0, g * 5))
    y, constant = leaf(), weft.ones(4)
    made.apply(constant[:2], y)
    constant.sum().backward()
    assert y.grad.tolist() == [5, 5]


def test_what_is_marked_as_written_to_must_be_returned():
    made = function(lambda ctx, x: ctx.mark_dirty(x) or x * 2, lambda ctx, g: g)
    with pytest.raises(RuntimeError, match="dirty"):
        made.apply(leaf() * 1)


def test_what_was_saved_must_not_change():
    y = leaf() * 1
    z = Square.apply(y)
    y.add_(1)
    with pytest.raises(RuntimeError, match="inplace"):
        z.sum().backward()
    z = Exp.apply(leaf())
    z.add_(1)
    with pytest.raises(RuntimeError, match="inplace"):
        z.sum().backward()


def test_what_was_saved_is_there_for_one_pass():
    y = Square.apply(leaf())
    y.sum().backward()
    with pytest.raises(RuntimeError, match="retain_graph"):
        y.grad_fn.saved_tensors
    nothing = function(lambda ctx, x: x * 2, lambda ctx, g: g * 2).apply(leaf()).sum()
    nothing.backward(retain_graph=True)
    nothing.backward()


def test_a_backward_that_cannot_be_differentiated_says_so():
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 2 * x

    made = function(lambda ctx, x: ctx.save_for_backward(x) or x * x, once_differentiable(backward))
    x = leaf()
    made.apply(x).sum().backward()
    assert x.grad.tolist() == [2, 2]
    weight = leaf()
    (found,) = grad((made.apply(x) * weight).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        found.sum().backward()


def test_a_function_is_no_longer_called_by_an_instance():
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        made = Square()
    with pytest.raises(RuntimeError, match="Legacy autograd function"):
        made(leaf())


def test_what_cannot_be_saved_is_an_error_only_where_the_call_is_recorded():
    saving = function(lambda ctx, x: ctx.save_for_backward(3) or x * 1, lambda ctx, grad: grad)
    assert saving.apply(weft.ones(1)).tolist() == [1]
    with pytest.raises(TypeError, match="can only save variables"):
        saving.apply(leaf())


def test_a_function_that_writes_to_a_view_returns_that_alone():
    twice = function(lambda ctx, x: (ctx.mark_dirty(x), x.mul_(2), (x, x))[2], lambda ctx, one, other: one + other)
    assert twice.apply(leaf().clone())[0].tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="must return only one output"):
        twice.apply(leaf().clone()[:1])


def test_the_older_name_of_saved_tensors_warns():
    older = function(lambda ctx, x: ctx.save_for_backward(x) or x * 1, lambda ctx, grad: grad * ctx.saved_variables[0])
    x = leaf(3.0)
    with pytest.warns(DeprecationWarning, match="saved_variables"):
        older.apply(x).backward()
    assert x.grad.tolist() == [3]


def test_backward_gets_none_for_outputs_without_gradient_where_it_says_so():
    seen = []

    def forward(ctx, x):
        kept, other = x * 1, x * 2
        ctx.mark_non_differentiable(other)
        ctx._materialize_non_diff_grads = False
        return kept, other

    function(forward, lambda ctx, one, other: seen.append(other) or one).apply(leaf())[0].sum().backward()
    assert seen == [None]


@pytest.mark.parametrize(
    ("forward", "says"),
    [
        (lambda ctx, x: ctx.mark_dirty(3) or x * 1, "mark_dirty can only accept"),
        (lambda ctx, x: ctx.mark_non_differentiable(3) or x * 1, "mark_non_differentiable only accepts"),
    ],
)
def test_only_tensors_are_marked(forward, says):
    with pytest.raises(RuntimeError, match=says):
        function(forward, lambda ctx, grad: grad).apply(leaf())


@pytest.mark.parametrize("forward", [lambda ctx, x: x.view_as(x), lambda ctx, x: x], ids=["a view", "an input"])
def test_a_view_from_a_custom_function_is_not_written_to(forward):
    output = function(forward, lambda ctx, grad: grad).apply(leaf() * 1)
    with pytest.raises(RuntimeError, match="created inside a custom Function"):
        output.add_(1)


@pytest.mark.parametrize(
    ("tangents", "says"),
    [
        (lambda x: (x, x), "expected 1 but got 2"),
        (lambda x: 3, "expected Variable or None"),
        (lambda x: weft.ones(3), "different size"),
    ],
)
def test_a_jvp_returns_a_tangent_for_each_output(tangents, says):
    made = function(lambda ctx, x: x * 2, None, jvp=staticmethod(lambda ctx, x: tangents(x)))
    with weft.autograd.forward_ad.dual_level():
        dual = weft.autograd.forward_ad.make_dual(weft.ones(2), weft.ones(2))
        with pytest.raises(RuntimeError, match=says):
            made.apply(dual)


class Nothing(Function):
    """Has no gradient of its argument, although that requires one."""

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return None


def test_a_custom_function_gets_zeros_where_the_one_after_it_had_no_gradient():
    seen = []

    class Halves(Function):
        @staticmethod
        def forward(ctx, x):
            return x[:1] * 1, x[1:] * 1

        @staticmethod
        def backward(ctx, *grads):
            seen.append([each.tolist() for each in grads])
            return weft.cat(grads)

    x = weft.ones(3, requires_grad=True)
    first, second = Halves.apply(x)
    Nothing.apply(second).sum().backward(retain_graph=True)
    assert seen == [[[0.0], [0.0, 0.0]]] and x.grad.tolist() == [0, 0, 0]
    (first.sum() + Nothing.apply(second * 3).sum()).backward()  # also through operations
    assert seen[1:] == [[[1.0], [0.0, 0.0]]] and x.grad.tolist() == [1, 0, 0]


def test_no_gradient_passes_operations_and_adds_to_those_that_come_after_it():
    x = weft.tensor([1.0, 2.0], requires_grad=True)
    y = x * x  # an old node, which hears of nothing first, and of a gradient later
    z = y.exp()
    Nothing.apply(y).sum().backward(retain_graph=True)
    assert x.grad is None
    (found,) = weft.autograd.grad(y.sum() + Nothing.apply(y).sum(), x, retain_graph=True)
    assert weft.equal(found, 2 * x.detach())
    (Nothing.apply(y).sum() + Nothing.apply(z).sum() + y.sum() + y.sum()).backward()
    assert weft.equal(x.grad, 4 * x.detach())
    a, b = weft.ones(4, requires_grad=True).split(2)
    assert weft.autograd.grad(Nothing.apply(a).sum() + b.sum(), b)[0].tolist() == [1, 1]


def test_gradcheck_refuses_sparse_outputs_and_hooks_that_undefined_gradients_break():
    sparse = weft.eye(2, dtype=weft.float64).to_sparse().requires_grad_()
    with pytest.raises(ValueError, match="Sparse output is not supported"):
        weft.autograd.gradcheck(lambda x: x * 2, sparse)

    def fail_at_none(grad):
        if grad is None:
            raise RuntimeError("no gradient")

    def refuses_none(x):
        y = x.clone()
        y.register_hook(fail_at_none)
        return y

    x = weft.ones(1, dtype=weft.float64, requires_grad=True)
    with (
        pytest.warns(UserWarning, match="New undefined gradient support checking"),
        pytest.raises(weft.autograd.GradcheckError, match="handle undefined output grads"),
    ):
        weft.autograd.gradcheck(refuses_none, x)


class Alias(weft.autograd.Function):
    """A view, by a custom function."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return grad


def test_a_write_to_a_view_of_a_custom_function_is_refused_whether_or_not_its_input_required_grad():
    for x in (weft.ones(2), weft.ones(2, requires_grad=True).clone()):
        with pytest.raises(RuntimeError, match="This view was created inside a custom Function"):
            Alias.apply(x).add_(weft.ones(2, requires_grad=True))
        with weft.no_grad():
            view = Alias.apply(x).t_()
        if x.requires_grad:
            with pytest.raises(RuntimeError, match="A view was created in no_grad mode"):
                view.add_(1)


def test_one_of_several_outputs_of_a_custom_function_is_refused_as_such():
    class Two(Alias):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x), x + 1

    with pytest.raises(RuntimeError, match=r"Output 0 of TwoBackward is a view .* returns multiple views"):
        Two.apply(weft.ones(2, requires_grad=True).clone())[0].add_(1)


def test_only_inputs_are_marked_as_dirty():
    class Makes(Alias):
        @staticmethod
        def forward(ctx, x):
            made = x * 3
            ctx.mark_dirty(made)
            return made

    class MakesView(Alias):
        @staticmethod
        def forward(ctx, x):
            made = x.clone().view_as(x)
            ctx.mark_dirty(made)
            return made

    x = weft.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="Only input Tensors should be given to ctx.mark_dirty"):
        assert Makes.apply(x).tolist() == [3, 3]
    with pytest.raises(RuntimeError, match="received a tensor that was not an input"):
        MakesView.apply(x)


def test_setup_context_gets_the_defaults_of_forward_and_backward_has_one_name():
    class Power(weft.autograd.Function):
        @classmethod
        def forward(cls, x, exponent=3):
            return x**exponent

        @classmethod
        def setup_context(cls, ctx, inputs, output):
            x, ctx.exponent = inputs
            ctx.save_for_backward(x)

        @classmethod
        def backward(cls, ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * ctx.exponent * x ** (ctx.exponent - 1), None

    x = weft.tensor(2.0, requires_grad=True)
    assert weft.autograd.grad(Power.apply(x), x)[0] == 12

    class Twice(Alias):
        @staticmethod
        def vjp(ctx, grad):
            return grad

    with pytest.raises(RuntimeError, match="Implementing both 'backward' and 'vjp'"):
        Twice.apply(x).backward()


def dual_of_custom_function(forward, jvp):
    """What a custom function gives for a dual tensor of 1 with the tangent 1, which is its second part."""
    function = type("Custom", (weft.autograd.Function,), {"forward": staticmethod(forward), "jvp": staticmethod(jvp)})
    tangent = weft.ones(2)
    with weft.autograd.forward_ad.dual_level() as level:
        assert level == 0
        dual = weft.autograd.forward_ad.make_dual(weft.ones(2), tangent)
        out = function.apply(dual)
        return out is dual, *weft.autograd.forward_ad.unpack_dual(out), tangent


def double_in_place(ctx, x):
    ctx.mark_dirty(x)
    return x.mul_(2)


def test_jvp_of_a_function_in_place_changes_the_tangent_in_place():
    same, value, tangent, given = dual_of_custom_function(double_in_place, lambda ctx, tangent: tangent.mul_(2))
    assert same
    assert tangent is given
    assert (value.tolist(), tangent.tolist()) == ([2, 2], [2, 2])
    for wrong in (lambda ctx, tangent: tangent * 2, lambda ctx, tangent: tangent):
        with pytest.raises(RuntimeError, match="must modify the corresponding gradient inplace"):
            dual_of_custom_function(double_in_place, wrong)


def test_jvp_of_a_function_that_returns_a_view_returns_the_view_of_the_tangent():
    def first(ctx, x):
        return x[:1]

    *_, tangent, given = dual_of_custom_function(first, lambda ctx, tangent: tangent[:1])
    assert tangent._base is given
    for wrong, message in (
        (lambda ctx, tangent: tangent[:1].clone(), "jvp is not returning a view"),
        (lambda ctx, tangent: tangent[:1].clone().view(1), "jvp is not returning a view of the given"),
    ):
        with pytest.raises(RuntimeError, match=message):
            dual_of_custom_function(first, wrong)


def test_jvp_reads_what_was_saved_for_forward_and_gives_no_tangent_of_what_has_none():
    def saves(ctx, x):
        ctx.save_for_backward(x)
        seen.append(ctx)
        return x * 2

    seen = []
    dual_of_custom_function(saves, lambda ctx, tangent: seen.append(ctx.saved_tensors) or tangent)
    assert seen[1:] == [()]

    def indices(ctx, x):
        return x.argsort()

    with pytest.raises(RuntimeError, match="should return None at that position"):
        dual_of_custom_function(indices, lambda ctx, tangent: tangent)
