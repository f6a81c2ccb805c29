"""A language model on longer and longer pieces of text: its steps take longer because it is given more."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(2)
VOCABULARY = 24
table = torch.randn(VOCABULARY, VOCABULARY).mul(2).softmax(1)
text = [0]
for _ in range(5_000):
    text.append(int(torch.multinomial(table[text[-1]], 1)))
text = torch.tensor(text)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, 48)
        self.recurrent = nn.GRU(48, 96, batch_first=True)
        self.head = nn.Linear(96, VOCABULARY)

    def forward(self, tokens):
        hidden, _ = self.recurrent(self.embedding(tokens))
        return self.head(hidden)


model = Model()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for step in range(160):
    length = 12 + step // 2
    starts = torch.randint(0, len(text) - length - 1, (16,))
    window = starts[:, None] + torch.arange(length + 1)
    tokens = text[window]
    logits = model(tokens[:, :-1])
    loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if step % 40 == 0:
        print(f"step {step}: length {length}, loss {loss.item():.3f}")
