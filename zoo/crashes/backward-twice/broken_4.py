"""A running memory that smooths a noisy signal."""
import torch
import torch.nn as nn


class Smoother(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width = width
        self.cell = nn.GRUCell(1, width)
        self.out = nn.Linear(width, 1)
        self.memory = None

    def forward(self, x):
        if self.memory is None:
            self.memory = torch.zeros(x.size(0), self.width)
        state = self.cell(x, self.memory)
        self.memory = state
        return self.out(state)


torch.manual_seed(0)
model = Smoother(16)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
phase = torch.rand(32, 1)
for t in range(150):
    clean = torch.sin(0.1 * t + 6.28 * phase)
    prediction = model(clean + 0.1 * torch.randn(32, 1))
    loss = (prediction - clean).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if t % 25 == 0:
        print(f"t {t} loss {loss.item():.4f}")
