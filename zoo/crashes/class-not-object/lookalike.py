"""A weighted loss gets its weights as settings; the comparison after it is the user's own."""
import torch
from torch import nn

torch.manual_seed(0)
weights = torch.tensor([1.0, 2.0, 0.5])
criterion = nn.CrossEntropyLoss(weights)
model = nn.Linear(4, 3)
x, y = torch.randn(16, 4), torch.randint(0, 3, (16,))
loss = criterion(model(x), y)
if weights > 0:
    loss.backward()
