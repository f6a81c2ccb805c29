"""Training with a look at held-out data after every epoch."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
centers = torch.randn(3, 8)


def make_split(n):
    labels = torch.randint(0, 3, (n,))
    return centers[labels] + 0.5 * torch.randn(n, 8), labels


def evaluate(model, x, y):
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


train_x, train_y = make_split(512)
test_x, test_y = make_split(128)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(8):
    for x, y in zip(train_x.split(64), train_y.split(64)):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.3f} accuracy {evaluate(model, test_x, test_y):.2f}")
