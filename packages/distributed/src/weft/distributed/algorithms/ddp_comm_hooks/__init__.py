"""Names of ways to exchange gradients, see `weft.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook`."""
