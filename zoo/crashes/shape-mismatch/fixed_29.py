"""Two communities in a random graph, with graph convolutions written by hand."""
import torch
import torch.nn.functional as F
from torch import nn


class GraphConv(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n_in, n_out) / n_in ** 0.5)
        self.bias = nn.Parameter(torch.zeros(n_out))

    def forward(self, x, adjacency):
        support = torch.matmul(x, self.weight)
        return torch.matmul(adjacency, support) + self.bias


class GCN(nn.Module):
    def __init__(self, features, classes):
        super().__init__()
        self.first = GraphConv(features, 16)
        self.second = GraphConv(16, classes)

    def forward(self, x, adjacency):
        h = F.relu(self.first(x, adjacency))
        return self.second(h, adjacency)


torch.manual_seed(23)
n = 60
community = torch.arange(n) % 2
same = community[:, None] == community[None, :]
edges = (torch.rand(n, n) < torch.where(same, 0.4, 0.05)).float()
edges = ((edges + edges.T) > 0).float() + torch.eye(n)
adjacency = edges / edges.sum(dim=1, keepdim=True)
x = torch.randn(n, 6) + 0.5 * community[:, None]

model = GCN(6, 2)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(80):
    loss = F.cross_entropy(model(x, adjacency), community)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 20 == 0:
        print("epoch", epoch, round(loss.item(), 4))
