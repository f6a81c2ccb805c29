"""A segmentation net with a branch that sees the whole image at once; large images, few of them at a time."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class WholeImage(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.mix = nn.Sequential(
            nn.Conv2d(channels, channels, 1, bias=False), nn.BatchNorm2d(channels), nn.ReLU()
        )

    def forward(self, x):
        return self.mix(self.pool(x)).expand_as(x)


class Segmenter(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU())
        self.whole = WholeImage(width)
        self.out = nn.Conv2d(2 * width, 1, 1)

    def forward(self, image):
        x = self.stem(image)
        return self.out(torch.cat([x, self.whole(x)], 1))


class Trainer:
    def __init__(self, net, data):
        self.net = net
        self.loader = DataLoader(data, batch_size=2, shuffle=True, drop_last=True)
        self.optimizer = torch.optim.Adam(net.parameters(), lr=0.02)

    def step(self, image, mask):
        loss = nn.functional.binary_cross_entropy_with_logits(self.net(image), mask)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def fit(self, epochs):
        for epoch in range(epochs):
            losses = [0.0]
            for image, mask in self.loader:
                losses.append(self.step(image, mask))
            print(epoch, round(sum(losses) / len(self.loader), 4))


torch.manual_seed(0)
images = torch.randn(15, 1, 24, 24)
Trainer(Segmenter(), TensorDataset(images, (images > 0.2).float())).fit(6)
