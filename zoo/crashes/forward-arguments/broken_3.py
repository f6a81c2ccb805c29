"""Image features and a number describing the image are joined in a small head."""
import torch
from torch import nn

torch.manual_seed(0)
features = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten())
head = nn.Sequential(nn.Linear(17, 16), nn.ReLU(), nn.Linear(16, 1))
parameters = list(features.parameters()) + list(head.parameters())
optimizer = torch.optim.Adam(parameters, lr=0.01)

for step in range(60):
    images, extra = torch.rand(32, 1, 8, 8), torch.rand(32, 1)
    target = images.mean(dim=(1, 2, 3)).unsqueeze(1) * 4 + extra
    predicted = head(features(images), extra)
    loss = nn.functional.mse_loss(predicted, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, loss.item())
