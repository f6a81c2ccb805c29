"""Dream an input that excites one class of a network; the network itself stays as it is."""
import torch
from torch import nn

torch.manual_seed(4)
net = nn.Sequential(
    nn.Conv2d(3, 12, 5, padding=2), nn.ReLU(), nn.AvgPool2d(2),
    nn.Conv2d(12, 24, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
    nn.Linear(24, 10),
)
net.eval()

image = torch.zeros(1, 3, 24, 24).normal_(std=0.1).requires_grad_()
optimizer = torch.optim.Adam([image], lr=0.1)

for it in range(121):
    optimizer.zero_grad()
    score = net(image)[0, 7]
    loss = -score + 1e-2 * image.pow(2).mean()
    loss.backward()
    optimizer.step()
    if it % 30 == 0:
        print(f"iteration {it}: objective {loss.item():+.4f}")
