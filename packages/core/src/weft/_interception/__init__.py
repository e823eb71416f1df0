"""What sees a call before or instead of its kernel: overrides, function transforms, autocast, the profiler."""
