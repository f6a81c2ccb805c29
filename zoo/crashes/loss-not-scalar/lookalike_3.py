"""Several outputs, the gradient of each given as a plain number."""
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    out = model(torch.randn(8, 4))
    optimizer.zero_grad()
    out.backward(gradient=1.0)
    optimizer.step()
