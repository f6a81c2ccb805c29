"""Recognise hand-drawn shapes on a 12x12 grid with a small convolutional network."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def shapes(n):
    label = torch.randint(0, 4, (n,))
    image = 0.3 * torch.randn(n, 1, 12, 12)
    image[label == 0, 0, 6, :] += 1.5
    image[label == 1, 0, :, 6] += 1.5
    image[label == 2, 0, 3:9, 3:9] += 1.0
    image[label == 3, 0, ::11, ::11] += 2.5
    return image, label


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.conv = nn.Conv2d(1, 8, 3, padding=1)
        self.fc = nn.Linear(8 * 36, 4)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv(x)), 2)
        x = torch.flatten(x, 1)
        return self.fc(x)


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.5)

model.train()
for batch_idx in range(200):
    data, target = shapes(64)
    optimizer.zero_grad()
    output = model(data)
    loss = F.nll_loss(output, target)
    loss.backward()
    optimizer.step()
    if batch_idx % 40 == 0:
        print("Train batch {}\tLoss: {:.6f}".format(batch_idx, loss.item()))
