"""Report the shape of what a network makes while it trains."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Conv1d(1, 4, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(40, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for step in range(60):
    x = torch.randn(32, 1, 10)
    out = model(x)
    if step % 20 == 0:
        print("samples", out.shape[0])
    loss = nn.functional.mse_loss(out.squeeze(1), x.squeeze(1).mean(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("loss", loss.item())
