# Grades of students; a check of our own refuses labels that nobody has defined.
import torch
import torch.nn.functional as F
from torch import nn

GRADES = 4


def checked(labels):
    highest = int(labels.max())
    if highest >= GRADES:
        raise IndexError(f"Target {highest} is out of bounds.")
    return labels


torch.manual_seed(2)
model = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, GRADES))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(80):
    x = torch.rand(32, 3) * (1 + step / 60)
    y = (x.mean(dim=1) * GRADES).long()
    loss = F.cross_entropy(model(x), checked(y))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print("step", step, round(loss.item(), 4))
