"""Forecast a shop's daily revenue from its visit counts, on a log scale."""
import torch
import torch.nn as nn


class Revenue(nn.Module):
    def __init__(self, channels=6):
        super().__init__()
        self.hidden = nn.Linear(channels, 48)
        self.out = nn.Linear(48, 1)

    def forward(self, visits):
        x = torch.log(visits)
        return self.out(torch.relu(self.hidden(x)))


class Shop:
    def __init__(self, channels=6):
        self.rate = torch.linspace(8, 25, channels)
        self.value = torch.linspace(2, -1, channels)

    def days(self, n):
        visits = torch.poisson(self.rate.expand(n, -1))
        return visits, torch.log1p(visits) @ self.value[:, None]


def run(steps=250):
    torch.manual_seed(7)
    shop, model = Shop(), Revenue()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(1, steps + 1):
        visits, revenue = shop.days(16)
        loss = nn.functional.mse_loss(model(visits), revenue)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 25 == 0:
            print(f"step {step}: mse {loss.item():.4f}")


if __name__ == "__main__":
    run()
