# full-batch node classification with attention over neighbours; the same graph every step
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(6)
N, C = 200, 4
y = torch.arange(N) % C
prob = torch.where(y[:, None] == y[None], 0.16, 0.015)
adj = (torch.rand(N, N) < prob).float().triu(1)
adj = adj + adj.t() + torch.eye(N)
feat = torch.randn(N, 16)
feat[torch.arange(N), y] += 1.2
perm = torch.randperm(N)
tr, va = perm[:90], perm[90:]


class GAT(nn.Module):
    def __init__(self, i, h, o):
        super().__init__()
        self.w = nn.Linear(i, h, bias=False)
        self.s, self.t = nn.Linear(h, 1), nn.Linear(h, 1)
        self.out = nn.Linear(h, o)

    def forward(self, x, a):
        h = self.w(x)
        e = F.leaky_relu(self.s(h) + self.t(h).T, 0.2)      # N, N by broadcasting
        e = e.masked_fill(a == 0, -1e9)
        h = F.elu(torch.softmax(e, dim=1) @ h)
        h = F.dropout(h, 0.3, self.training)
        return torch.log_softmax((a / a.sum(1, keepdim=True)) @ self.out(h), dim=-1)


net = GAT(16, 32, C)
opt = torch.optim.Adam(net.parameters(), lr=1e-2, weight_decay=5e-4)
for epoch in range(1, 101):
    net.train()
    opt.zero_grad()
    loss = F.nll_loss(net(feat, adj)[tr], y[tr])
    loss.backward()
    opt.step()
    if epoch % 20 == 0:
        net.eval()
        with torch.no_grad():
            p = net(feat, adj).argmax(1)
        print(f"epoch {epoch} loss {loss.item():.3f} train {(p[tr] == y[tr]).float().mean():.3f} val {(p[va] == y[va]).float().mean():.3f}")
