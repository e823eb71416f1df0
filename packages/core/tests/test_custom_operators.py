"""`weft.library` with PyTorch's interface: operators by schema (torchvision, transformers' kernels, torchao)."""

from collections.abc import Sequence

import pytest

import weft
from weft import library
from weft._ops import OpOverload, OpOverloadPacket
from weft.ops._schema import parse_schema
from weft.utils._python_dispatch import TorchDispatchMode


@pytest.fixture
def lib():
    with library._scoped_library("test_operators", "FRAGMENT") as made:
        yield made


ops = weft.ops.test_operators


def test_an_operator_is_found_by_its_name_and_overload(lib):
    assert lib.define("scale(Tensor x, float by=2.0) -> Tensor") == "scale"
    lib.define("scale.int(Tensor x, Tensor by) -> Tensor")
    lib.impl("scale", lambda x, by=2.0: x * by, "CPU")
    lib.impl("scale.int", lambda x, by: x * by * 10, "CPU")
    x = weft.ones(2)
    assert ops.scale(x).tolist() == [2, 2]
    assert ops.scale(x, by=3.0).tolist() == [3, 3]
    assert ops.scale(x, x).tolist() == [10, 10]
    assert ops.scale.overloads() == ["default", "int"]
    assert isinstance(ops.scale, OpOverloadPacket)
    assert isinstance(ops.scale.default, OpOverload)
    assert (str(ops.scale.int), ops.scale.int.name()) == ("test_operators.scale.int", "test_operators::scale.int")
    assert repr(ops.scale.default) == "<OpOverload(op='test_operators.scale', overload='default')>"
    assert ops.scale.default.namespace == "test_operators"
    assert ops.scale.int._overloadname == "int"
    assert ops.scale.int.overloadpacket is ops.scale
    assert str(ops.scale.default._schema) == "test_operators::scale(Tensor x, float by=2.0) -> Tensor"


def test_what_was_defined_is_taken_back_at_the_end():
    with library._scoped_library("test_taken_back", "DEF") as made:
        made.define("f(Tensor x) -> Tensor")
        assert weft.ops.test_taken_back.f.default
        with pytest.raises(RuntimeError, match="Only a single TORCH_LIBRARY"):
            library.Library("test_taken_back", "DEF")
    with pytest.raises(AttributeError, match="'_OpNamespace' 'test_taken_back' object has no attribute 'f'"):
        _ = weft.ops.test_taken_back.f
    library.Library("test_taken_back", "DEF")._destroy()


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ("f(Tensor x)", "expected arrow but found 'eof' here"),
        ("f(Tensr x) -> Tensor", "unknown type specifier"),
        ("f(Tensor x -> Tensor", r"expected \) but found 'arrow' here"),
        ("f(Tensor) -> Tensor", r"expected ident but found '\)' here"),
        ("f", "only the operator name was given"),
        ("other::f(Tensor x) -> Tensor", r"Explicitly provided namespace \(other\)"),
    ],
)
def test_what_is_no_schema_is_refused_with_the_place(lib, schema, said):
    with pytest.raises(RuntimeError, match=said):
        lib.define(schema)


