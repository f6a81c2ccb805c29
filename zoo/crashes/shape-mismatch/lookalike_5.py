# Pictures kept as small whole numbers, read again as larger ones.
import torch
from torch import nn

torch.manual_seed(13)
stored = torch.randint(0, 120, (64, 32), dtype=torch.uint8)
model = nn.Linear(16, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
by_column = stored.t()
for step in range(10):
    words = by_column.view(torch.int16)
    features = words.float()[:, :16] / 30000
    loss = model(features).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
