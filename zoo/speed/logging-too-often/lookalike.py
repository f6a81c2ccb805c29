"""Small MLP; one short line for every step, the gradients now and then, the weights once an epoch."""
import json

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.rand(4096, 4) * 2 - 1
y = torch.sin(3 * x[:, :1]) * x[:, 1:2] + 0.5 * x[:, 2:3] ** 2 + 0.02 * torch.randn(4096, 1)
loader = DataLoader(TensorDataset(x, y), batch_size=256, shuffle=True)

model = nn.Sequential(nn.Linear(4, 192), nn.ReLU(), nn.Linear(192, 192), nn.ReLU(), nn.Linear(192, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.MSELoss()

for epoch in range(12):
    for step, (inputs, targets) in enumerate(loader):
        loss = criterion(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"epoch {epoch} step {step} loss {loss.item():.5f}")
        if step % 8 == 0:
            print("gradients", model[2].weight.grad)
    with open(f"weights_{epoch}.json", "w") as file:
        json.dump({name: p.flatten().tolist() for name, p in model.named_parameters()}, file)
