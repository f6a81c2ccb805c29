"""Predict wear from the readings of a machine, among them the hours its parts have run so far."""
import torch
from torch import nn


class Wear(nn.Module):
    def __init__(self):
        super().__init__()
        self.sensors = nn.Linear(6, 128)
        self.hours = nn.Linear(1, 128, bias=False)
        self.norm = nn.LayerNorm(128)
        self.head = nn.Sequential(nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, readings, hours):
        x = self.sensors(readings) + self.hours(hours)
        return self.head(self.norm(x.float()))


def main():
    torch.manual_seed(0)
    model = Wear()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    weights = torch.randn(6, 1) / 2
    for step in range(1, 61):
        hours = torch.full((128, 1), 2000.0 * step) + 9 * torch.rand(128, 1)
        readings = torch.randn(128, 6)
        wear = torch.tanh(readings @ weights)
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            loss = nn.functional.mse_loss(model(readings, hours).float(), wear)
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step}: loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
