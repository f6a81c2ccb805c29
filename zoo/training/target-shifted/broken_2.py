# Causal transformer; the model computes its own loss, as many libraries do.
import torch
from torch import nn


class LanguageModel(nn.Module):
    def __init__(self, vocabulary=24, width=32, context=17):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.places = nn.Embedding(context, width)
        self.block = nn.TransformerEncoderLayer(width, 2, 64, dropout=0.0, batch_first=True)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, ids, labels):
        length = ids.shape[1]
        x = self.tokens(ids) + self.places(torch.arange(length))
        mask = torch.full((length, length), float("-inf")).triu(1)
        logits = self.head(self.block(x, src_mask=mask))
        shifted, wanted = logits[:, :-1], labels[:, 1:]
        return nn.functional.cross_entropy(shifted.reshape(-1, logits.shape[-1]), wanted.reshape(-1))


def main():
    torch.manual_seed(1)
    step_by = torch.randint(1, 24, (24,))
    model = LanguageModel()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for step in range(120):
        ids = torch.randint(0, 24, (24, 1))
        for _ in range(17):
            nxt = (ids[:, -1:] + step_by[ids[:, -1:]] + torch.randint(0, 2, (24, 1))) % 24
            ids = torch.cat([ids, nxt], dim=1)
        inputs, labels = ids[:, :-1], ids[:, 1:]
        loss = model(inputs, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 30 == 0:
            print(step, round(loss.item(), 3))


main()
