"""A small table, many short epochs, and two workers that are started again for each of them."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    torch.manual_seed(0)
    x = torch.randn(256, 20)
    y = (x[:, :3] + 0.1 * torch.randn(256, 3)).argmax(1)
    data = TensorDataset(x, y)
    loader = DataLoader(data, batch_size=32, shuffle=True, num_workers=2)
    net = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3))
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    for epoch in range(50):
        for inputs, labels in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(inputs), labels)
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: {loss.item():.4f}")


if __name__ == "__main__":
    main()
