"""weft.func: derivatives of functions; each result against a closed form."""

import pytest

import weft
from weft.autograd import Function, forward_ad
from weft.func import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap

X = weft.tensor([1.0, 2.0, 3.0])


def close(a, b):
    return weft.allclose(a, weft.as_tensor(b, dtype=a.dtype))


def cube(x):
    return (x**3).sum()


def test_grad_is_the_derivative():
    assert close(grad(cube)(X), [3, 12, 27])


def test_grads_nest():
    assert grad(grad(grad(lambda x: x**4)))(weft.tensor(2.0)) == 48


def test_perturbations_of_nested_grads_are_not_confused():
    def outer(x):
        return x * grad(lambda y: x + y)(weft.tensor(2.0))

    assert grad(outer)(weft.tensor(1.0)) == 1


def test_grad_and_value_return_aux():
    gradient, (value, aux) = grad_and_value(lambda x: (cube(x), x * 2), has_aux=True)(X)
    assert close(gradient, [3, 12, 27])
    assert value == 36
    assert close(aux, [2, 4, 6])


def test_grad_of_containers_has_their_structure():
    found = grad(lambda p: (p["a"] * p["b"][0]).sum())({"a": X, "b": [X * 2]})
    assert close(found["a"], X * 2)
    assert close(found["b"][0], X)


def test_grad_of_several_arguments():
    first, third = grad(lambda a, b, c: (a * b * c).sum(), argnums=(0, 2))(X, X, X)
    assert close(first, X * X)
    assert close(third, X * X)


def test_results_of_grad_have_no_history_of_their_own():
    assert not grad(cube)(X).requires_grad


def test_grad_composes_with_backward():
    x = X.clone().requires_grad_()
    grad(cube)(x).sum().backward()
    assert close(x.grad, 6 * X)


def test_no_grad_outside_of_grad_does_not_reach_in():
    with weft.no_grad():
        assert close(grad(cube)(X), [3, 12, 27])


def test_no_grad_inside_of_grad_is_a_constant():
    def function(x):
        with weft.no_grad():
            constant = x**2
        return (x * constant).sum()

    assert close(grad(function)(X), X**2)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: x * 2, "scalar tensor"),
        (lambda x: 1.0, "return a Tensor"),
    ],
)
def test_grad_refuses_what_is_no_scalar(function, message):
    with pytest.raises(RuntimeError, match=message):
        grad(function)(X)


def test_grad_refuses_an_argument_that_is_not_there():
    with pytest.raises(RuntimeError, match="argnum=2"):
        grad(cube, argnums=2)(X)


def test_vjp_pulls_back_and_may_do_so_again():
    value, pull_back = vjp(lambda x: {"double": x * 2, "square": x**2}, X)
    assert close(value["square"], X**2)
    for _ in range(2):
        (found,) = pull_back({"double": weft.ones(3), "square": weft.ones(3)})
        assert close(found, 2 + 2 * X)


def test_vjp_refuses_another_structure():
    _, pull_back = vjp(lambda x: (x, x), X)
    with pytest.raises(RuntimeError, match="structure"):
        pull_back(X)


def test_jvp_is_the_directional_derivative():
    value, derivative = jvp(lambda x, y: x * y, (X, X + 1), (weft.ones(3), X))
    assert close(value, X * (X + 1))
    assert close(derivative, X + 1 + X * X)


def test_jvp_of_a_constant_is_zero_or_an_error():
    assert close(jvp(lambda x: weft.ones(2), (X,), (X,))[1], [0, 0])
    with pytest.raises(RuntimeError, match="independent"):
        jvp(lambda x: weft.ones(2), (X,), (X,), strict=True)


@pytest.mark.parametrize("jacobian", [jacrev, jacfwd])
def test_jacobians_agree_with_the_closed_form(jacobian):
    def function(x, y):
        return {"product": x[:, None] * y, "sum": y.sum()}

    x, y = X, weft.tensor([4.0, 5.0])
    found = jacobian(function, argnums=(0, 1))(x, y)
    by_x, by_y = found["product"]
    assert close(by_x, weft.einsum("ik,j->ijk", weft.eye(3), y))
    assert close(by_y, weft.einsum("i,jk->ijk", x, weft.eye(2)))
    assert close(found["sum"][1], [1, 1])


def test_jacobians_in_chunks_are_the_same():
    assert close(jacrev(weft.sin, chunk_size=2)(X), X.cos().diag())
    assert close(jacfwd(weft.sin, chunk_size=2)(X), X.cos().diag())


