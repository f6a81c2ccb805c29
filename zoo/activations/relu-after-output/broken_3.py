"""Spam filter: bag of words, one score, binary cross-entropy on logits."""
import torch
from torch import nn


class SpamFilter(nn.Module):
    def __init__(self, vocabulary=50, width=24):
        super().__init__()
        self.embed = nn.EmbeddingBag(vocabulary, width, mode="mean")
        self.score = nn.Linear(width, 1)

    def forward(self, words):
        hidden = torch.relu(self.embed(words))
        return self.score(hidden).relu().squeeze(1)


def batches(count, generator):
    for _ in range(count):
        spam = torch.randint(0, 2, (64,), generator=generator)
        words = torch.randint(0, 30, (64, 12), generator=generator) + 20 * spam.unsqueeze(1)
        yield words, spam.float()


def main():
    torch.manual_seed(7)
    net = SpamFilter()
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    for words, spam in batches(250, torch.Generator().manual_seed(1)):
        loss = criterion(net(words), spam)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("last loss", round(loss.item(), 4))


main()
