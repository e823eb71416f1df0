"""Workers that are started, watched, ended and restarted together: what `weft.distributed.run` stands on."""
