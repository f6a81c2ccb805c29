import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(26)
T, F_IN, CLASSES = 25, 3, 4


def gestures(n):
    """Class = direction and speed of a rotation seen by a noisy 3-axis sensor."""
    y = torch.randint(0, CLASSES, (n,))
    sign = torch.where(y % 2 == 0, 1.0, -1.0)
    speed = torch.where(y < 2, 0.25, 0.5)
    phase = 6.28 * torch.rand(n)
    t = torch.arange(T).float()
    ang = (sign * speed)[:, None] * t + phase[:, None]
    x = torch.stack([ang.cos(), ang.sin(), 0.5 * torch.randn(n, T)], dim=2)
    return x + 0.3 * torch.randn_like(x), y


class GestureLSTM(nn.Module):
    def __init__(self, hidden=40):
        super().__init__()
        self.lstm = nn.LSTM(F_IN, hidden, num_layers=1)
        self.dropout = nn.Dropout(0.1)
        self.fc = nn.Linear(hidden, CLASSES)

    def forward(self, x):
        # x: (batch, time, features)
        out, _ = self.lstm(x)
        return self.fc(self.dropout(out[:, -1, :]))


train_loader = DataLoader(TensorDataset(*gestures(1280)), batch_size=32, shuffle=True)
val_loader = DataLoader(TensorDataset(*gestures(320)), batch_size=32)
model = GestureLSTM()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(7):
    model.train()
    train_loss = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        train_loss += loss.item()
    model.eval()
    ok = 0
    with torch.no_grad():
        for x, y in val_loader:
            ok += (model(x).argmax(1) == y).sum().item()
    print(f"epoch {epoch + 1} train loss {train_loss / len(train_loader):.4f} val acc {ok / 320:.3f}")
