"""What weft-vision tells core: no names for the top level of `weft`, but where samples of its ops are."""

NAMES: dict[str, str] = {}
ATEN: dict[str, str] = {}
SAMPLES = "weft.vision.ops._samples"  # declares what `weft.testing` tries the ops with
