"""Training and validation with every kind of curve, and histograms at the end of an epoch."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.tensorboard import SummaryWriter

torch.manual_seed(40)
rows = torch.randn(360, 7)
kinds = (rows[:, 0] + rows[:, 1] > 0).long() + (rows[:, 2] > 0.5).long()
training = DataLoader(TensorDataset(rows[:300], kinds[:300]), batch_size=30, shuffle=True)
checking = DataLoader(TensorDataset(rows[300:], kinds[300:]), batch_size=30)
net = nn.Sequential(nn.Linear(7, 24), nn.ReLU(), nn.Linear(24, 3))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
writer = SummaryWriter("runs/three_kinds")
for epoch in range(5):
    net.train()
    total = 0.0
    for number, (data, target) in enumerate(training):
        loss = criterion(net(data), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        if number % 5 == 0:
            writer.add_scalar("Loss/train_batch", loss.item(), epoch * len(training) + number)
    net.eval()
    checked, right = 0.0, 0
    with torch.no_grad():
        for data, target in checking:
            scores = net(data)
            checked += criterion(scores, target).item()
            right += scores.argmax(1).eq(target).sum().item()
    writer.add_scalar("Loss/train", total / len(training), epoch)
    writer.add_scalar("Loss/val", checked / len(checking), epoch)
    writer.add_scalar("Accuracy/val", 100 * right / len(checking.dataset), epoch)
    writer.add_scalar("LR", optimizer.param_groups[0]["lr"], epoch)
    for path, parameter in net.named_parameters():
        writer.add_histogram(f"weights/{path}", parameter, epoch)
        if parameter.grad is not None:
            writer.add_histogram(f"gradients/{path}", parameter.grad, epoch)
writer.close()
