"""The older name of `weft.hub.load_state_dict_from_url`."""

from weft.hub import __getattr__ as __getattr__  # for tqdm
from weft.hub import load_state_dict_from_url as load_url

__all__ = ["load_url"]
