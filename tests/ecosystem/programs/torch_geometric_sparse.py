"""Sparse matrices as libraries use them: adjacencies of graphs, interpolation of kernels."""

# /// script
# dependencies = ["torch-geometric==2.8.1", "linear-operator==0.6.1"]
# ///

import torch
from linear_operator.utils import sparse as lo_sparse
from torch_geometric import transforms
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv, GINConv, SAGEConv
from torch_geometric.utils import (
    from_nested_tensor,
    spmm,
    to_edge_index,
    to_nested_tensor,
    to_torch_coo_tensor,
    to_torch_csc_tensor,
    to_torch_csr_tensor,
)

torch.manual_seed(0)
edges = torch.tensor([[0, 1, 1, 2, 3, 3, 0, 2], [1, 0, 2, 1, 0, 2, 3, 3]])
x = torch.randn(4, 5)
for convert in (to_torch_csr_tensor, to_torch_csc_tensor, to_torch_coo_tensor):
    adjacency = convert(edges, size=(4, 4))
    print(adjacency.layout, to_edge_index(adjacency)[0].tolist())
    for reduce in ("sum", "mean", "max", "min"):
        print(reduce, spmm(adjacency, x, reduce).sum().item())
    for layer in (GCNConv(5, 3), SAGEConv(5, 3), GINConv(torch.nn.Linear(5, 3))):
        if convert is to_torch_csr_tensor and isinstance(layer, GCNConv):
            continue  # whose transpose is CSC, which GCNConv refuses
        out = layer(x, adjacency.t())
        out.sum().backward()
        print(
            "same",
            torch.allclose(out, layer(x, edges), atol=1e-5),
            sum(p.grad.sum().item() for p in layer.parameters()),
        )
print(transforms.ToSparseTensor(layout=torch.sparse_csr)(Data(x=x, edge_index=edges)).adj_t)
nested = to_nested_tensor(x, batch=torch.tensor([0, 0, 0, 1]))
print(nested.size(0), nested.to_padded_tensor(0.0).shape, from_nested_tensor(nested).equal(x))

indices, values = torch.tensor([[2, 3], [3, 4], [0, 1]]), torch.tensor([[0.5, 0.5], [0.2, 0.8], [1.0, 0.0]])
matrix = lo_sparse.make_sparse_from_indices_and_values(indices, values, 5)
print(matrix.to_dense().tolist(), lo_sparse.bdsmm(matrix, torch.randn(3, 2)).sum().item())
print(
    lo_sparse.sparse_eye(3).to_dense().tolist(), lo_sparse.sparse_getitem(matrix, (1, slice(None))).to_dense().tolist()
)
print(lo_sparse.sparse_repeat(matrix, 2, 1, 1).shape, lo_sparse.to_sparse(torch.eye(2)).to_dense().tolist())
