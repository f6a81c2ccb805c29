import torch
from torch import nn

torch.manual_seed(0)
time = torch.arange(0, 200, dtype=torch.float32)
series = torch.sin(time / 6.0) + 0.3 * torch.cos(time / 2.0)
model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

smooth = None
for step in range(150):
    start = torch.randint(0, 190, (32,))
    windows = torch.stack([series[i : i + 8] for i in start])
    targets = torch.stack([series[i + 8 : i + 9] for i in start])
    loss = nn.functional.mse_loss(model(windows), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    smooth = loss if smooth is None else 0.95 * smooth + 0.05 * loss
    if step % 50 == 49:
        print(f"step {step + 1}: {smooth:.4f}")
