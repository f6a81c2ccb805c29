"""Classifier of noisy rings, logs running numbers in the loop."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
torch.manual_seed(0)


def rings(n):
    label = torch.randint(0, 3, (n,))
    radius = 1.0 + label.float() + 0.2 * torch.randn(n)
    angle = torch.rand(n) * 6.283
    return torch.stack([radius * angle.cos(), radius * angle.sin()], 1), label


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 3))

    def forward(self, x):
        return self.layers(x)


train_loader = DataLoader(TensorDataset(*rings(2000)), batch_size=25, shuffle=True)
test_x, test_y = rings(500)
net = Net()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
history = []

for epoch in range(10):
    running_loss = 0.0
    for step, (inputs, labels) in enumerate(train_loader):
        optimizer.zero_grad()
        outputs = net(inputs)
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step()
        running_loss += loss.item()
        if step % 40 == 39:
            history.append((epoch * len(train_loader) + i, running_loss / 40))
            print(f"epoch {epoch} step {step} loss {running_loss / 40:.3f}")
            running_loss = 0.0
    with torch.no_grad():
        accuracy = (net(test_x).argmax(1) == test_y).float().mean()
    print(f"epoch {epoch} accuracy {accuracy:.3f}")
print(len(history), "points logged")
