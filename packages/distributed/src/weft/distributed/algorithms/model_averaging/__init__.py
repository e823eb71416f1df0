"""Means of parameters over processes, now and then: see `weft.distributed.optim.PostLocalSGDOptimizer`."""
