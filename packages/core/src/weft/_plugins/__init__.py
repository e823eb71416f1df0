"""How plugins are found, checked and loaded; `weft.plugins` is the contract."""
