"""One cycle stepped exactly as often as it was built for."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(6, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, epochs=10, steps_per_epoch=8)
weights = torch.randn(6, 1)
for epoch in range(10):
    for _ in range(8):
        x = torch.randn(32, 6)
        loss = nn.functional.mse_loss(model(x), x @ weights)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
print(loss.item())
