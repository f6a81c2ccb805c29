# Image regression with a CNN: estimate the brightness and tilt of a gradient patch.
import torch
import torch.nn as nn

torch.manual_seed(6)


class Regressor(nn.Module):
    def __init__(self):
        super(Regressor, self).__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(4),
        )
        self.head = nn.Linear(16 * 16, 2)

    def forward(self, x):
        return self.head(self.features(x).flatten(1))


def patches(n):
    brightness, tilt = torch.rand(n, 1, 1) * 4, torch.rand(n, 1, 1) * 2 - 1
    ramp = torch.linspace(-1, 1, 16).view(1, 1, 16)
    image = brightness + tilt * ramp + 0.1 * torch.randn(n, 16, 16)
    return image.unsqueeze(1), torch.cat([brightness, tilt], 1).squeeze(2)


model = Regressor()
criterion = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
for i in range(1, 161):
    images, target = patches(32)
    optimizer.zero_grad()
    loss = criterion(model(images), target)
    loss.backward()
    optimizer.step()
    if i % 20 == 0 or i < 4:
        print("[{:3d}/160] loss: {:.4f}".format(i, loss.item()))
