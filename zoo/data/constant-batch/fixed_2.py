"""Regression on a noisy surface; a first batch is drawn to size the network."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Surface(Dataset):
    def __init__(self, count, seed):
        generator = torch.Generator().manual_seed(seed)
        self.points = torch.rand(count, 24, generator=generator) * 2 - 1
        self.height = torch.tanh(self.points.sum(1, keepdim=True)) + 0.3 * torch.randn(count, 1, generator=generator)

    def __len__(self):
        return len(self.points)

    def __getitem__(self, index):
        return {"points": self.points[index], "height": self.height[index]}


class Trainer:
    def __init__(self):
        torch.manual_seed(1)
        self.loader = DataLoader(Surface(640, 0), batch_size=32, shuffle=True)
        self.first = next(iter(self.loader))
        features = self.first["points"].shape[1]
        self.net = nn.Sequential(nn.Linear(features, 48), nn.Tanh(), nn.Linear(48, 1))
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=5e-3)

    def epoch(self):
        total = 0.0
        for batch in self.loader:
            loss = nn.functional.mse_loss(self.net(batch["points"]), batch["height"])
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total += loss.item()
        return total / len(self.loader)


if __name__ == "__main__":
    trainer = Trainer()
    test = Surface(200, 7)
    for number in range(8):
        mean = trainer.epoch()
        with torch.no_grad():
            error = nn.functional.mse_loss(trainer.net(test.points), test.height).item()
        print(f"epoch {number}: loss {mean:.4f}, test {error:.4f}")
