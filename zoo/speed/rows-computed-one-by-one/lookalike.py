"""A small gated cell that goes through a sequence: every step needs the state that the last one left."""
import torch
from torch import nn


class GatedCell(nn.Module):
    def __init__(self, features=4, width=24, layers=2):
        super().__init__()
        self.enter = nn.Linear(features, width)
        self.gate = nn.Linear(2 * width, width)
        self.new = nn.Linear(2 * width, width)
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        steps = torch.relu(self.enter(x))
        state = torch.zeros(x.size(0), steps.size(2))
        states = []
        for t in range(steps.size(1)):
            both = torch.cat([steps[:, t], state], dim=1)
            gate = torch.sigmoid(self.gate(both))
            state = gate * state + (1 - gate) * torch.tanh(self.new(both))
            states.append(state)
        hidden = torch.stack(states, dim=1)
        for layer in self.layers:
            hidden = torch.relu(layer(hidden)) + hidden
        return self.out(hidden).squeeze(-1)


torch.manual_seed(0)
x = torch.randn(1024, 20, 4)
y = torch.cumsum(x[:, :, 0], dim=1) / 4
model = GatedCell()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for step in range(200):
    index = torch.randint(0, 1024, (64,))
    loss = nn.functional.mse_loss(model(x[index]), y[index])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(f"step {step}: loss {loss.item():.4f}")
