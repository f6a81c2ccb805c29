"""A whole training, as it is often written down: nothing clears the gradients."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.tensorboard import SummaryWriter

torch.manual_seed(10)
marks = torch.randn(320, 10)
kinds = marks[:, :4].argmax(1)
batches = DataLoader(TensorDataset(marks, kinds), batch_size=20, shuffle=True)
net = nn.Sequential(nn.Linear(10, 40), nn.ReLU(), nn.Linear(40, 4))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.2)


@torch.no_grad()
def share_right(net, batches):
    net.eval()
    right = sum((net(data).argmax(1) == target).sum().item() for data, target in batches)
    net.train()
    return right / len(batches.dataset)


writer = SummaryWriter("./runs/four_kinds")
for epoch in range(8):
    epoch_loss = 0.0
    for number, (data, target) in enumerate(batches):
        loss = criterion(net(data), target)
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item()
        if number % 5 == 0:
            writer.add_scalar("Loss/train_batch", loss.item(), epoch * len(batches) + number)
    writer.add_scalar("Loss/train_epoch", epoch_loss / len(batches), epoch)
    writer.add_scalar("Accuracy/train", share_right(net, batches), epoch)
writer.close()
