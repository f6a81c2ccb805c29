"""Autoencoder of small noisy waves; saved after each short epoch, and whenever the loss is the best so far."""
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

best = float("inf")
for epoch in range(25):
    total = 0.0
    for order in torch.randperm(2048).split(128):
        batch = waves[order]
        loss = nn.functional.mse_loss(model(batch + 0.1 * torch.randn_like(batch)), batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        if loss.item() < 0.8 * best:
            best = loss.item()
            torch.save(model.state_dict(), "best.pt")
    torch.save({"epoch": epoch, "model": model.state_dict(), "optimizer": optimizer.state_dict()}, "latest.pt")
    print(f"epoch {epoch}: loss {total / 16:.4f}")
