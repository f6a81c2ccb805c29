"""A stream of generated samples, read by two worker processes."""
import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset


class Stream(IterableDataset):
    def __init__(self, count):
        super().__init__()
        self.count = count

    def __iter__(self):
        for number in range(self.count):
            generator = torch.Generator().manual_seed(number)
            x = torch.randn(10, generator=generator)
            yield x, torch.sin(x[:2].sum()).view(1)


def main():
    torch.manual_seed(0)
    loader = DataLoader(Stream(480), batch_size=16, num_workers=2)
    model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(2):
        for x, y in loader:
            loss = nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: {loss.item():.4f}")


if __name__ == "__main__":
    main()
