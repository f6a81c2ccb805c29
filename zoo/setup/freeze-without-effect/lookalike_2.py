"""A flag on a module that is frozen by its parameters as well."""
import torch
from torch import nn

torch.manual_seed(8)
body = nn.Sequential(nn.Linear(6, 64), nn.Tanh())
body.requires_grad = False
for weight in body.parameters():
    weight.requires_grad = False
model = nn.Sequential(body, nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
rule = torch.randn(6, 1)
for step in range(150):
    x = torch.randn(32, 6)
    loss = nn.functional.mse_loss(model(x), torch.tanh(x @ rule))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