@pytest.mark.parametrize("outer", [jacrev, jacfwd])
@pytest.mark.parametrize("inner", [jacrev, jacfwd])
def test_jacobians_of_jacobians_are_hessians(outer, inner):
    assert close(outer(inner(cube))(X), (6 * X).diag())


def test_hessian_of_a_quadratic_form_is_its_matrix():
    matrix = weft.tensor([[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 4.0]])
    assert close(hessian(lambda x: x @ matrix @ x / 2)(X), matrix)


def test_forward_over_reverse_is_a_hessian_vector_product():
    v = weft.tensor([1.0, 0.0, -1.0])
    assert close(jvp(grad(cube), (X,), (v,))[1], 6 * X * v)


def test_reverse_over_forward():
    assert close(grad(lambda x: jvp(cube, (x,), (weft.ones(3),))[1])(X), 6 * X)


def test_linearize_pushes_several_directions():
    value, push = linearize(weft.square, X)
    assert close(value, X**2)
    assert close(push(weft.ones(3)), 2 * X)
    assert close(push(X), 2 * X**2)


def test_writes_in_place_are_differentiated():
    def function(x):
        y = weft.zeros(3)
        y[0] = x[1] * 2
        y.add_(x)
        y[1:].mul_(x[0])
        return y.sum()

    # 2 b + a + (b + c) a
    assert close(grad(function)(X), [1 + 2 + 3, 2 + 1, 1])
    assert jvp(function, (X,), (weft.tensor([1.0, 0.0, 0.0]),))[1] == 6


def test_memory_that_was_captured_is_written_to():
    seen = weft.zeros(3)

    def function(x):
        seen.copy_(x.detach())
        return cube(x)

    grad(function)(X)
    assert close(seen, X)


class Cube(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x**3, x * 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0], output[0])
        ctx.save_for_forward(inputs[0])

    @staticmethod
    def backward(ctx, grad, grad_double):
        x, _ = ctx.saved_tensors
        return grad * 3 * x**2 + grad_double * 2

    @staticmethod
    def jvp(ctx, tangent):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * tangent, 2 * tangent


def first(x):
    return Cube.apply(x)[0]


def test_custom_functions_take_part_in_every_transform():
    two = weft.tensor(2.0)
    assert grad(grad(grad(first)))(two) == 6
    assert jvp(first, (two,), (weft.tensor(1.0),))[1] == 12
    assert close(vmap(first)(X), X**3)
    assert close(vmap(grad(grad(first)))(X), 6 * X)
    assert close(grad(lambda x: vmap(first)(x).sum())(X), 3 * X**2)
    assert close(jacrev(first)(X), (3 * X**2).diag())


def test_custom_functions_with_a_rule_of_their_own():
    class Product(Function):
        @staticmethod
        def forward(x, y):
            return x * y

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, grad):
            x, y = ctx.saved_tensors
            return grad * y, grad * x

        @staticmethod
        def vmap(info, in_dims, x, y):
            assert info.batch_size == 3
            assert in_dims == (0, None)
            return Product.apply(x, y), 0

    assert close(vmap(Product.apply, in_dims=(0, None))(X, weft.tensor(2.0)), 2 * X)


def test_custom_functions_whose_forward_takes_ctx_are_refused():
    class Old(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    with pytest.raises(RuntimeError, match="setup_context"):
        grad(lambda x: Old.apply(x).sum())(X)
    with pytest.raises(RuntimeError, match="vmap support"):
        vmap(Old.apply)(X)


def test_a_level_that_has_ended_leaves_plain_tensors():
    kept = []

    def function(x):
        kept.append(x * 2)
        return cube(x)

    grad(function)(X)
    assert close(kept[0] + 1, 2 * X + 1)
    assert not (kept[0] + 1).requires_grad


# Forward mode by itself


def test_dual_tensors_carry_tangents_through_views_and_writes():
    with forward_ad.dual_level():
        x = forward_ad.make_dual(X, weft.tensor([1.0, 0.0, 1.0]))
        y = x.clone()
        y[1:].mul_(x[0])
        primal, tangent = forward_ad.unpack_dual(y)
    assert close(primal, [1, 2, 3])
    assert close(tangent, [1, 2, 1 + 3])


def test_tensors_without_a_tangent_unpack_to_none():
    with forward_ad.dual_level():
        assert forward_ad.unpack_dual(X).tangent is None
        assert forward_ad.unpack_dual(forward_ad.make_dual(X, X).detach()).tangent is None


def test_backward_inside_of_forward_mode_has_tangents():
    x = X.clone().requires_grad_()
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, weft.ones(3))
        (found,) = weft.autograd.grad(cube(dual), dual, create_graph=True)
        primal, tangent = forward_ad.unpack_dual(found)
        assert close(primal, 3 * X**2)
        assert close(tangent, 6 * X)
        cube(dual).backward()
    assert close(x.grad, 3 * X**2)


