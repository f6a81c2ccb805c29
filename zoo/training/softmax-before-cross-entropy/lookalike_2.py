"""Softmax probabilities, their log, then NLLLoss: the long way round, but right."""
import torch
from torch import nn

torch.manual_seed(23)
centers = 2 * torch.randn(6, 12)


class ProbabilityModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(12, 40), nn.ReLU(), nn.Linear(40, 6), nn.Softmax(dim=1))

    def forward(self, x):
        return self.net(x)


model = ProbabilityModel()
nll = nn.NLLLoss()
optimizer = torch.optim.RMSprop(model.parameters(), lr=2e-3)
step = 0
while step < 200:
    y = torch.randint(0, 6, (48,))
    x = centers[y] + 1.5 * torch.randn(48, 12)
    probabilities = model(x)
    loss = nll(torch.log(probabilities + 1e-8), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    step += 1
    if step % 40 == 0:
        confidence = probabilities.max(dim=1).values.mean().item()
        print(f"step {step}: nll {loss.item():.3f}, mean confidence {confidence:.2f}")
