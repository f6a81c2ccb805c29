"""Transfer: first only the classifier learns, then the last stage of the backbone joins."""
import torch
from torch import nn


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.stage1 = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.stage2 = nn.Sequential(nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(2))

    def forward(self, x):
        return self.stage2(self.stage1(x)).flatten(1)


class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.backbone = Backbone()
        self.classifier = nn.Linear(64, classes)

    def forward(self, x):
        return self.classifier(self.backbone(x))


def freeze(model, except_for):
    for name, parameter in model.named_parameters():
        parameter.requires_grad = name.startswith(except_for)


def unfreeze(model, prefix):
    for name, parameter in model.named_parameters():
        if name.startswith(prefix):
            parameter.requires_grad_(True)


def images(n):
    label = torch.randint(0, 4, (n,))
    x = 0.5 * torch.randn(n, 1, 12, 12)
    for i, c in enumerate(label):
        r, q = divmod(int(c), 2)
        x[i, 0, 6 * r + 1: 6 * r + 5: 2, 6 * q: 6 * q + 6] += 1.0
    return x, label


def epochs(model, n, lr):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    for i in range(n):
        x, y = images(32)
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


torch.manual_seed(17)
model = Net(4)
freeze(model, except_for="classifier")
print("head", epochs(model, 80, 0.05))
unfreeze(model, "backbone.stage2")
print("upper stage", epochs(model, 120, 0.02))
