"""A bag of words: rows of the embedding are kept short, its padding zero; the gradient reads neither."""
import torch
from torch import nn


class Bag(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(50, 16)
        self.head = nn.Linear(16, 3)

    def forward(self, ids):
        return self.head(self.embedding(ids).mean(dim=1))


torch.manual_seed(0)
model = Bag()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(150):
    y = torch.randint(0, 3, (64,))
    ids = torch.randint(1, 50, (64, 8))
    ids[:, :3] = 3 * torch.randint(1, 16, (64, 3)) + y[:, None]
    ids[:, 6:] = 0
    loss = nn.functional.cross_entropy(model(ids), y)
    model.embedding.weight.data[0].fill_(0.0)
    model.embedding.weight.data.renorm_(2, 0, 3.0)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
