# Icons with transparency: is the shape solid or an outline?
import torch
import torch.nn as nn


class IconNet(nn.Sequential):
    def __init__(self):
        super().__init__(
            nn.Conv2d(4, 8, 3, stride=2), nn.ReLU(),
            nn.Conv2d(8, 16, 3, stride=2), nn.ReLU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 2),
        )

    def loss(self, images, labels):
        scores = self(images)
        return nn.functional.cross_entropy(scores, labels)


def icons(n=24, size=18):
    rgba = torch.rand(n, 4, size, size) * 0.2
    labels = torch.randint(0, 2, (n,))
    for icon, solid in zip(rgba, labels.tolist()):
        r, c = torch.randint(1, size - 10, (2,)).tolist()
        icon[3, r:r + 9, c:c + 9] = 1.0
        if not solid:
            icon[3, r + 2:r + 7, c + 2:c + 7] = 0.0
    return rgba, labels


torch.manual_seed(26)
net = IconNet()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(80):
    images, labels = icons()
    loss = net.loss(images, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print("step", step, "loss", round(loss.item(), 4))
