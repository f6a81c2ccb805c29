"""How fast does a sensor's signal oscillate? A recurrent network reads it from a loader and answers with a number."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Tempo(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.gru = nn.GRU(input_size=2, hidden_size=hidden)
        self.answer = nn.Linear(hidden, 1)

    def forward(self, signal):
        states, _ = self.gru(signal)
        return self.answer(states[:, -1])


def signals(count):
    speed = 0.2 + 0.8 * torch.rand(count, 1)
    angle = speed * torch.arange(16) + 6.28 * torch.rand(count, 1)
    return torch.stack([angle.sin(), angle.cos()], dim=2) + 0.1 * torch.randn(count, 16, 2), (speed - 0.6) / 0.23


def main():
    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(*signals(400)), batch_size=20, shuffle=True)
    model = Tempo()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(6):
        total = 0.0
        for signal, speed in loader:
            loss = nn.functional.mse_loss(model(signal), speed)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch}: {total / len(loader):.4f}")


main()
