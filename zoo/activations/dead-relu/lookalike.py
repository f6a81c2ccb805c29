"""A wide, sparse ReLU code: most activations are zero on every input, yet every unit fires sometimes."""
import torch
import torch.nn as nn


class SparseCoder(nn.Module):
    def __init__(self, dim=32, code=256):
        super().__init__()
        self.encode = nn.Linear(dim, code)
        self.relu = nn.ReLU()
        self.decode = nn.Linear(code, dim)
        nn.init.normal_(self.encode.weight, std=0.2)
        nn.init.constant_(self.encode.bias, -1.0)

    def forward(self, x):
        code = self.relu(self.encode(x))
        return self.decode(code), code


torch.manual_seed(3)
atoms = nn.functional.normalize(torch.randn(48, 32), dim=1)
model = SparseCoder()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(300):
    active = (torch.rand(64, 48) < 0.15).float() * torch.randn(64, 48)
    x = 3 * active @ atoms
    rebuilt, code = model(x)
    loss = (rebuilt - x).pow(2).mean() + 1e-3 * code.abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        zeros = (code == 0).float().mean().item()
        alive = (code > 0).any(dim=0).float().mean().item()
        print(f"step {step}: loss {loss.item():.4f}, zeros {zeros:.0%}, units alive {alive:.0%}")
