"""LSTM tagger with dropout between its layers; the validation loss decides when to stop."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Tagger(nn.Module):
    def __init__(self, vocabulary=30, tags=3):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, 16)
        self.lstm = nn.LSTM(16, 24, num_layers=2, dropout=0.5, batch_first=True)
        self.out = nn.Linear(24, tags)

    def forward(self, tokens):
        return self.out(self.lstm(self.embedding(tokens))[0])


class Experiment:
    def __init__(self):
        tokens = torch.randint(0, 30, (480, 12))
        tags = (tokens + tokens.roll(1, 1)) % 3
        self.training = DataLoader(TensorDataset(tokens[:400], tags[:400]), 25, shuffle=True)
        self.validation = DataLoader(TensorDataset(tokens[400:], tags[400:]), 20)
        self.tagger = Tagger()
        self.opt = torch.optim.Adam(self.tagger.parameters(), lr=5e-3)
        self.criterion = nn.CrossEntropyLoss()

    def epoch(self):
        for tokens, tags in self.training:
            self.opt.zero_grad()
            loss = self.criterion(self.tagger(tokens).flatten(0, 1), tags.flatten())
            loss.backward()
            self.opt.step()

    @torch.no_grad()
    def validate(self):
        self.tagger.eval()
        losses = [
            self.criterion(self.tagger(tokens).flatten(0, 1), tags.flatten()).item()
            for tokens, tags in self.validation
        ]
        self.tagger.train()
        return sum(losses) / len(losses)


torch.manual_seed(5)
experiment = Experiment()
best, waited = float("inf"), 0
for epoch in range(8):
    experiment.epoch()
    score = experiment.validate()
    print(f"epoch {epoch}: validation loss {score:.4f}")
    waited = 0 if score < best else waited + 1
    best = min(best, score)
    if waited == 4:
        break
