"""Train a small CNN on circles and crosses, then look at one image."""
import torch
from torch import nn


class ShapeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        )
        self.classifier = nn.Linear(16 * 4 * 4, 2)

    def forward(self, x):
        x = self.features(x)
        return self.classifier(x.flatten(1))


torch.manual_seed(0)
rows = torch.arange(16.0) - 7.5
circle = ((rows[:, None] ** 2 + rows[None, :] ** 2).sqrt() - 5).abs() < 1
cross = (rows[:, None].abs() < 1) | (rows[None, :].abs() < 1)
shapes = torch.stack([circle.float(), cross.float()]).unsqueeze(1)

model = ShapeNet()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(60):
    labels = torch.randint(0, 2, (24,))
    images = shapes[labels] + 0.5 * torch.randn(24, 1, 16, 16)
    loss = nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 15 == 0:
        print(f"step {step} loss {loss.item():.4f}")

model.eval()
image = shapes[1] + 0.5 * torch.randn(1, 16, 16)
with torch.no_grad():
    probabilities = model(image.unsqueeze(0)).softmax(dim=1)
print("cross with", round(probabilities[0, 1].item(), 3))
