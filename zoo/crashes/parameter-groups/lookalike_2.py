"""Three groups with their own settings, one of them added later."""
import torch
from torch import nn

torch.manual_seed(0)
body, head = nn.Linear(6, 16), nn.Linear(16, 1)
bias = torch.zeros(1, requires_grad=True)
optimizer = torch.optim.AdamW([{"params": body.parameters()}, {"params": [bias], "weight_decay": 0.0}], lr=0.01)
optimizer.add_param_group({"params": head.parameters(), "lr": 0.02})
for _ in range(80):
    x = torch.randn(64, 6)
    loss = nn.functional.mse_loss(head(torch.relu(body(x))) + bias, x[:, :1].abs() + 1)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