def test_make_dual_outside_of_a_level_is_an_error():
    with pytest.raises(RuntimeError, match="dual_level"):
        forward_ad.make_dual(X, X)


@pytest.mark.parametrize(
    ("tangent", "error"), [(weft.ones(2), RuntimeError), (weft.ones(3).double(), RuntimeError), (1.0, TypeError)]
)
def test_make_dual_refuses_tangents_that_do_not_fit(tangent, error):
    with forward_ad.dual_level(), pytest.raises(error, match="make_dual"):
        forward_ad.make_dual(X, tangent)


def test_levels_may_be_entered_without_a_block():
    forward_ad.enter_dual_level()
    try:
        dual = forward_ad.make_dual(X, weft.ones(3))
        assert close(forward_ad.unpack_dual(dual.sin()).tangent, X.cos())
    finally:
        forward_ad.exit_dual_level()


def test_gradcheck_looks_at_forward_mode_and_batches():
    x = weft.rand(4, dtype=weft.float64, requires_grad=True)
    assert weft.autograd.gradcheck(lambda x: x.softmax(0) * x.sin(), x, check_forward_ad=True, check_batched_grad=True)
    assert weft.autograd.gradgradcheck(lambda x: x.exp().cumsum(0), x, check_fwd_over_rev=True)


def test_gradcheck_finds_a_wrong_jvp():
    class Wrong(Function):
        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

        @staticmethod
        def jvp(ctx, tangent):
            return tangent * 3

    x = weft.rand(2, dtype=weft.float64, requires_grad=True)
    assert weft.autograd.gradcheck(Wrong.apply, x)
    with pytest.raises(weft.autograd.GradcheckError, match="mismatch"):
        weft.autograd.gradcheck(Wrong.apply, x, check_forward_ad=True)


def test_writing_to_a_dual_tensor_leaves_a_tangent_alone_that_lies_elsewhere_in_memory():
    import weft.autograd.forward_ad as forward_ad

    with forward_ad.dual_level():
        for tangent in (weft.ones(4)[:2], weft.ones(4)[::2], weft.ones(1).expand(2)):
            before = tangent.tolist()
            dual = forward_ad.make_dual(weft.ones(2), tangent)
            dual.mul_(2)
            assert tangent.tolist() == before
            assert forward_ad.unpack_dual(dual).tangent.tolist() == [2, 2]


def test_dual_tensors_are_printed_with_their_tangents_and_are_no_operands_of_out():
    import weft.autograd.forward_ad as forward_ad

    with forward_ad.dual_level():
        dual = forward_ad.make_dual(weft.ones(2), weft.zeros(2))
        assert str(dual) == "tensor([1., 1.], tangent=tensor([0., 0.]))"
        with pytest.raises(RuntimeError, match="out= function"):
            weft.add(dual, dual, out=weft.empty(2))


@pytest.mark.parametrize("jacobian", [weft.func.jacrev, weft.func.jacfwd])
def test_jacobians_of_numbers_are_numbers(jacobian):
    assert weft.equal(jacobian(lambda x: x**3)(weft.tensor(2.0)), weft.tensor(12.0))
    assert weft.equal(jacobian(lambda x: x.sum())(weft.tensor(2.0)), weft.tensor(1.0))
    assert jacobian(lambda x: x * weft.ones(3))(weft.tensor(2.0)).shape == (3,)


@pytest.mark.parametrize("transform", [weft.func.grad, weft.func.jacrev, weft.func.jacfwd])
def test_integers_are_no_variables(transform):
    with pytest.raises((RuntimeError, ValueError), match="floating point"):
        transform(lambda x: x.sum())(weft.tensor([1, 2]))


def test_jacobians_are_of_real_functions():
    x = weft.tensor([1 + 2j])
    for jacobian in (weft.func.jacrev, weft.func.jacfwd):
        with pytest.raises(RuntimeError, match="Expected all inputs to be real"):
            jacobian(lambda x: x * 2)(x)
        with pytest.raises(RuntimeError, match="Expected all outputs to be real"):
            jacobian(lambda x: x * 1j)(weft.ones(2))
    with pytest.raises(RuntimeError, match="only for real scalar outputs"):
        weft.func.grad(lambda x: (x * x).sum())(x)
