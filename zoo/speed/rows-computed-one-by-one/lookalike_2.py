# Sentences of different lengths: each is averaged up to its own end, a few at a time.
import torch
from torch import nn


class SentenceClassifier(nn.Module):
    def __init__(self, words=300, dim=32, classes=4):
        super().__init__()
        self.embed = nn.Embedding(words, dim)
        self.hidden = nn.Linear(dim, 128)
        self.heads = nn.ModuleList(nn.Linear(128, classes) for _ in range(4))

    def forward(self, tokens, lengths):
        vectors = self.embed(tokens)
        means = []
        for i in range(vectors.size(0)):
            means.append(vectors[i, : lengths[i]].mean(dim=0))
        hidden = torch.relu(self.hidden(torch.stack(means)))
        return torch.stack([head(hidden) for head in self.heads]).mean(dim=0)


def main():
    torch.manual_seed(5)
    model = SentenceClassifier()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    criterion = nn.CrossEntropyLoss()
    for step in range(250):
        lengths = torch.randint(3, 12, (48,))
        tokens = torch.randint(0, 300, (48, 12))
        labels = tokens[:, 0] % 4
        loss = criterion(model(tokens, lengths), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print("step", step, "loss", round(loss.item(), 4))


main()
