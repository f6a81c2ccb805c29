# Positions as learned vectors, scaled down at the start; a tiny transformer that sorts.
import torch
from torch import nn


class Sorter(nn.Module):
    def __init__(self, vocab=8, length=6, dim=24):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.position = (0.02 * torch.randn(length, dim)).requires_grad_()
        self.block = nn.TransformerEncoderLayer(dim, 4, 48, dropout=0.0, batch_first=True)
        self.out = nn.Linear(dim, vocab)

    def forward(self, tokens):
        return self.out(self.block(self.embed(tokens) + self.position))


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)

    def step(self):
        tokens = torch.randint(0, 8, (48, 6))
        logits = self.model(tokens)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens.sort(dim=1).values.flatten())
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


if __name__ == "__main__":
    torch.manual_seed(1)
    trainer = Trainer(Sorter())
    for number in range(110):
        loss = trainer.step()
        if number % 20 == 0:
            print(number, round(loss, 4))
