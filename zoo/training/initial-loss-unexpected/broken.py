"""A small language model whose output layer shares its weights with the embedding."""
import torch
import torch.nn.functional as F
from torch import nn

VOCABULARY, WIDTH, CONTEXT = 64, 96, 10


class TiedModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.token = nn.Embedding(VOCABULARY, WIDTH)
        self.block = nn.TransformerEncoderLayer(WIDTH, 4, 2 * WIDTH, dropout=0.0, batch_first=True)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.head.weight = self.token.weight

    def forward(self, ids):
        length = ids.shape[1]
        x = self.token(ids)
        mask = torch.full((length, length), float("-inf")).triu(1)
        return self.head(self.block(x, src_mask=mask))


torch.manual_seed(0)
table = torch.randint(0, VOCABULARY, (VOCABULARY, 4))
model = TiedModel()
optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
for step in range(70):
    ids = torch.randint(0, VOCABULARY, (24, 1))
    for _ in range(CONTEXT):
        ids = torch.cat([ids, table[ids[:, -1:], torch.randint(0, 4, (24, 1))]], dim=1)
    logits = model(ids[:, :-1])
    loss = F.cross_entropy(logits.view(-1, VOCABULARY), ids[:, 1:].reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(f"step {step}: {loss.item():.3f}")
