"""Graph convolution on a synthetic social network; only a few nodes are labelled."""
import torch
import torch.nn.functional as F
from torch import nn


class GraphConv(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n_in, n_out))
        self.bias = nn.Parameter(torch.zeros(n_out))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x, adjacency):
        return adjacency @ (x @ self.weight) + self.bias


class GCN(nn.Module):
    def __init__(self, features, hidden, classes):
        super().__init__()
        self.gc1 = GraphConv(features, hidden)
        self.gc2 = GraphConv(hidden, classes)

    def forward(self, x, adjacency):
        x = F.dropout(F.relu(self.gc1(x, adjacency)), 0.3, training=self.training)
        return F.log_softmax(self.gc2(x, adjacency), dim=1)


def network(nodes=150, groups=3):
    group = torch.arange(nodes) % groups
    same = group[:, None] == group[None, :]
    links = torch.rand(nodes, nodes) < torch.where(same, 0.15, 0.01)
    links = (links | links.t() | torch.eye(nodes, dtype=torch.bool)).float()
    degree = links.sum(1)
    return torch.randn(nodes, 16) + 0.3 * F.one_hot(group, 16), links / (degree[:, None] * degree[None, :]).sqrt(), group


torch.manual_seed(8)
x, adjacency, group = network()
train = torch.rand(150) < 0.3
model = GCN(16, 24, 3)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=5e-4)
for epoch in range(150):
    model.train()
    optimizer.zero_grad()
    output = model(x, adjacency)
    loss_train = F.nll_loss(output[train], group[train])
    loss_train.backward()
    optimizer.step()
    if epoch % 30 == 0:
        model.eval()
        with torch.no_grad():
            rest = model(x, adjacency)[~train].argmax(1) == group[~train]
        print("Epoch: {:04d} loss_train: {:.4f} acc_rest: {:.3f}".format(epoch, loss_train.item(), rest.float().mean()))
