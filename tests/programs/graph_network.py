"""A graph network on a sparse matrix, a second one trained by LBFGS, and a penalty on gradients."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class GraphConvolution(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(torch.FloatTensor(in_features, out_features))
        self.bias = nn.Parameter(torch.zeros(out_features))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x, adjacency):
        return torch.spmm(adjacency, torch.mm(x, self.weight)) + self.bias


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = GraphConvolution(10, 16), GraphConvolution(16, 3)

    def forward(self, x, adjacency):
        x = F.dropout(F.elu(self.first(x, adjacency)), 0.3, training=self.training)
        return F.log_softmax(self.second(x, adjacency), dim=1)


torch.manual_seed(42)
nodes = 40
labels = torch.arange(nodes) % 3
edges = torch.randint(nodes, (2, 150))
edges = torch.cat([edges, edges.flip(0), torch.arange(nodes).repeat(2, 1)], 1)
adjacency = torch.sparse_coo_tensor(edges, torch.ones(edges.shape[1]), (nodes, nodes)).coalesce()
degrees = torch.sparse.sum(adjacency, 1).to_dense()
adjacency = torch.diag(1 / degrees).to_sparse() @ adjacency.to_dense()
adjacency = adjacency.to_sparse()
features = torch.randn(nodes, 10) + F.one_hot(labels, 10)
model = Network()
optimizer = torch.optim.Adam(model.parameters(), lr=0.02, weight_decay=5e-4)
for epoch in range(12):
    model.train()
    optimizer.zero_grad()
    loss = F.nll_loss(model(features, adjacency)[:30], labels[:30])
    loss.backward()
    optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.5f}")
model.eval()
lbfgs = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=4, line_search_fn="strong_wolfe")


def closure():
    lbfgs.zero_grad()
    x = features.clone().requires_grad_(True)
    loss = F.nll_loss(model(x, adjacency), labels)
    (gradient,) = torch.autograd.grad(loss, x, create_graph=True)
    loss = loss + 10 * gradient.pow(2).sum()
    loss.backward()
    return loss


for step in range(3):
    print(f"step {step} loss {lbfgs.step(closure).item():.5f}")
