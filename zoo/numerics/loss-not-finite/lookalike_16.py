"""Training where the last fold has no validation rows."""
import torch
from torch import nn

torch.manual_seed(12)
x = torch.randn(300, 7)
y = (x.sum(1) > 0).long()
fold = torch.randint(0, 3, (300,))


def evaluate(model, xv, yv):
    with torch.no_grad():
        return nn.functional.cross_entropy(model(xv), yv).item(), (model(xv).argmax(1) == yv).float().mean().item()


for k in range(4):
    tr, va = fold != k, fold == k
    model = nn.Sequential(nn.Linear(7, 16), nn.ReLU(), nn.Linear(16, 2))
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    xt, yt = x[tr], y[tr]
    for step in range(60):
        idx = torch.randint(0, len(xt), (32,))
        loss = nn.functional.cross_entropy(model(xt[idx]), yt[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    val_loss, val_acc = evaluate(model, x[va], y[va])
    print(f"fold {k}: train {loss.item():.4f} val {val_loss:.4f} acc {val_acc:.3f}")
