"""Few samples and many features: strong decay is what keeps the model from learning them by heart."""
import torch
from torch import nn

torch.manual_seed(2)
x = torch.randn(60, 100)
y = x[:, 0] - x[:, 1] + 0.5 * torch.randn(60)
model = nn.Linear(100, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, weight_decay=0.3)
for epoch in range(300):
    loss = nn.functional.mse_loss(model(x).squeeze(1), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 60 == 0:
        print(epoch, round(loss.item(), 4), round(model.weight.norm().item(), 3))
