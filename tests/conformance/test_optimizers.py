"""Optimizers of weft.optim agree with PyTorch's, on the settings of PyTorch's own database of optimizers.

Both descend the same small problem from the same parameters for 20 steps, with each of the database's settings, in each
precision, by each implementation that can be asked for; also with two groups, and with the second half continued from a
file that the other wrote. Wrong settings raise the same errors.
"""

import io
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="PyTorch, the oracle, is installed in the conformance environment only")

import torch

import weft

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # PyTorch's test modules warn of packages that they would like to have
    from torch.testing._internal.common_optimizers import (
        OptimizerErrorEnum,
        _get_optim_inputs_including_global_cliquey_kwargs,
        optim_db,
    )

DATABASE = {info.optim_cls.__name__: info for info in optim_db}
DENSE = sorted(name for name, info in DATABASE.items() if not info.only_supports_sparse_grads)
STEPS = 20
TOLERANCES = {"float32": 1e-5, "float64": 1e-10, "complex64": 1e-5, "complex128": 1e-10}
LEAST_TOLERANCES = {
    "LBFGS": 5e-5,  # in complex64: curvatures from steps of 0.001 are differences of rounded gradients
    "Muon": 2e-5,  # it computes in bfloat16
}

pytestmark = pytest.mark.filterwarnings("ignore")  # of either library: not the claim here


def settings(name: str) -> list[dict[str, Any]]:
    """Return the database's keyword arguments, with each implementation that the optimizer has."""
    info = DATABASE[name]
    skip = ("differentiable",) if "differentiable" in info.supported_impls else ()
    inputs = _get_optim_inputs_including_global_cliquey_kwargs("cpu", torch.float32, info, skip)
    return [each.kwargs for each in inputs]


