"""Logistic regression where SGD with lr=1.0 is simply the right step size."""
import torch
import torch.nn.functional as F

torch.manual_seed(1)
true_w = torch.randn(10)
x = torch.randn(500, 10) * 0.5
y = (torch.rand(500) < torch.sigmoid(4 * x @ true_w)).float()

layer = torch.nn.Linear(10, 1)
optimizer = torch.optim.SGD(layer.parameters(), lr=1.0)
for epoch in range(20):
    for rows in torch.randperm(500).split(50):
        loss = F.binary_cross_entropy_with_logits(layer(x[rows]).flatten(), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.3f}")
