# Character-level GRU on a made-up language, with a trainer class.
import torch
import torch.nn.functional as F
from torch import nn


class CharModel(nn.Module):
    def __init__(self, vocab, dim=32):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, vocab)

    def forward(self, tokens):
        states, _ = self.rnn(self.embed(tokens))
        return self.out(states)


class Trainer:
    def __init__(self, model, lr):
        self.model = model
        self.optim = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
        self.history = []

    def batch(self, size=16, length=12):
        start = torch.randint(0, 9, (size, 1))
        return (start + 2 * torch.arange(length + 1)) % 9

    def loss_of(self, text):
        logits = self.model(text[:, :-1])
        return F.cross_entropy(logits.flatten(0, 1), text[:, 1:].flatten())

    def fit(self, steps):
        for _ in range(steps):
            loss = self.loss_of(self.batch())
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.model.zero_grad()
            self.optim.step()
            self.history.append(loss.item())


if __name__ == "__main__":
    torch.manual_seed(11)
    trainer = Trainer(CharModel(9), lr=0.3)
    trainer.fit(150)
    print("first", sum(trainer.history[:10]) / 10, "last", sum(trainer.history[-10:]) / 10)
