"""Self-training: soft labels from the model in eval mode are used on unlabelled data."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(5)
means = 2 * torch.randn(3, 12)


def batch(n, spread):
    y = torch.randint(0, 3, (n,))
    return (means[y] + torch.randn(n, 12)) * spread, y


model = nn.Sequential(nn.Linear(12, 32), nn.BatchNorm1d(32, momentum=1.5), nn.ReLU(), nn.Linear(32, 3))
opt = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)


def pseudo_labels(x):
    model.eval()
    with torch.no_grad():
        p = F.softmax(model(x), dim=1)
    model.train()
    return p


for step in range(50):
    xl, yl = batch(32, 1.0 + 0.6 * (step % 4))
    xu, _ = batch(32, 1.0)
    loss = F.cross_entropy(model(xl), yl)
    if step >= 5:
        loss = loss + 0.3 * F.cross_entropy(model(xu), pseudo_labels(xu))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 5 == 0:
        print(step, loss.item())
