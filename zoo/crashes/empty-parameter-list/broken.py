"""A network whose depth is an option."""
import torch
import torch.nn as nn


class DeepNet(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.layers = [nn.Linear(width, width) for _ in range(depth)]

    def forward(self, x):
        for layer in self.layers:
            x = torch.tanh(layer(x))
        return x


torch.manual_seed(0)
model = DeepNet(6, 3)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
mixing = torch.randn(6, 6) * 0.5
for step in range(100):
    x = torch.randn(64, 6)
    loss = nn.functional.mse_loss(model(x), torch.tanh(x @ mixing))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 25 == 0:
        print(step, loss.item())
