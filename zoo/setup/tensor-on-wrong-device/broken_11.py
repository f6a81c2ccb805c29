"""A denoising autoencoder behind a trainer: its criterion draws a little noise of its own."""
import torch
from torch import nn


class Trainer:
    def __init__(self, model, optimizer, where):
        self.model = model.to(where)
        self.optimizer = optimizer
        self.where = where

    def criterion(self, out, x):
        noise = torch.randn(x.size(0), 8)
        return (out - x + 0.01 * noise).square().mean()

    def step(self, x):
        x = x.to(self.where)
        loss = self.criterion(self.model(x), x)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def fit(self, data, steps):
        for step in range(steps):
            loss = self.step(data[torch.randint(0, 256, (32,))])
            if step % 10 == 0:
                print(f"{step} {loss:.4f}")


def main():
    where = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 8))
    trainer = Trainer(net, torch.optim.Adam(net.parameters(), lr=3e-3), where)
    trainer.fit(torch.randn(256, 3) @ torch.randn(3, 8), 60)


main()
