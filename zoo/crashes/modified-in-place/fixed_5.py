"""A regression network with dropout on synthetic measurements."""
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Sequential(
    nn.Linear(10, 64),
    nn.Tanh(),
    nn.Dropout(0.1),
    nn.Linear(64, 64),
    nn.Tanh(),
    nn.Linear(64, 1),
)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.MSELoss()
inputs = torch.randn(512, 10)
targets = torch.sin(inputs[:, :1]) + 0.5 * inputs[:, 1:2]

for epoch in range(15):
    for start in range(0, 512, 64):
        x, y = inputs[start : start + 64], targets[start : start + 64]
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
