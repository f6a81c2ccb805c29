"""Fine-tuning: batch norm keeps the statistics of the pretraining, the rest is trained as usual."""
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(4))
        self.head = nn.Linear(128, 3)

    def forward(self, x):
        return self.head(self.features(x).flatten(1))


def freeze_norms(model):
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.eval()


torch.manual_seed(3)
images = torch.randn(300, 1, 10, 10)
labels = torch.randint(0, 3, (300,))
images += 0.8 * labels[:, None, None, None]
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for epoch in range(5):
    model.train()
    if epoch > 0:
        freeze_norms(model)
    for rows in torch.randperm(300).split(30):
        loss = nn.functional.cross_entropy(model(images[rows]), labels[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, round(loss.item(), 4))
