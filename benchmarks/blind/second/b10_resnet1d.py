import torch
import torch.nn as nn
import torch.optim as optim
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(42)
hp = dict(epochs=10, batch_size=50, lr=0.05, momentum=0.9, step_size=4, gamma=0.2)


class Block(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.a = nn.Conv1d(ch, ch, 3, padding=1)
        self.b = nn.Conv1d(ch, ch, 3, padding=1)
        self.n = nn.BatchNorm1d(ch)

    def forward(self, x):
        return torch.relu(x + self.b(torch.relu(self.n(self.a(x)))))


net = nn.Sequential(nn.Conv1d(1, 10, 5, padding=2), nn.ReLU(), Block(10), nn.AvgPool1d(2), Block(10),
                    nn.AdaptiveAvgPool1d(4), nn.Flatten(), nn.Linear(40, 5))


def signals(n):
    t = torch.linspace(0, 1, 40)
    y = torch.randint(0, 5, (n,))
    f = 2.0 + 1.5 * y.float()
    ph = torch.rand(n) * 6.28
    x = torch.sin(6.28 * f[:, None] * t + ph[:, None]) + 0.5 * torch.randn(n, 40)
    return x[:, None], y


train_loader = DataLoader(TensorDataset(*signals(1500)), batch_size=hp["batch_size"], shuffle=True)
xt, yt = signals(500)
criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(net.parameters(), lr=hp["lr"], momentum=hp["momentum"])
scheduler = StepLR(optimizer, step_size=hp["step_size"], gamma=hp["gamma"])

for epoch in range(hp["epochs"]):
    net.train()
    running_loss = 0.0
    for inputs, labels in train_loader:
        optimizer.zero_grad()
        outputs = net(inputs)
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step()
        scheduler.step()
        running_loss += loss.item()
    net.eval()
    with torch.no_grad():
        acc = (net(xt).argmax(1) == yt).float().mean().item()
    print("[epoch %d] loss: %.3f  test acc: %.3f" % (epoch + 1, running_loss / len(train_loader), acc))
print("Finished Training")
