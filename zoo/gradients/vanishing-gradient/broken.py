"""Deep fully connected classifier on eight overlapping clusters."""
import torch
from torch import nn

torch.manual_seed(0)

DEPTH = 5
WIDTH = 64

layers = [nn.Linear(16, WIDTH), nn.Sigmoid()]
for _ in range(DEPTH):
    layers += [nn.Linear(WIDTH, WIDTH), nn.Sigmoid()]
layers.append(nn.Linear(WIDTH, 8))
model = nn.Sequential(*layers)

centers = 1.5 * torch.randn(8, 16)
optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)
criterion = nn.CrossEntropyLoss()

for step in range(300):
    target = torch.randint(0, 8, (64,))
    data = centers[target] + torch.randn(64, 16)
    optimizer.zero_grad()
    loss = criterion(model(data), target)
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        print(f"step {step:3d} loss {loss.item():.4f}")