def cases(name: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield settings and dtypes."""
    for options in settings(name):
        yield from ((options, dtype) for dtype in ("float32", "float64"))
        if DATABASE[name].supports_complex and not options.get("fused"):  # PyTorch's fused kernels are for real numbers
            yield from ((options, dtype) for dtype in ("complex64", "complex128"))


def in_weft(value: Any, made: dict[int, Any] | None = None) -> Any:
    """Return PyTorch's tensors in containers as weft's: one that is there twice as one."""
    made = {} if made is None else made
    if isinstance(value, torch.Tensor):
        if id(value) not in made:
            made[id(value)] = tensor_in_weft(value)
        return made[id(value)]
    if isinstance(value, dict):
        return {key: in_weft(each, made) for key, each in value.items()}
    return type(value)(in_weft(each, made) for each in value) if isinstance(value, (list, tuple)) else value


def tensor_in_weft(value: torch.Tensor) -> Any:
    if value.is_sparse:
        return weft.sparse_coo_tensor(in_weft(value._indices()), in_weft(value._values()), tuple(value.shape))
    made = weft.from_numpy(value.detach().numpy().copy())
    return weft.nn.Parameter(made) if isinstance(value, torch.nn.Parameter) else made


class Problem:
    """A quadratic of several parameters, in one of the two libraries."""

    def __init__(self, library: Any, dtype: str, sparse: bool = False) -> None:
        self.library, self.sparse = library, sparse
        random = np.random.default_rng(5)
        shapes = [(3, 4), (4, 2), (5, 5)]

        def drawn() -> list[np.ndarray]:
            parts = [random.normal(size=(2, *shape)) for shape in shapes]
            return [(re + 1j * im if "complex" in dtype else re).astype(dtype) for re, im in parts]

        self.params = [library.nn.Parameter(library.from_numpy(each)) for each in drawn()]
        self.targets = [library.from_numpy(each) for each in drawn()]
        self.scales = [library.from_numpy(1 + abs(each)) for each in drawn()]

    def loss(self) -> Any:
        return sum(
            ((param - target).abs() ** 2 * scale).sum()
            for param, target, scale in zip(self.params, self.targets, self.scales)
        )

    def optimizer(self, name: str, options: dict[str, Any], groups: bool = False) -> Any:
        params: Any = self.params
        if groups:
            params = [{"params": self.params[:1]}, {"params": self.params[1:], "lr": 0.003}]
        return getattr(self.library.optim, name)(params, **options)

    def descend(self, optimizer: Any, steps: int, closure_needed: bool) -> None:
        def closure() -> Any:
            optimizer.zero_grad()
            loss = self.loss()
            loss.backward()
            return loss

        for _ in range(steps):
            if closure_needed:
                optimizer.step(closure)
            else:
                closure()
                optimizer.step()

    def values(self) -> list[np.ndarray]:
        return [param.detach().numpy().copy() for param in self.params]


def assert_same_values(found: Problem, expected: Problem, tolerance: float) -> None:
    for ours, theirs in zip(found.values(), expected.values(), strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


def both(name: str, options: dict[str, Any], dtype: str, groups: bool = False) -> tuple[Any, ...]:
    expected, found = Problem(torch, dtype), Problem(weft, dtype)
    return (
        expected,
        expected.optimizer(name, options, groups),
        found,
        found.optimizer(name, in_weft(options), groups),
    )


def plain(value: Any) -> Any:
    """Return what a state dict holds, with tensors as (dtype, shape), and without results of rounding."""
    if isinstance(value, (torch.Tensor, weft.Tensor)):
        return str(value.dtype).split(".")[-1], tuple(value.shape)
    if isinstance(value, dict):
        return {key: None if key in ("prev_loss", "t") else plain(each) for key, each in value.items()}
    return type(value)(plain(each) for each in value) if isinstance(value, (list, tuple)) else value


@pytest.mark.parametrize("groups", [False, True], ids=["", "groups"])
@pytest.mark.parametrize("name", DENSE)
def test_parameters_are_pytorchs_after_twenty_steps(name: str, groups: bool) -> None:
    info = DATABASE[name]
    if groups and not info.supports_param_groups:
        pytest.skip("takes no groups")
    for options, dtype in cases(name):
        expected, their_optimizer, found, our_optimizer = both(name, options, dtype, groups)
        expected.descend(their_optimizer, STEPS, info.step_requires_closure)
        found.descend(our_optimizer, STEPS, info.step_requires_closure)
        assert_same_values(found, expected, max(TOLERANCES[dtype], LEAST_TOLERANCES.get(name, 0)))
        assert plain(our_optimizer.state_dict()) == plain(their_optimizer.state_dict()), options


@pytest.mark.parametrize("direction", ["from pytorch", "to pytorch"])
@pytest.mark.parametrize("name", DENSE)
def test_half_of_the_steps_can_be_the_others(name: str, direction: str) -> None:
    """From the file that one library wrote after 10 steps the other makes the next 10."""
    closure_needed = DATABASE[name].step_requires_closure
    for options, dtype in cases(name):
        expected, their_optimizer, found, our_optimizer = both(name, options, dtype)
        expected.descend(their_optimizer, STEPS // 2, closure_needed)
        found.descend(our_optimizer, STEPS // 2, closure_needed)
        if direction == "from pytorch":
            hand_over(torch, expected, their_optimizer, weft, found, our_optimizer)
        else:
            hand_over(weft, found, our_optimizer, torch, expected, their_optimizer)
        expected.descend(their_optimizer, STEPS // 2, closure_needed)
        found.descend(our_optimizer, STEPS // 2, closure_needed)
        assert_same_values(found, expected, LEAST_TOLERANCES.get(name, 1e-6))  # factors in states were float32


def hand_over(writer: Any, source: Problem, saved: Any, reader: Any, target: Problem, restored: Any) -> None:
    file = io.BytesIO()
    writer.save({"params": [param.detach() for param in source.params], "optimizer": saved.state_dict()}, file)
    file.seek(0)
    read = reader.load(file)
    with reader.no_grad():
        for param, value in zip(target.params, read["params"], strict=True):
            param.copy_(value)
    restored.load_state_dict(read["optimizer"])


SPARSE = {
    "SGD": [
        {"lr": 0.1},
        {"lr": 0.1, "momentum": 0.9},
        {"lr": 0.1, "momentum": 0.9, "dampening": 0.5, "maximize": True},
    ],
    "Adagrad": [{"lr": 0.1}, {"lr": 0.1, "lr_decay": 0.1, "initial_accumulator_value": 0.3, "maximize": True}],
    "SparseAdam": [each.kwargs for each in DATABASE["SparseAdam"].optim_inputs_func(device="cpu")],
}


def embedded(library: Any, name: str, options: dict[str, Any], make: Any) -> tuple[np.ndarray, Any]:
    """Return a table after 20 steps with sparse gradients, of which one is a sum of two, and the state dict."""
    random = np.random.default_rng(0)
    model = make(library.nn)
    with library.no_grad():
        model.weight.copy_(library.from_numpy(random.normal(size=(6, 3)).astype(np.float32)))
    optimizer = getattr(library.optim, name)(model.parameters(), **options)
    for step in range(STEPS):
        optimizer.zero_grad(set_to_none=step % 2 == 0)
        indices = library.from_numpy(random.integers(0, 6, (4, 2)))
        for _ in range(2 if step == 3 else 1):
            (model(indices) ** 2).sum().backward()
        assert model.weight.grad.is_sparse
        optimizer.step()
    return model.weight.detach().numpy(), plain(optimizer.state_dict())


@pytest.mark.parametrize(
    "make",
    [
        lambda nn: nn.Embedding(6, 3, sparse=True, padding_idx=0),
        lambda nn: nn.EmbeddingBag(6, 3, sparse=True),
        lambda nn: nn.EmbeddingBag(6, 3, sparse=True, mode="sum", padding_idx=2),
    ],
    ids=["embedding", "means", "sums"],
)
@pytest.mark.parametrize("name", SPARSE)
def test_steps_by_sparse_gradients_are_pytorchs(name: str, make: Any) -> None:
    for options in SPARSE[name]:
        found, state = embedded(weft, name, in_weft(options), make)
        expected, expected_state = embedded(torch, name, options, make)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5, err_msg=str(options))
        if not options.get("momentum"):  # PyTorch's buffer is sparse or not, by what came first
            assert state == expected_state


def gradients_through_steps(library: Any, name: str, options: dict[str, Any]) -> list[np.ndarray]:
    """Return a parameter after two steps, and the gradients of its square for where it began and for its gradients."""
    random = np.random.default_rng(7)
    begin, slope = (library.from_numpy(random.normal(size=(2, 3))).requires_grad_() for _ in range(2))
    param = begin.clone()
    optimizer = getattr(library.optim, name)([param], differentiable=True, **options)
    for _ in range(2):
        param.grad = slope * param.detach().clone() + slope
        optimizer.step()
    (param * param).sum().backward()
    return [each.detach().numpy() for each in (param, begin.grad, slope.grad)]


@pytest.mark.parametrize("name", [name for name in DENSE if "differentiable" in DATABASE[name].supported_impls])
def test_gradients_flow_through_steps_as_in_pytorch(name: str) -> None:
    for each in DATABASE[name].optim_inputs_func(device="cpu"):
        options = {key: value for key, value in each.kwargs.items() if not isinstance(value, torch.Tensor)}
        if options.get("momentum") and name == "SGD":
            continue  # PyTorch detaches the first velocity from its gradient
        found = gradients_through_steps(weft, name, options)
        try:
            expected = gradients_through_steps(torch, name, options)
        except RuntimeError:
            continue  # PyTorch writes to what it has saved
        for ours, theirs in zip(found, expected, strict=True):  # PyTorch's corrections of the bias are float32 here
            np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-9, err_msg=str(options))


@pytest.mark.parametrize("name", sorted(DATABASE))
def test_wrong_settings_raise_pytorchs_errors(name: str) -> None:
    info = DATABASE[name]
    for error in info.optim_error_inputs_func(device="cpu", dtype=torch.float32):
        given = error.optimizer_error_input
        params = [torch.nn.Parameter(torch.randn(2, 3)), torch.nn.Parameter(torch.randn(4, 3))]
        params = in_weft(params if given.params is None else given.params)
        options = in_weft(given.kwargs)
        make = getattr(weft.optim, name)
        if error.error_on is OptimizerErrorEnum.CONSTRUCTION_ERROR:
            if issubclass(error.error_type, Warning):
                with pytest.warns(error.error_type, match=error.error_regex):
                    make(params, **options)
            else:
                with pytest.raises(error.error_type, match=error.error_regex):
                    make(params, **options)
        else:
            optimizer = make(params, **options)
            for each in params:
                each.grad = weft.ones_like(each)
            with pytest.raises(error.error_type, match=error.error_regex):
                optimizer.step()
