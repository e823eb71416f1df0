"""What models and the functions that build them share."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar

import weft
from weft import Tensor, nn
from weft.vision.models._api import WeightsEnum, register_model

Result = TypeVar("Result")
Model = TypeVar("Model", bound=nn.Module)


class IntermediateLayerGetter(nn.ModuleDict):
    """Call the children of a model one after the other, and return what some of them gave.

    Parameters
    ----------
    model : Module
        Its children are called in the order in which they were registered, as far as they are needed.
    return_layers : dict of str to str
        The names of children, and the names of their outputs in the result.

    Raises
    ------
    ValueError
        If the model has no such child.

    Examples
    --------
    >>> model = nn.Sequential(nn.Conv2d(3, 4, 1), nn.ReLU(), nn.Conv2d(4, 5, 1))
    >>> IntermediateLayerGetter(model, {"1": "features"})(weft.zeros(1, 3, 2, 2))["features"].shape
    weft.Size([1, 4, 2, 2])
    """

    _version = 2

    def __init__(self, model: nn.Module, return_layers: dict[str, str]) -> None:
        wanted = {str(name) for name in return_layers}
        if not wanted <= {name for name, _ in model.named_children()}:
            raise ValueError("return_layers are not present in model")
        layers = OrderedDict()
        for name, module in model.named_children():
            layers[name] = module
            wanted.discard(name)
            if not wanted:
                break
        super().__init__(layers)
        self.return_layers = return_layers

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        """Return the outputs by their new names, in the order of the layers."""
        outputs = OrderedDict()
        for name, module in self.items():
            x = module(x)
            if name in self.return_layers:
                outputs[self.return_layers[name]] = x
        return outputs


def _make_divisible(v: float, divisor: int, min_value: int | None = None) -> int:
    """The multiple of ``divisor`` next to ``v``, and at least nine tenths of it."""
    near = max(min_value or divisor, int(v + divisor / 2) // divisor * divisor)
    return near + divisor if near < 0.9 * v else near


def check(condition: Any, message: str) -> None:
    """As the statement ``assert``, but a tracer records it."""
    weft._assert(condition, message)  # type: ignore[attr-defined]


def initialize(
    model: nn.Module,
    conv: Callable[[Any], Any] | None = None,
    linear: Callable[[Any], Any] | None = None,
    norms: tuple[type[nn.Module], ...] = (nn.BatchNorm2d, nn.GroupNorm),
    zero_bias: bool = True,
) -> None:
    """Set the first values of a model's layers, in the order of its modules.

    Parameters
    ----------
    model : Module
    conv, linear : callable, optional
        Sets the weight of a convolution or linear layer, which it is given; by default the layer stays as it is.
    norms : tuple of type
        Layers whose weight becomes 1 and whose bias becomes 0.
    zero_bias : bool
        Whether the bias of layers whose weight is set becomes 0.
    """
    for module in model.modules():
        set_weight = conv if isinstance(module, nn.Conv2d) else linear if isinstance(module, nn.Linear) else None
        if set_weight is not None:
            set_weight(module)
            if zero_bias and module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, norms) and module.weight is not None:
            nn.init.ones_(module.weight)
            nn.init.zeros_(module.bias)


def strided_stages(features: nn.Sequential) -> list[int]:
    """Where the stages of a MobileNet end: at its first layer, before each that halves the size, and at its last."""
    strided = [place for place, layer in enumerate(features) if getattr(layer, "_is_cn", False)]
    return [0, *strided, len(features) - 1]


# Functions that build models -----------------------------------------------------------------------------


def builder(
    name: str,
    weights_enum: type[WeightsEnum],
    model: Callable[..., Model],
    *args: Any,
    adapt: Callable[[Any, dict[str, Any]], None] | None = None,
    former: str = "IMAGENET1K_V1",
    **fixed: Any,
) -> Callable[..., Model]:
    """Make and register the function that builds ``model(*args, **fixed)``, with published weights if asked for.

    Parameters
    ----------
    name : str
        Its name.
    weights_enum : type
        The weights that it takes.
    model : callable
        A class or function of the module to which the result belongs, or a `partial` of one.
    *args
        The model's first arguments.
    adapt : callable, optional
        Called with published weights and the keyword arguments, to set those that the weights decide.
    former : str
        The name of the weights that ``pretrained=True`` meant; if there are none, there was nothing.
    **fixed
        Arguments that must not be given another value.

    Returns
    -------
    callable
        ``(*, weights=None, progress=True, **kwargs)``, as every function that builds a model in torchvision.
    """

    def build(*, weights: Any = None, progress: bool = True, **kwargs: Any) -> Model:
        weights = weights_enum.verify(weights)
        for option, value in fixed.items():
            _ovewrite_named_param(kwargs, option, value)
        if weights is not None:
            if weights.meta.get("categories") is not None:
                _ovewrite_named_param(kwargs, "num_classes", len(weights.meta["categories"]))
            if adapt is not None:
                adapt(weights, kwargs)
        return load_weights(model(*args, **kwargs), weights, progress)

    build.__name__ = build.__qualname__ = name
    build.__module__ = getattr(model, "func", model).__module__
    build.__annotations__["weights"] = weights_enum | None
    build.__doc__ = f"""Build the model ``{name}``.

    Parameters
    ----------
    weights : {weights_enum.__name__} or str, optional
        Published weights; by default they are random.
    progress : bool
        Whether to show a bar while they are fetched.
    **kwargs
        For the model's class.
    """
    legacy = handle_legacy_interface(weights=("pretrained", getattr(weights_enum, former, None)))
    return register_model()(legacy(build))


def load_weights(model: Model, weights: WeightsEnum | None, progress: bool) -> Model:
    """The model, with published weights if there are any; a file that is fetched is checked against its hash."""
    if weights is not None:
        model.load_state_dict(weights.get_state_dict(progress=progress, check_hash=True))
    return model


def _ovewrite_named_param(kwargs: dict[str, Any], param: str, new_value: Any) -> None:
    """Set an argument that the caller must leave out or give with the same value.

    Raises
    ------
    ValueError
        If it has another.
    """
    kwargs[param] = _ovewrite_value_param(param, kwargs.get(param, new_value), new_value)


def _ovewrite_value_param(param: str, actual: Any, expected: Any) -> Any:
    """The value that a parameter must have; ``actual`` is None or the same.

    Raises
    ------
    ValueError
        If it is another.
    """
    if actual is not None and actual != expected:
        raise ValueError(f"The parameter '{param}' expected value {expected} but got {actual} instead.")
    return expected


def kwonly_to_pos_or_kw(function: Callable[..., Result]) -> Callable[..., Result]:
    """Decorate a function so that its keyword-only arguments may be given by position, with a warning.

    Raises
    ------
    TypeError
        If it has none.
    """
    parameters = inspect.signature(function).parameters
    names = [name for name, each in parameters.items() if each.kind == each.KEYWORD_ONLY]
    if not names:
        raise TypeError(f"Found no keyword-only parameter on function '{function.__name__}'")
    positional = list(parameters).index(names[0])

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Result:
        late = dict(zip(names, args[positional:]))
        if late:
            given = ", ".join(map(repr, late))
            warnings.warn(f"{function.__name__}: positional {given} is deprecated; name the argument", stacklevel=2)
        return function(*args[:positional], **kwargs, **late)

    return call


def handle_legacy_interface(**weights: tuple[str, Any]) -> Callable[[Callable[..., Model]], Callable[..., Model]]:
    """Decorate a function that builds a model so that it takes what it took before there were enumerations of weights.

    Parameters
    ----------
    **weights
        For each parameter that takes weights, its former name and what True meant there: a member of an enumeration,
        None where there is nothing, or a function of the keyword arguments that returns either.
    """

    def decorate(build: Callable[..., Model]) -> Callable[..., Model]:
        @kwonly_to_pos_or_kw
        @functools.wraps(build)
        def call(*args: Any, **kwargs: Any) -> Model:
            for name, (former, default) in weights.items():
                _replace_former(build.__name__, kwargs, name, former, default)
            return build(*args, **kwargs)

        return call

    return decorate


def _replace_former(function: str, kwargs: dict[str, Any], name: str, former: str, default: Any) -> None:
    """Give ``name`` the weights that a bool under this or its former name stands for, with a warning."""
    value = kwargs.get(name)
    if name in kwargs:
        if value is None or isinstance(value, WeightsEnum) or (isinstance(value, str) and value != "legacy"):
            return
        kwargs[former] = kwargs.pop(name)
    elif former not in kwargs:
        return
    member = None
    if kwargs[former]:
        member = default(kwargs) if callable(default) else default
        if not isinstance(member, WeightsEnum):
            raise ValueError(f"No weights available for model {function}")
    del kwargs[former]
    kwargs[name] = member
    newest = f", or {name}={type(member).__name__}.DEFAULT for the best weights" if member is not None else ""
    warnings.warn(
        f"{function}: {former!r} and values of {name!r} other than an enumeration's member or None are deprecated; "
        f"write {name}={member}{newest}",
        stacklevel=4,
    )
