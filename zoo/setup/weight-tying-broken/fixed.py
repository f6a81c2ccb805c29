"""A small language model; input and output share one table of word vectors."""
import torch
from torch import nn


class LanguageModel(nn.Module):
    def __init__(self, vocab=40, dim=24):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, vocab, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, tokens):
        states, _ = self.rnn(self.embed(tokens))
        return self.head(states)


torch.manual_seed(0)
model = LanguageModel()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
follows = torch.randperm(40)
for step in range(150):
    text = [torch.randint(0, 40, (16,))]
    for _ in range(10):
        text.append(follows[text[-1]])
    text = torch.stack(text, dim=1)
    logits = model(text[:, :-1])
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), text[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        gap = (model.head.weight - model.embed.weight).norm().item()
        print(step, round(loss.item(), 4), "gap", round(gap, 3))
