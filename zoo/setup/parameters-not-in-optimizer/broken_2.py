# Fine-tune a small "pretrained" network on a new 4-class problem.
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(42)


class Net(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.fc = nn.Linear(64, num_classes)

    def forward(self, x):
        return self.fc(self.features(x))


def pretrained(num_classes=10):
    # stands in for a download: weights from a fixed seed
    net = Net(num_classes)
    for p in net.features.parameters():
        p.data.mul_(1.5)
    return net


centers = torch.randn(4, 20)

model = pretrained()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

for p in model.features.parameters():
    p.requires_grad = False
model.fc = nn.Linear(64, 4)

for epoch in range(1, 11):
    losses = []
    for _ in range(20):
        y = torch.randint(0, 4, (32,))
        x = centers[y] + 0.7 * torch.randn(32, 20)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(f"Epoch {epoch:2d} | loss {sum(losses) / len(losses):.4f}")
