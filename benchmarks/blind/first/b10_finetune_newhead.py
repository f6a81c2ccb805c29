import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(9)
DIM = 20
centers = torch.randn(12, DIM)


def blobs(n, classes):
    y = torch.randint(0, len(classes), (n,))
    x = centers[torch.tensor(classes)[y]] + 0.8 * torch.randn(n, DIM)
    return x, y


class Backbone(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(DIM, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())
        self.fc = nn.Linear(32, num_classes)

    def forward(self, x):
        return self.fc(self.features(x))


def run_epoch(model, optimizer, x, y, bs=32):
    model.train()
    perm = torch.randperm(len(x))
    total = 0.0
    for i in range(0, len(x), bs):
        idx = perm[i:i + bs]
        loss = F.cross_entropy(model(x[idx]), y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    return total / len(x)


def accuracy(model, x, y):
    model.eval()
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


# stage 1: source task
source = list(range(6))
xs, ys = blobs(1600, source)
model = Backbone(num_classes=6)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(5):
    run_epoch(model, optimizer, xs, ys)
print(f"source acc {accuracy(model, *blobs(500, source)):.3f}")

# stage 2: target task with other classes
target = list(range(6, 12))
xt, yt = blobs(400, target)
xv, yv = blobs(500, target)
optimizer = torch.optim.SGD([
    {"params": model.features.parameters(), "lr": 1e-3},
    {"params": model.fc.parameters(), "lr": 5e-2},
], momentum=0.9)
model.fc = nn.Linear(32, len(target))
for epoch in range(12):
    loss = run_epoch(model, optimizer, xt, yt)
    print(f"finetune epoch {epoch}: loss {loss:.4f} val acc {accuracy(model, xv, yv):.3f}")
