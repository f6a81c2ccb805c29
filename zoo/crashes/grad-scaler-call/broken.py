"""Estimate the age of trees from their rings, with mixed precision."""
import torch
from torch import nn


class AgeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, rings):
        return self.net(rings)


def train(model, steps=120):
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    scaler = torch.amp.GradScaler("cpu")
    for step in range(1, steps + 1):
        rings = torch.rand(64, 10)
        age = rings.sum(1, keepdim=True)
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            loss = nn.functional.mse_loss(model(rings), age)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        if step % 20 == 0:
            print(f"step {step}: loss {loss.item():.4f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    train(AgeNet())
