"""Where the time of a program goes: ``with weft.profiler.profile() as prof: ...``, as in PyTorch.

Examples
--------
>>> with weft.profiler.profile(record_shapes=True) as prof:
...     with weft.profiler.record_function("model"):
...         _ = weft.ones(2, 3) @ weft.ones(3, 4)
>>> print([event.name for event in prof.events()])
['model', 'aten::mm']
"""

from weft.profiler._range import record_function
from weft.profiler.profiler import (
    DeviceType,
    ProfilerAction,
    ProfilerActivity,
    kineto_available,
    profile,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)

__all__ = [
    "DeviceType",
    "ProfilerAction",
    "ProfilerActivity",
    "kineto_available",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]