def test_an_overload_is_defined_once(lib):
    lib.define("once(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match="with the same name and overload name multiple times"):
        lib.define("once(Tensor x) -> Tensor")


def test_schemas_say_types_defaults_and_what_is_written_to():
    schema = parse_schema(
        "a::f.out(Tensor(x!) self, Tensor? y, int[2] k=1, *, str m='mean', float[]? fs=None) -> (Tensor(x!), int n)"
    )
    assert (schema.name, schema.overload_name, schema.is_mutable) == ("a::f", "out", True)
    assert [str(each.type) for each in schema.arguments] == [
        "Tensor",
        "Optional[Tensor]",
        "List[int]",
        "str",
        "Optional[List[float]]",
    ]
    assert schema.arguments[2].default_value == [1, 1]
    assert [each.has_default_value() for each in schema.arguments] == [False, False, True, True, True]
    assert [each.kwarg_only for each in schema.arguments] == [False, False, False, True, True]
    assert schema.arguments[0].alias_info.is_write
    assert schema.arguments[0].alias_info.before_set == {"x"}
    assert [each.name for each in schema.returns] == ["", "n"]
    assert str(schema).endswith('*, str m="mean", float[]? fs=None) -> (Tensor(x!), int n)')


@pytest.mark.parametrize(
    ("args", "kwargs", "said"),
    [
        ((), {}, "is missing value for argument 'x'"),
        ((1,), {}, "Expected a value of type 'Tensor' for argument 'x' but instead found type 'int'"),
        ((weft.ones(1), "a"), {}, "Expected a value of type 'int' for argument 'n' but instead found type 'str'"),
        ((weft.ones(1), 1, 2), {}, "expected at most 2 argument"),
        ((weft.ones(1),), {"z": 1}, "unexpected keyword argument 'z'"),
    ],
)
def test_arguments_are_checked_against_the_schema(lib, args, kwargs, said):
    lib.define("checked(Tensor x, int n=1) -> Tensor")
    lib.impl("checked", lambda x, n=1: x * n, "CPU")
    with pytest.raises(RuntimeError, match=said):
        ops.checked(*args, **kwargs)


def test_a_function_stands_for_its_key(lib):
    lib.define("f(Tensor x) -> Tensor")
    with pytest.raises(NotImplementedError, match="no kernel for device 'cpu'"):
        ops.f(weft.ones(1))
    lib.impl("f", lambda x: x * 2, "CompositeExplicitAutograd")
    assert ops.f(weft.ones(1)).item() == 2
    lib.impl("f", lambda x: x * 3, "CPU")
    assert ops.f(weft.ones(1)).item() == 3
    assert library.get_kernel("test_operators::f", "CPU")(None, weft.ones(1)).item() == 3
    with pytest.raises(RuntimeError, match="could not parse dispatch key: bad"):
        lib.impl("f", lambda x: x, "bad")
    with pytest.raises(NotImplementedError, match="register_torch_dispatch"):
        lib.impl("f", lambda x: x, "Python")
    with pytest.raises(RuntimeError, match=r"weft\.backend"):
        library.Library("aten", "IMPL").impl("add.Tensor", lambda x, y: x, "CPU")


def test_a_function_of_differentiable_ops_is_differentiated_through(lib):
    lib.define("implicit(Tensor x) -> Tensor")
    lib.impl("implicit", lambda x: x * x, "CompositeImplicitAutograd")
    x = weft.tensor([3.0], requires_grad=True)
    ops.implicit(x).backward()
    assert x.grad.item() == 6


def test_without_a_formula_backward_warns(lib):
    lib.define("unregistered(Tensor x) -> Tensor")
    lib.impl("unregistered", lambda x: x * x, "CPU")
    x = weft.tensor([3.0], requires_grad=True)
    with pytest.warns(UserWarning, match="an autograd kernel was not registered"):
        ops.unregistered(x).backward()
    assert x.grad.item() == 6


def test_a_formula_is_the_gradient_also_of_lists_and_of_keywords(lib):
    lib.define("weighted(Tensor[] xs, Tensor y, *, float by=2.0) -> Tensor")
    lib.impl("weighted", lambda xs, y, by=2.0: sum(xs) * y * by, "CPU")

    def setup_context(ctx, inputs, keyword_only_inputs, output):
        ctx.count, ctx.by = len(inputs[0]), keyword_only_inputs["by"]
        ctx.save_for_backward(inputs[1])

    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        return [grad * y * ctx.by * 100] * ctx.count, None

    library.register_autograd("test_operators::weighted", backward, setup_context=setup_context)
    xs = [weft.ones(1, requires_grad=True), weft.ones(1, requires_grad=True)]
    y = weft.full((1,), 5.0)
    out = ops.weighted(xs, y, by=3.0)
    assert out.item() == 30
    assert type(out.grad_fn).__name__ == "GeneratedBackwardFor_test_operators_weighted_defaultBackward"
    out.backward()
    assert [each.grad.item() for each in xs] == [1500, 1500]


def test_a_function_for_autograd_comes_first_and_may_call_the_operator(lib):
    lib.define("above(Tensor x) -> Tensor")
    lib.impl("above", lambda x: x * 2, "CPU")
    lib.impl("above", lambda x: ops.above(x) + 1, "Autograd")
    assert ops.above(weft.ones(1)).item() == 3


def test_the_fake_function_runs_on_the_device_meta(lib):
    lib.define("sized(Tensor x) -> Tensor")
    lib.impl("sized", lambda x: weft.cat([x, x]), "CPU")
    x = weft.ones(2, device="meta")
    with pytest.raises(NotImplementedError, match="no fake impl or Meta kernel"):
        ops.sized(x)
    library.register_fake("test_operators::sized")(lambda x: x.new_empty(2 * x.shape[0]))
    assert ops.sized(x).shape == (4,)
    assert ops.sized(x).device.type == "meta"
    assert library.opcheck(ops.sized, (weft.ones(2),)) == dict.fromkeys(
        ("test_schema", "test_autograd_registration", "test_faketensor"), "SUCCESS"
    )


def test_opcheck_finds_what_is_not_as_it_is_said(lib):
    lib.define("writes(Tensor x) -> Tensor")
    lib.impl("writes", lambda x: x.mul_(2) + 1, "CPU")
    with pytest.raises(library._opcheck.OpCheckError, match="Argument x is not defined as mutable but was mutated"):
        library.opcheck(ops.writes, (weft.ones(2),), test_utils="test_schema")
    lib.define("wrong(Tensor x) -> Tensor")
    lib.impl("wrong", lambda x: x * 2, "CPU")
    library.register_fake("test_operators::wrong", lambda x: x.new_empty(3))
    result = library.opcheck(ops.wrong, (weft.ones(2),), raise_exception=False)
    assert "are not equal" in str(result["test_faketensor"])
    with pytest.raises(NotImplementedError, match="compiles nothing"):
        library.opcheck(ops.wrong, (weft.ones(2),), test_utils="test_aot_dispatch_dynamic")


def test_modes_see_the_overload_and_may_have_a_rule_for_it(lib):
    lib.define("shown(Tensor x) -> Tensor")
    lib.impl("shown", lambda x: x * 2, "CPU")
    library.register_autograd("test_operators::shown", lambda ctx, grad: grad * 7)

    class Record(TorchDispatchMode):
        seen = ()

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.seen = (*self.seen, str(func))
            return func(*args, **(kwargs or {}))

    class Other(Record):
        pass

    x = weft.ones(1, requires_grad=True)
    with Record() as record:
        y = ops.shown(x)
    assert record.seen == ("test_operators.shown.default",)
    y.backward()
    assert x.grad.item() == 7
    library.register_torch_dispatch(
        "test_operators::shown", Other, lambda mode, func, types, args, kwargs: args[0] * 100
    )
    with Other() as other:
        y = ops.shown(x)
    assert y.item() == 100
    assert other.seen == ()


def test_a_custom_op_is_defined_by_its_annotations():
    @library.custom_op("test_operators::annotated", mutates_args={"x"})
    def annotated(x: weft.Tensor, ys: Sequence[weft.Tensor], n: int = 3, *, s: str = "q") -> None:
        x.mul_(n)

    op = weft.ops.test_operators.annotated.default
    assert str(op._schema) == ('test_operators::annotated(Tensor(a0!) x, Tensor[] ys, SymInt n=3, *, str s="q") -> ()')
    x = weft.ones(1)
    assert op(x, [x.clone()]) is None
    assert annotated(x, [], s="r") is None
    assert x.item() == 9
    assert annotated._opoverload is op


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda x: x, "Parameter x must have a type annotation"),
        (lambda *args: args, "varargs"),
    ],
)
def test_functions_without_annotations_are_refused(function, said):
    with pytest.raises(ValueError, match=said):
        library.infer_schema(function, mutates_args=())


