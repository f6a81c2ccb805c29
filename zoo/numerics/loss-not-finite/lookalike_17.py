"""Graph attention: neighbours that do not exist get -inf, every node has a self loop."""
import torch
from torch import nn


class GAT(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.lin, self.a = nn.Linear(i, o), nn.Linear(2 * o, 1)

    def forward(self, x, adj):
        h = self.lin(x)
        n = h.size(0)
        pair = torch.cat([h[:, None].expand(n, n, -1), h[None].expand(n, n, -1)], -1)
        score = nn.functional.leaky_relu(self.a(pair).squeeze(-1), 0.2)
        score = torch.where(adj, score, torch.tensor(float("-inf")))
        return torch.softmax(score, dim=1) @ h


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.g1, self.g2 = GAT(8, 16), GAT(16, 3)

    def forward(self, x, adj):
        return self.g2(torch.relu(self.g1(x, adj)), adj)


torch.manual_seed(13)
y = torch.randint(0, 3, (60,))
adj = (torch.rand(60, 60) < 0.02 + 0.25 * (y[:, None] == y[None]).float())
adj = adj | adj.t() | torch.eye(60, dtype=torch.bool)
x = torch.randn(60, 8) + 0.7 * torch.nn.functional.one_hot(y, 8)
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-2, weight_decay=5e-4)
for epoch in range(80):
    loss = nn.functional.cross_entropy(net(x, adj)[:40], y[:40])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if epoch % 20 == 0:
        print(epoch, loss.item())
print("final", loss.item())
