"""A model kept in bfloat16 to save memory."""
import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(12, 64)
        self.second = nn.Linear(64, 3)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


torch.manual_seed(5)
centers = 2 * torch.randn(3, 12)
model = Net().to(torch.bfloat16)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(80):
    labels = torch.randint(0, 3, (32,))
    x = centers[labels] + torch.randn(32, 12)
    scores = model(x.bfloat16()).float()
    loss = F.cross_entropy(scores, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step} loss {loss.item():.4f}")
