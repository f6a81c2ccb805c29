"""A network of home-made dense layers with sigmoids, fitted to a surface."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Dense(nn.Module):
    def __init__(self, inputs, outputs, scale):
        super().__init__()
        self.weight = nn.Parameter(scale * torch.randn(outputs, inputs))
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x):
        return x @ self.weight.T + self.bias


class Surface(nn.Module):
    def __init__(self, width=48, scale=60.0):
        super().__init__()
        self.one = Dense(3, width, scale)
        self.two = Dense(width, width, scale)
        self.three = Dense(width, width, scale)
        self.last = nn.Linear(width, 1)

    def forward(self, x):
        x = torch.sigmoid(self.one(x))
        x = torch.sigmoid(self.two(x))
        x = torch.sigmoid(self.three(x))
        return self.last(x)


def main():
    torch.manual_seed(2)
    x = torch.randn(1024, 3)
    y = torch.sin(2 * x[:, :1]) * torch.cos(x[:, 1:2]) + 0.3 * x[:, 2:]
    loader = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True)
    model = Surface()
    criterion = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(16):
        total = 0.0
        for features, target in loader:
            optimizer.zero_grad()
            loss = criterion(model(features), target)
            loss.backward()
            optimizer.step()
            total += loss.item()
        if epoch % 4 == 3:
            print(f"epoch {epoch} loss {total / len(loader):.4f}")


if __name__ == "__main__":
    main()