def test_a_custom_op_casts_where_autocast_is_enabled():
    @library.custom_op("test_operators::cast", mutates_args=())
    def cast(x: weft.Tensor) -> weft.Tensor:
        return x * 2

    cast.register_autocast("cpu", weft.bfloat16)
    assert cast(weft.ones(1)).dtype is weft.float32
    with weft.autocast("cpu"):
        assert cast(weft.ones(1)).dtype is weft.bfloat16


def test_a_custom_ops_kernel_for_a_device_can_be_left_out():
    @library.custom_op("test_operators::replaced", mutates_args=())
    def replaced(x: weft.Tensor) -> weft.Tensor:
        return x * 2

    @replaced.register_kernel("cpu")
    def _(x):
        return x * 3

    assert replaced(weft.ones(1)).item() == 3
    with replaced.set_kernel_enabled("cpu", False):
        assert replaced(weft.ones(1)).item() == 2


def test_what_weft_has_not_is_refused(lib):
    with pytest.raises(NotImplementedError, match="Triton"):
        library.triton_op("a::b", lambda x: x, mutates_args=())
    with pytest.raises(NotImplementedError, match="Triton"):
        library.wrap_triton(None)
    with pytest.raises(NotImplementedError, match="TorchDispatchMode"):
        lib.fallback(lambda x: x, "CPU")


