"""PyTorch Geometric: graph convolutions, attention, pooling, loaders and sparse adjacencies."""

# /// script
# dependencies = ["torch-geometric==2.8.1"]
# ///

import torch
import torch.nn.functional as F
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GATConv, GCNConv, GINConv, SAGEConv, global_mean_pool
from torch_geometric.utils import add_self_loops, degree, to_dense_adj, to_torch_coo_tensor, to_undirected

torch.manual_seed(0)
edges = to_undirected(torch.randint(0, 20, (2, 60)))
data = Data(x=torch.randn(20, 8), edge_index=edges, y=torch.randint(0, 3, (20,)))
print(data, data.num_edges, data.is_undirected(), data.has_isolated_nodes())
print("degree", degree(edges[0], 20).tolist())
print("dense", to_dense_adj(edges).sum().item(), add_self_loops(edges)[0].shape[1])


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = GCNConv(8, 16), GATConv(16, 3, heads=2, concat=False)

    def forward(self, data):
        x = F.relu(self.first(data.x, data.edge_index))
        return self.second(F.dropout(x, training=self.training), data.edge_index)


model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=0.02, weight_decay=5e-4)
for epoch in range(5):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(data), data.y)
    loss.backward()
    optimizer.step()
    print("epoch", epoch, "loss", loss.item())

graphs = [
    Data(x=torch.randn(n, 4), edge_index=torch.randint(0, n, (2, 3 * n)), y=torch.tensor([n % 2])) for n in range(4, 12)
]
sage = SAGEConv(4, 5)
gin = GINConv(torch.nn.Linear(5, 2))
for batch in DataLoader(graphs, batch_size=4):
    x = gin(sage(batch.x, batch.edge_index).relu(), batch.edge_index)
    pooled = global_mean_pool(x, batch.batch)
    print("batch", batch.num_graphs, pooled.flatten().tolist())
adjacency = to_torch_coo_tensor(edges, size=20)
print("sparse", GCNConv(8, 2, normalize=False)(data.x, adjacency).sum().item())
