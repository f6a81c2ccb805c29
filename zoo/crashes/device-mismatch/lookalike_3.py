"""Shapes on the meta device, values on the CPU: two copies of one model that never meet."""
import copy
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
plan = copy.deepcopy(model).to("meta")
print("planned output:", tuple(plan(torch.empty(4096, 10, device="meta")).shape))
weight = torch.randn(10, 1)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for step in range(100):
    x = torch.randn(64, 10)
    loss = nn.functional.mse_loss(model(x), x @ weight)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, round(loss.item(), 4))
