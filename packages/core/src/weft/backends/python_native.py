"""Languages in which PyTorch has kernels beside its own, such as Triton: weft has kernels in none of them."""

available_dsls: list[str] = []
all_dsls: list[str] = []
