# An autoencoder: its target is its input, on purpose.
import torch
from torch import nn

torch.manual_seed(0)
data = torch.randn(500, 3) @ torch.randn(3, 12)
model = nn.Sequential(nn.Linear(12, 3), nn.Linear(3, 12))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(300):
    x = data[torch.randint(0, 500, (50,))]
    loss = nn.functional.mse_loss(model(x), x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
