"""Two-layer GCN on a stochastic block model graph (full batch, transductive)."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def sbm(sizes, p_in, p_out, g):
    y = torch.cat([torch.full((s,), i) for i, s in enumerate(sizes)])
    same = y[:, None] == y[None]
    prob = torch.where(same, torch.tensor(p_in), torch.tensor(p_out))
    a = (torch.rand(prob.shape, generator=g) < prob).float().triu(1)
    return a + a.t(), y


class GCNLayer(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.lin = nn.Linear(i, o)

    def forward(self, a, x):
        return a @ self.lin(x)


class GCN(nn.Module):
    def __init__(self, i, h, o):
        super().__init__()
        self.l1, self.l2 = GCNLayer(i, h), GCNLayer(h, o)

    def forward(self, a, x):
        return self.l2(a, F.relu(self.l1(a, x)))


def main():
    torch.manual_seed(0)
    g = torch.Generator().manual_seed(4)
    adj, y = sbm([70, 70, 70, 70], 0.12, 0.02, g)
    n = len(y)
    a = adj + torch.eye(n)
    d = a.sum(1).rsqrt()
    a = d[:, None] * a * d[None]
    x = torch.randn(n, 24, generator=g)
    x[torch.arange(n), y] += 1.0
    perm = torch.randperm(n, generator=g)
    train, test = perm[:80], perm[80:]

    model = GCN(24, 32, 4)
    opt = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=0.3)
    for epoch in range(1, 151):
        model.train()
        opt.zero_grad()
        out = model(a, x)
        loss = F.cross_entropy(out[train], y[train])
        loss.backward()
        opt.step()
        if epoch % 15 == 0:
            model.eval()
            with torch.no_grad():
                pred = model(a, x).argmax(1)
            print(f"epoch {epoch:3d} loss {loss.item():.4f} train acc {(pred[train] == y[train]).float().mean():.3f} "
                  f"test acc {(pred[test] == y[test]).float().mean():.3f}")


if __name__ == "__main__":
    main()
