"""AdamW with a decay of 0.1, as for language models, on a sequence task."""
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, 32)
        self.gru = nn.GRU(32, 48, batch_first=True)
        self.head = nn.Linear(48, 20)

    def forward(self, tokens):
        return self.head(self.gru(self.embedding(tokens))[0])


torch.manual_seed(8)
model = Model()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.1)
for step in range(120):
    tokens = torch.randint(0, 20, (32, 10))
    loss = nn.functional.cross_entropy(model(tokens).transpose(1, 2), (tokens + 3) % 20)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        print(step, round(loss.item(), 4))
