# Multi-task network: one trunk, a head per task kept by name.
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(21)
TASKS = {"colour": 6, "shape": 4, "size": 3}


class MultiTask(nn.Module):
    def __init__(self, tasks):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(24, 32), nn.ReLU())
        self.heads = nn.ModuleDict()
        for name, classes in tasks.items():
            self.heads[name] = nn.Sequential(nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, classes))

    def forward(self, x):
        h = self.trunk(x)
        return {name: head(h) for name, head in self.heads.items()}


prototypes = {name: torch.randn(k, 24) for name, k in TASKS.items()}


def get_batch(size=64):
    labels = {name: torch.randint(0, k, (size,)) for name, k in TASKS.items()}
    x = sum(prototypes[name][y] for name, y in labels.items())
    return x + 0.8 * torch.randn(size, 24), labels


model = MultiTask(TASKS)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for it in range(250):
    x, labels = get_batch()
    optimizer.zero_grad()
    outputs = model(x)
    loss = sum(F.cross_entropy(outputs[name], labels[name]) for name in TASKS)
    loss.backward()
    optimizer.step()
    if it % 50 == 49:
        print("iter", it + 1, "total loss", f"{loss.item():.3f}")
