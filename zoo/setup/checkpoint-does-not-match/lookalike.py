"""Transfer: the backbone comes from a checkpoint, the head is new and has fewer classes."""
import torch
from torch import nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())
        self.fc = nn.Linear(32, classes)

    def forward(self, x):
        return self.fc(self.backbone(x))


def fit(model, classes, steps, centers):
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for _ in range(steps):
        labels = torch.randint(0, classes, (32,))
        loss = F.cross_entropy(model(centers[labels] + 0.5 * torch.randn(32, 16)), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


torch.manual_seed(1)
centers = torch.randn(10, 16)
teacher = Net(10)
print(fit(teacher, 10, 120, centers))
state = {key: value.clone() for key, value in teacher.state_dict().items() if not key.startswith("fc.")}
model = Net(4)
result = model.load_state_dict(state, strict=False)
print("new:", result.missing_keys)
print(fit(model, 4, 100, centers))
