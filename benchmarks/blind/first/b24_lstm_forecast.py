import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(19)
n = 3000
t = torch.arange(n).float()
series = torch.sin(t / 8) + 0.5 * torch.sin(t / 3.1) + 0.1 * torch.randn(n)
split = 2400
mean, std = series[:split].mean(), series[:split].std()
series = (series - mean) / std
WINDOW, HORIZON = 20, 3


def windows(s):
    w = s.unfold(0, WINDOW + HORIZON, 2)
    return w[:, :WINDOW].unsqueeze(-1), w[:, WINDOW:]


class Forecaster(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.lstm = nn.LSTM(1, hidden, batch_first=True)
        self.head = nn.Sequential(
            nn.Linear(hidden, 32),
            nn.ReLU(),
            nn.Linear(32, HORIZON),
            nn.ReLU(),
        )

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.head(out[:, -1])


train_loader = DataLoader(TensorDataset(*windows(series[:split])), batch_size=32, shuffle=True)
x_val, y_val = windows(series[split:])
model = Forecaster()
loss_fn = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)

for epoch in range(7):
    model.train()
    losses = []
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = loss_fn(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        val = loss_fn(model(x_val), y_val).item()
    print(f"epoch {epoch}: train mse {sum(losses) / len(losses):.4f} val mse {val:.4f}")
