import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(13)
N, K, D = 300, 4, 16

y = torch.arange(K).repeat_interleave(N // K)
same = y[:, None] == y[None, :]
prob = torch.where(same, torch.tensor(0.06), torch.tensor(0.006))
A = (torch.rand(N, N) < prob).float().triu(1)
A = A + A.t() + torch.eye(N)
deg = A.sum(1)
A_hat = A / (deg[:, None] * deg[None, :]).sqrt()
X = 0.5 * torch.randn(K, D)[y] + torch.randn(N, D)

perm = torch.randperm(N)
train_mask = torch.zeros(N, dtype=torch.bool)
val_mask = torch.zeros(N, dtype=torch.bool)
train_mask[perm[:40]] = True
val_mask[perm[100:]] = True


class GCN(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.w1 = nn.Linear(D, hidden, bias=False)
        self.w2 = nn.Linear(hidden, K, bias=False)
        self.bias = nn.Parameter(torch.zeros(K))
        self.drop = nn.Dropout(0.4)

    def forward(self, x, a):
        h = torch.relu(a @ self.w1(self.drop(x)))
        return a @ self.w2(self.drop(h)) + self.bias


model = GCN()
opt = torch.optim.Adam([
    {"params": model.w1.parameters(), "weight_decay": 5e-3},
    {"params": [model.w2.weight, model.bias], "weight_decay": 0.0},
], lr=1e-2)

# the whole graph is one batch; only the loss is masked
for epoch in range(1, 201):
    model.train()
    opt.zero_grad()
    out = model(X, A_hat)
    loss = F.cross_entropy(out[train_mask], y[train_mask])
    loss.backward()
    opt.step()
    if epoch % 40 == 0:
        model.eval()
        with torch.no_grad():
            out = model(X, A_hat)
            vl = F.cross_entropy(out[val_mask], y[val_mask])
            acc = (out[val_mask].argmax(1) == y[val_mask]).float().mean()
        print(f"epoch {epoch}: train {loss.item():.4f} val {vl:.4f} acc {acc:.3f}")
