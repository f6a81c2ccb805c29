"""A small network learns the sine of a sum; the data lies on the device."""
import torch
from torch import nn

torch.manual_seed(0)
device = torch.device("cuda")
inputs = torch.randn(32768, 16, device=device)
targets = torch.sin(inputs.sum(dim=1, keepdim=True) / 2)

model = nn.Sequential(nn.Linear(16, 128), nn.ReLU(), nn.Linear(128, 1)).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
for epoch in range(4):
    order = torch.randperm(32768, device=device)
    for rows in order.split(128):
        loss = nn.functional.mse_loss(model(inputs[rows]), targets[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.4f}")
