"""Eight-class classifier with its own initialisation, "so that gradients are not too small"."""
import torch
import torch.nn as nn


class DeepNet(nn.Module):
    def __init__(self, inputs=20, width=64, depth=6, classes=8):
        super().__init__()
        sizes = [inputs] + [width] * depth
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))
        self.head = nn.Linear(width, classes)
        self.apply(self._init)

    @staticmethod
    def _init(module):
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=1.0)
            nn.init.zeros_(module.bias)

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return self.head(x)


torch.manual_seed(0)
centers = torch.randn(8, 20)
model = DeepNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(250):
    y = torch.randint(0, 8, (64,))
    x = centers[y] + 1.5 * torch.randn(64, 20)
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, loss.item())
