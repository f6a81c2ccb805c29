"""A fit of a wave that is also asked to have the right slope."""
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

for step in range(120):
    place = torch.rand(64, 1, requires_grad=True)
    height = model(place.detach())
    slope = torch.autograd.grad(height.sum(), place, create_graph=True)[0]
    loss = (height - place.sin()).pow(2).mean() + (slope - place.cos()).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step} loss {loss.item():.4f}")
