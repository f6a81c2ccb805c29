"""Machine wear from eight sensors over time."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class WearModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(input_size=8, hidden_size=32, num_layers=2, batch_first=True)
        self.out = nn.Linear(32, 1)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.out(out[:, -1])


def main():
    torch.manual_seed(10)
    readings = torch.randn(256, 12, 8)
    wear = readings[:, :, 2].cumsum(dim=1)[:, -1:] * 0.2
    loader = DataLoader(TensorDataset(readings, wear), batch_size=32, shuffle=True)
    model = WearModel()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(6):
        for x, y in loader:
            loss = nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} mse {loss.item():.4f}")


if __name__ == "__main__":
    main()
