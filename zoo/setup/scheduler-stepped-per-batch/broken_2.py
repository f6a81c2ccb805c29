"""Sequence regression with a GRU and a scheduler that listens to the loss."""
import torch
from torch import nn, optim
from torch.optim.lr_scheduler import ReduceLROnPlateau


class Forecaster(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.rnn = nn.GRU(1, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 1)

    def forward(self, x):
        states, _ = self.rnn(x)
        return self.head(states[:, -1]).squeeze(-1)


def make_series(n=320, length=12):
    phase = torch.rand(n, 1) * 6.28
    speed = 0.2 + 0.3 * torch.rand(n, 1)
    waves = torch.sin(phase + speed * torch.arange(length + 1)) + 0.2 * torch.randn(n, length + 1)
    return waves[:, :-1, None], waves[:, -1]


def train(model, x, y, epochs=10, batch=16):
    opt = optim.Adam(model.parameters(), lr=5e-3)
    plateau = ReduceLROnPlateau(opt, factor=0.2, patience=1)
    loss_fn = nn.MSELoss()
    for epoch in range(epochs):
        total = 0.0
        for chunk in torch.randperm(len(x)).split(batch):
            opt.zero_grad()
            loss = loss_fn(model(x[chunk]), y[chunk])
            loss.backward()
            opt.step()
            plateau.step(loss.item())
            total += loss.item() * len(chunk)
        print(f"epoch {epoch}: mse {total / len(x):.4f}")


if __name__ == "__main__":
    torch.manual_seed(2)
    train(Forecaster(), *make_series())
