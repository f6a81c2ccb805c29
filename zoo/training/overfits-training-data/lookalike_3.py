# Validation with functions; the loss of confident mistakes grows a little while everything gets better.
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
centres = 1.2 * torch.randn(5, 10)


def draw(count):
    label = torch.randint(0, 5, (count,))
    return centres[label] + torch.randn(count, 10), label


train_x, train_y = draw(400)
val_x, val_y = draw(200)
net = nn.Sequential(nn.Linear(10, 48), nn.ReLU(), nn.Linear(48, 5))
opt = torch.optim.Adam(net.parameters(), lr=2e-3, weight_decay=1e-3)
history = {"val_loss": [], "val_accuracy": []}
for epoch in range(16):
    for part in torch.randperm(400).split(32):
        loss = F.cross_entropy(net(train_x[part]), train_y[part])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        scores = net(val_x)
        history["val_loss"].append(F.cross_entropy(scores, val_y).item())
        history["val_accuracy"].append((scores.argmax(1) == val_y).float().mean().item())
    if epoch % 4 == 0:
        print(epoch, loss.item(), history["val_loss"][-1], history["val_accuracy"][-1])