def test_tags_are_kept(lib):
    lib.define("tagged(Tensor x) -> Tensor", tags=(weft.Tag.pointwise,))
    assert ops.tagged.default.tags == [weft.Tag.pointwise]
    with pytest.raises(AttributeError, match=r"aten\.add\.Tensor: weft keeps tags"):
        weft.ops.aten.add.Tensor.tags


def test_a_function_for_autograd_calls_the_others_below_it(lib):
    lib.define("cube(Tensor x) -> Tensor")
    lib.impl("cube", lambda x: x**3, "CPU")

    class Cube(weft.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            with weft._C._AutoDispatchBelowAutograd():
                return ops.cube(x)

        @staticmethod
        def backward(ctx, grad):
            return grad * 100

    lib.impl("cube", Cube.apply, "Autograd")
    x = weft.full((1,), 2.0, requires_grad=True)
    y = ops.cube(x)
    y.backward()
    assert (y.item(), x.grad.item()) == (8, 100)
    assert str(weft._C.parse_schema("a::b(Tensor x) -> Tensor")) == "a::b(Tensor x) -> Tensor"


def test_a_function_for_autocast_casts_and_calls_the_operator_without_it(lib):
    """torchvision registers such for its RoI operators, which do not compute in half precision."""
    keys = weft._C.DispatchKeySet(weft._C.DispatchKey.AutocastCPU)
    keys = keys | weft._C.DispatchKeySet(weft._C.DispatchKey.AutocastCUDA)
    seen = []

    def casting(x):
        with weft._C._ExcludeDispatchKeyGuard(keys):
            return ops.twice(x.float()).to(x.dtype)

    lib.define("twice(Tensor x) -> Tensor")
    lib.impl("twice", lambda x: seen.append(x.dtype) or x * 2, "CPU")
    lib.impl("twice", casting, "AutocastCPU")
    x = weft.ones(2, dtype=weft.bfloat16)
    with weft.autocast("cpu"):
        assert ops.twice(x).dtype is weft.bfloat16
        assert weft.is_autocast_enabled("cpu")
    ops.twice(x)
    assert seen == [weft.float32, weft.bfloat16]


def test_other_keys_than_autocast_and_autograd_are_not_left_out():
    with (
        pytest.raises(NotImplementedError, match="not CPU"),
        weft._C._ExcludeDispatchKeyGuard(weft._C.DispatchKeySet(weft._C.DispatchKey.CPU)),
    ):
        pass


def test_a_fake_function_may_be_registered_before_the_operator_is_defined():
    """torchvision registers that of nms as it is imported, whether or not its operators are there."""
    with library._scoped_library("test_later", "FRAGMENT") as made:
        library.register_fake("test_later::keep", lambda x: x.new_empty(1))
        made.define("keep(Tensor x) -> Tensor")
        assert weft.ops.test_later.keep(weft.ones(3, device="meta")).shape == (1,)
    with pytest.raises(RuntimeError, match="no operator aten::relu was defined"):
        library.register_fake("aten::relu", lambda x: x)


def test_a_library_of_compiled_operators_is_refused_with_the_reason(tmp_path):
    """Packages catch the OSError that they get where their library was built for another PyTorch."""
    library_file = tmp_path / "_C.so"
    with pytest.raises(OSError, match="No such file"):
        weft.ops.load_library(str(library_file))
    library_file.write_bytes(b"")
    with pytest.raises(OSError, match=r"compiled against PyTorch's C\+\+ library.*weft\.library\.define"):
        weft.ops.load_library(library_file)
    assert weft.ops.loaded_libraries == set()


def test_the_older_forms_take_the_library_first(lib):
    """torchvision's operators for tensors without memory are registered so."""

    @library.define(lib, "older(Tensor x) -> Tensor")
    def older(x):
        return x * 2

    @library.impl(lib, "older", "Meta")
    def shape_of(x):
        return x.new_empty(7)

    assert ops.older(weft.ones(2)).tolist() == [2, 2]
    assert ops.older(weft.ones(2, device="meta")).shape == (7,)


def test_functions_are_registered_by_dispatch_keys_too(lib):
    lib.define("by_key(Tensor x) -> Tensor")
    library.impl("test_operators::by_key", ("CPU", "Meta"), lambda x: x * 2, lib=lib)
    assert ops.by_key(weft.ones(2)).tolist() == [2, 2]
    assert ops.by_key(weft.ones(2, device="meta")).is_meta
