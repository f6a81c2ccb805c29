"""A denoiser whose noise fades as it is trained, compiled."""
import torch
from torch import nn


class Denoiser(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.calls = 0
        self.encode = nn.Linear(16, width)
        self.decode = nn.Linear(width, 16)

    def forward(self, x):
        self.calls += 1
        noisy = x + 0.5 * torch.randn_like(x) / self.calls
        return self.decode(torch.relu(self.encode(noisy)))


torch.manual_seed(0)
net = Denoiser()
model = torch.compile(net, backend="eager")
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
basis = torch.randn(4, 16)
for step in range(150):
    x = torch.randn(64, 4) @ basis
    loss = nn.functional.mse_loss(model(x), x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        print(f"step {step + 1}: loss {loss.item():.4f}")
