import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(17)
N_FEATURES = 60


def make(n):
    x = torch.randn(n, N_FEATURES)
    score = x[:, 0] * 1.2 + x[:, 1] - x[:, 2] + 0.8 * x[:, 3] * x[:, 4]
    y = (score + 1.5 * torch.randn(n) > 0).long()
    return x, y


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(N_FEATURES, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Dropout(0.5),
            nn.Linear(128, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Dropout(0.5),
            nn.Linear(128, 2),
        )

    def forward(self, x):
        return self.layers(x)


def evaluate(model, loader, criterion):
    model.eval()
    loss, correct, n = 0.0, 0, 0
    with torch.no_grad():
        for x, y in loader:
            logits = model(x)
            loss += criterion(logits, y).item() * len(y)
            correct += (logits.argmax(1) == y).sum().item()
            n += len(y)
    return loss / n, correct / n


train_loader = DataLoader(TensorDataset(*make(400)), batch_size=25, shuffle=True, drop_last=True)
val_loader = DataLoader(TensorDataset(*make(800)), batch_size=200)
model = Classifier()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

model.train()
print("before training: val loss %.4f acc %.3f" % evaluate(model, val_loader, criterion))
for epoch in range(1, 17):
    running = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        running += loss.item()
    val_loss, val_acc = evaluate(model, val_loader, criterion)
    if epoch % 4 == 0:
        print(f"epoch {epoch:2d} train {running / len(train_loader):.4f} val {val_loss:.4f} acc {val_acc:.3f}")
