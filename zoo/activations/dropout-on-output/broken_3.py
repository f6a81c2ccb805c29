"""Transformer encoder tags a sentence with its topic; dropout everywhere against overfitting."""
import torch
from torch import nn


class TopicModel(nn.Module):
    def __init__(self, vocab=80, width=32, topics=6, p=0.4):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        layer = nn.TransformerEncoderLayer(width, 4, 64, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.classify = nn.Linear(width, topics)
        self.drop = nn.Dropout(p)

    def forward(self, ids):
        x = self.drop(self.embed(ids))
        x = self.encoder(x).mean(dim=1)
        logits = self.classify(x)
        return self.drop(logits)


def batch(n, g):
    topic = torch.randint(6, (n,), generator=g)
    ids = torch.randint(80, (n, 14), generator=g)
    own = topic[:, None] * 12 + torch.randint(12, (n, 6), generator=g)
    ids[:, :6] = own
    return ids, topic


torch.manual_seed(0)
g = torch.Generator().manual_seed(1)
model = TopicModel()
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss()
model.train()
for step in range(100):
    ids, topic = batch(32, g)
    loss = criterion(model(ids), topic)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0:
        print(step, loss.item())
