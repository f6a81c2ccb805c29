"""Two heads on one body; the size of every gradient is written down after each step."""
import torch
from torch import nn

torch.manual_seed(0)


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(10, 32), nn.ReLU())
        self.kind = nn.Linear(32, 3)
        self.size = nn.Linear(32, 1)

    def forward(self, x):
        return self.kind(self.body(x))


model = TwoHeads()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
truth = torch.randn(10, 3)
for step in range(60):
    x = torch.randn(64, 10)
    loss = nn.functional.cross_entropy(model(x), (x @ truth).argmax(1))
    optimizer.zero_grad()
    loss.backward()
    norms = {name: p.grad.norm().item() for name, p in model.named_parameters()}
    optimizer.step()
    if step % 20 == 0:
        print(step, loss.item(), max(norms.values()))
