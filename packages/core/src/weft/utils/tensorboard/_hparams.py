"""The entries for the settings of a run, by the package tensorboard."""

from __future__ import annotations

from typing import Any

import numpy as np
from google.protobuf.struct_pb2 import ListValue, Value
from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
from tensorboard.plugins.hparams import api_pb2, plugin_data_pb2

__all__ = ["hparams"]


def hparams(
    hparam_dict: dict[str, Any], metric_dict: dict[str, Any], hparam_domain_discrete: dict[str, list[Any]] | None = None
) -> tuple[Any, Any, Any]:
    """The entries that begin and end a run, and say what its settings are.

    Parameters
    ----------
    hparam_dict : dict
        Settings: numbers, strings, flags, or tensors and arrays of one element. Those that are None are left out.
    metric_dict : dict
        What was reached, by the tags under which it is logged.
    hparam_domain_discrete : dict, optional
        All values that a setting may have.

    Returns
    -------
    (experiment, session start, session end)
        Summaries.

    Raises
    ------
    TypeError
        If either is no dict.
    ValueError
        For a setting of another type.
    """
    if not isinstance(hparam_dict, dict) or not isinstance(metric_dict, dict):
        raise TypeError("hparams: hparam_dict and metric_dict should be dictionaries")
    domains = hparam_domain_discrete or {}
    given = {name: in_protocol(name, value) for name, value in hparam_dict.items() if value is not None}
    experiment = api_pb2.Experiment(
        hparam_infos=[description(name, kind, domains.get(name)) for name, (kind, _) in given.items()],
        metric_infos=[api_pb2.MetricInfo(name=api_pb2.MetricName(tag=tag)) for tag in metric_dict],
    )
    start = plugin_data_pb2.SessionStartInfo(hparams={name: value for name, (_, value) in given.items()})
    end = plugin_data_pb2.SessionEndInfo(status=api_pb2.Status.Value("STATUS_SUCCESS"))
    return (
        entry("_hparams_/experiment", plugin_data_pb2.HParamsPluginData(experiment=experiment)),
        entry("_hparams_/session_start_info", plugin_data_pb2.HParamsPluginData(session_start_info=start)),
        entry("_hparams_/session_end_info", plugin_data_pb2.HParamsPluginData(session_end_info=end)),
    )


def description(name: str, kind: str, domain: list[Any] | None) -> Any:
    """What a setting is: its type, and the values that it may have."""
    found = api_pb2.HParamInfo(name=name, type=api_pb2.DataType.Value(f"DATA_TYPE_{kind}"))
    if domain is not None:
        found.domain_discrete.CopyFrom(ListValue(values=[in_protocol(name, each)[1] for each in domain]))
    return found


def in_protocol(name: str, value: Any) -> tuple[str, Any]:
    """The type and the value of a setting."""
    if isinstance(value, str):
        return "STRING", Value(string_value=value)
    if isinstance(value, bool):
        return "BOOL", Value(bool_value=value)
    if isinstance(value, (int, float, np.number)) or getattr(value, "size", None) == 1 or hasattr(value, "item"):
        return "FLOAT64", Value(number_value=float(value))
    raise ValueError(f"hparams: {name} is a {type(value).__name__}; give a number, a string, a flag or a tensor of one")


def entry(tag: str, data: Any) -> Any:
    """A summary that holds data for the table of runs."""
    plugin = SummaryMetadata.PluginData(plugin_name="hparams", content=data.SerializeToString())
    return Summary(value=[Summary.Value(tag=tag, metadata=SummaryMetadata(plugin_data=plugin))])
