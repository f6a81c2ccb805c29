"""Transfer learning: frozen convolutional backbone in eval mode, a new head with dropout."""
import torch
import torch.nn as nn


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU(inplace=True),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32), nn.ReLU(inplace=True),
        )

    def forward(self, x):
        return self.layers(x).mean(dim=(2, 3))


class TransferModel(nn.Module):
    def __init__(self, backbone, classes):
        super().__init__()
        self.backbone = backbone
        for p in self.backbone.parameters():
            p.requires_grad = False
        self.head = nn.Sequential(nn.Dropout(0.2), nn.Linear(32, classes))

    def train(self, mode=True):
        super().train(mode)
        self.backbone.eval()
        return self

    def forward(self, x):
        return self.head(self.backbone(x))


torch.manual_seed(10)
model = TransferModel(Backbone(), classes=4)
model.train()
tints = 2 * torch.randn(4, 3, 1, 1)
optimizer = torch.optim.Adam(filter(lambda p: p.requires_grad, model.parameters()), lr=2e-2)
criterion = nn.CrossEntropyLoss()
for step in range(200):
    y = torch.randint(0, 4, (32,))
    x = tints[y] + torch.randn(32, 3, 16, 16)
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    if step % 40 == 0:
        print(f"step {step}: loss={loss.item():.3f}")
