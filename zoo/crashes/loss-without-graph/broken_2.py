"""Several targets, one loss each, averaged."""
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
criterion = nn.MSELoss()
inputs = torch.randn(256, 6)
targets = torch.stack([inputs[:, 0].sin(), inputs[:, 1].cos(), inputs[:, 2] * inputs[:, 3]], dim=1)

for step in range(150):
    picked = torch.randint(0, 256, (64,))
    outputs = model(inputs[picked])
    losses = []
    for column in range(3):
        losses.append(criterion(outputs[:, column], targets[picked, column]))
    loss = torch.tensor(losses).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        print(f"step {step} loss {loss.item():.4f}")
