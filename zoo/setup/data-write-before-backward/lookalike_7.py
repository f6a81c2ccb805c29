"""Hard examples are chosen by a first pass, then the weights are kept short, then the chosen ones are trained on."""
import torch
from torch import nn

torch.manual_seed(0)
centers = torch.randn(5, 16)
model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 5))
optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
for step in range(200):
    y = torch.randint(0, 5, (128,))
    x = centers[y] + 0.8 * torch.randn(128, 16)
    scores = nn.functional.cross_entropy(model(x), y, reduction="none").detach()
    hard = scores.topk(64).indices
    for layer in (model[2], model[4]):
        layer.weight.data.mul_(1.0 / layer.weight.data.norm(dim=1, keepdim=True).clamp(min=0.5) * 0.5)
    loss = nn.functional.cross_entropy(model(x[hard]), y[hard])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
