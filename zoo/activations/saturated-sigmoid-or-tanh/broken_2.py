"""House prices from raw features (square metres, year, distance in metres), sigmoid hidden layers."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def make_houses(count, generator):
    area = 40 + 160 * torch.rand(count, 1, generator=generator)
    year = 1950 + 70 * torch.rand(count, 1, generator=generator)
    distance = 20_000 * torch.rand(count, 1, generator=generator)
    price = 0.02 * area + 0.01 * (year - 1950) - 0.0001 * distance
    return torch.cat((area, year, distance), dim=1), price


def build(width=32):
    return nn.Sequential(
        nn.Linear(3, width),
        nn.Sigmoid(),
        nn.Linear(width, width),
        nn.Sigmoid(),
        nn.Linear(width, 1),
    )


def main():
    torch.manual_seed(2)
    features, prices = make_houses(1024, torch.Generator().manual_seed(5))
    loader = DataLoader(TensorDataset(features, prices), batch_size=64, shuffle=True)
    model = build()
    criterion = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(12):
        total = 0.0
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch} loss {total / len(loader):.4f}")


if __name__ == "__main__":
    main()
