"""The operators of ``ai.onnx.ml``: trees, linear models, encodings of labels."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import weft
from weft.onnx._importer.operators._common import is_text
from weft.onnx._importer.reading import tensor_from_numpy
from weft.onnx._importer.registry import ML, operator

AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
COMPARISONS: list[Callable[[Any, Any], Any]] = [
    np.less_equal,
    np.less,
    np.greater_equal,
    np.greater,
    np.equal,
    np.not_equal,
]
MEMBER = len(COMPARISONS)


@operator("ArrayFeatureExtractor", domain=ML)
def array_feature_extractor(x: Any, y: Any) -> Any:
    if is_text(x):
        return np.take(x, y.reshape(-1).numpy(), -1)
    taken = x.index_select(-1, y.reshape(-1).long())
    return taken.reshape(1, -1) if x.ndim == 1 else taken


@operator("Binarizer", domain=ML)
def binarizer(x: Any, *, threshold: float = 0.0) -> Any:
    return (x > threshold).to(x.dtype)


@operator("Scaler", domain=ML)
def scaler(x: Any, *, offset: Any = (0.0,), scale: Any = (1.0,)) -> Any:
    return (x.float() - weft.tensor(offset, device=x.device)) * weft.tensor(scale, device=x.device)


@operator("Normalizer", domain=ML)
def normalizer(x: Any, *, norm: str = "MAX") -> Any:
    x = x.float()
    if norm == "MAX":
        size = x.amax(-1, keepdim=True)
    else:
        size = weft.linalg.vector_norm(x, 1 if norm == "L1" else 2, -1, keepdim=True)
    return x / weft.where(size == 0, 1, size)


@operator("Imputer", domain=ML)
def imputer(
    x: Any,
    *,
    imputed_value_floats: Any = None,
    imputed_value_int64s: Any = None,
    replaced_value_float: float = 0.0,
    replaced_value_int64: int = 0,
) -> Any:
    is_float = x.dtype.is_floating_point
    values = weft.tensor(imputed_value_floats if is_float else imputed_value_int64s, dtype=x.dtype, device=x.device)
    replaced = replaced_value_float if is_float else replaced_value_int64
    lacking = x.isnan() if is_float and math.isnan(replaced) else x == replaced
    return weft.where(lacking, values, x)


@operator("LinearRegressor", domain=ML)
def linear_regressor(
    x: Any, *, coefficients: Any, intercepts: Any = None, post_transform: str = "NONE", targets: int = 1
) -> Any:
    weight = weft.tensor(coefficients, device=x.device).reshape(targets, -1)
    result = x.float() @ weight.T
    result = result if intercepts is None else result + weft.tensor(intercepts, device=x.device)
    return transformed(result, post_transform)


@operator("LinearClassifier", domain=ML)
def linear_classifier(
    x: Any,
    *,
    classlabels_ints: Any = None,
    classlabels_strings: Any = None,
    coefficients: Any,
    intercepts: Any = None,
    multi_class: int = 0,
    post_transform: str = "NONE",
) -> Any:
    labels = classlabels_strings or classlabels_ints
    weight = weft.tensor(coefficients, device=x.device).reshape(-1, x.shape[-1])
    scores = x.float() @ weight.T
    scores = scores if intercepts is None else scores + weft.tensor(intercepts, device=x.device)
    if len(weight) == 1 and len(labels) == 2:
        scores = weft.cat([-scores, scores], -1)
    best = scores.argmax(-1)
    return labelled(best, labels), transformed(scores, post_transform)


def labelled(places: Any, labels: list[Any]) -> Any:
    """The labels at positions."""
    if isinstance(labels[0], str):
        return np.array(labels, dtype=object)[places.cpu().numpy()]
    return weft.tensor(labels, device=places.device)[places]


def transformed(scores: Any, transform: str) -> Any:
    """Scores after the last function of a model.

    Raises
    ------
    NotImplementedError
        If weft has none of that name.
    """
    if transform == "NONE":
        return scores
    if transform == "SOFTMAX":
        return scores.softmax(-1)
    if transform == "LOGISTIC":
        return scores.sigmoid()
    if transform == "SOFTMAX_ZERO":  # zeros stay
        return weft.where(scores == 0, 0, weft.where(scores == 0, -math.inf, scores).softmax(-1))
    if transform == "PROBIT":
        return weft.special.ndtri(scores)
    raise NotImplementedError(f"the post_transform {transform!r}; there are {', '.join(TRANSFORMS)}")


@operator("LabelEncoder", domain=ML)
def label_encoder(
    x: Any,
    *,
    classes_strings: Any = None,
    default_float: float = -0.0,
    default_int64: int = -1,
    default_string: str = "_Unused",
    default_tensor: Any = None,
    keys_floats: Any = None,
    keys_int64s: Any = None,
    keys_strings: Any = None,
    keys_tensor: Any = None,
    values_floats: Any = None,
    values_int64s: Any = None,
    values_strings: Any = None,
    values_tensor: Any = None,
) -> Any:
    if classes_strings is not None:  # opset 1: strings to positions, or back
        if is_text(x):
            keys_strings, values_int64s = classes_strings, list(range(len(classes_strings)))
        else:
            keys_int64s, values_strings = list(range(len(classes_strings))), classes_strings
    keys = first_given(keys_tensor, keys_strings, keys_int64s, keys_floats)
    values = first_given(values_tensor, values_strings, values_int64s, values_floats)
    if values_tensor is not None:
        default = default_tensor.reshape(-1).tolist()[0] if default_tensor is not None else fallback(values_tensor)
        kind = values_tensor.dtype
    elif values_strings is not None:
        default, kind = default_string, object
    else:
        default, kind = (default_int64, np.int64) if values_int64s is not None else (default_float, np.float32)
    table = {comparable(key): value for key, value in zip(keys, values)}
    flat = x.ravel().tolist() if is_text(x) else x.reshape(-1).tolist()
    found = np.empty(len(flat), dtype=kind)
    found[:] = [table.get(comparable(each), default) for each in flat]
    return tensor_from_numpy(found.reshape(tuple(x.shape)))


def first_given(*candidates: Any) -> list[Any]:
    """The values of the attribute that is there."""
    for each in candidates:
        if each is not None:
            return each.reshape(-1).tolist() if hasattr(each, "tolist") else each
    raise ValueError("LabelEncoder: keys and values are wanted")


def fallback(values: Any) -> Any:
    """What unknown keys become where nothing is said."""
    if is_text(values):
        return "_Unused"
    return -0.0 if values.dtype.kind == "f" else -1


def comparable(key: Any) -> Any:
    """A key in a form in which NaN equals itself."""
    return "nan" if isinstance(key, float) and math.isnan(key) else key


@operator("OneHotEncoder", domain=ML)
def one_hot_encoder(x: Any, *, cats_int64s: Any = None, cats_strings: Any = None, zeros: int = 1) -> Any:
    if is_text(x):
        categories = np.array(cats_strings, dtype=object)
        hot = weft.from_numpy(np.asarray(x[..., None] == categories, np.float32))
    else:
        hot = (x.long()[..., None] == weft.tensor(cats_int64s, device=x.device)).float()
    if not zeros and not bool(hot.any(-1).all()):
        raise ValueError("OneHotEncoder: an element is none of the categories, and zeros is 0")
    return hot


@operator("FeatureVectorizer", domain=ML)
def feature_vectorizer(*inputs: Any, inputdimensions: Any = None) -> Any:
    rows = [each.reshape(each.shape[0], -1).float() for each in inputs]
    return weft.cat(rows, 1)


@operator("TreeEnsemble", domain=ML)
def tree_ensemble(
    x: Any,
    *,
    aggregate_function: int = 1,
    leaf_targetids: Any,
    leaf_weights: Any,
    membership_values: Any = None,
    n_targets: int = 1,
    nodes_falseleafs: Any,
    nodes_falsenodeids: Any,
    nodes_featureids: Any,
    nodes_hitrates: Any = None,
    nodes_missing_value_tracks_true: Any = None,
    nodes_modes: Any,
    nodes_splits: Any,
    nodes_trueleafs: Any,
    nodes_truenodeids: Any,
    post_transform: int = 0,
    tree_roots: Any,
) -> Any:
    rows = x.detach().cpu().numpy()
    modes = nodes_modes.tolist()
    splits, members = nodes_splits, member_sets(modes, membership_values)
    missing = nodes_missing_value_tracks_true or [0] * len(modes)

    def holds(node: int, value: Any) -> Any:
        if modes[node] == MEMBER:
            return np.isin(value, members[node])
        return COMPARISONS[modes[node]](value, splits[node]) | (np.isnan(value) & bool(missing[node]))

    def leaves(root: int) -> Any:
        """The leaf that each row comes to."""
        found = np.zeros(len(rows), np.int64)
        pending, depth = [(root, np.arange(len(rows)))], 0
        while pending:
            node, members_of = pending.pop()
            depth += 1
            if depth > 2 * len(modes) + 1:
                raise ValueError("TreeEnsemble: the nodes of a tree are in a cycle")
            true = holds(node, rows[members_of, nodes_featureids[node]])
            branches = ((true, nodes_trueleafs, nodes_truenodeids), (~true, nodes_falseleafs, nodes_falsenodeids))
            for taken, is_leaf, targets in branches:
                if is_leaf[node]:
                    found[members_of[taken]] = targets[node]
                else:
                    pending.append((targets[node], members_of[taken]))
        return found

    reached = np.stack([leaves(root) for root in tree_roots], 1)  # (N, trees)
    weights, targets = leaf_weights[reached], np.array(leaf_targetids)[reached]
    result = aggregated(weights, targets, n_targets, AGGREGATES[aggregate_function])
    return transformed(tensor_from_numpy(result.astype(rows.dtype)).to(x.device), TRANSFORMS[post_transform])


def member_sets(modes: list[int], values: Any) -> dict[int, Any]:
    """The values of each node that asks for membership; NaN stands between two sets."""
    sets: list[list[float]] = [[]]
    for each in [] if values is None else values.tolist():
        if math.isnan(each):
            sets.append([])
        else:
            sets[-1].append(each)
    nodes = [node for node, mode in enumerate(modes) if mode == MEMBER]
    return dict(zip(nodes, sets))


def aggregated(weights: Any, targets: Any, count: int, how: str) -> Any:
    """The weights of each row's leaves by target, (N, count)."""
    start = {"MIN": math.inf, "MAX": -math.inf}.get(how, 0.0)
    result = np.full((len(weights), count), start)
    rows = np.broadcast_to(np.arange(len(weights))[:, None], targets.shape)
    gather: Any = {"MIN": np.minimum, "MAX": np.maximum}.get(how, np.add)
    gather.at(result, (rows, targets), weights)
    result[np.isinf(result)] = 0
    return result / weights.shape[1] if how == "AVERAGE" else result
