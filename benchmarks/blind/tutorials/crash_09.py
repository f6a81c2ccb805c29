"""Sentiment of toy sentences: averaged word embeddings."""
import random

import torch
from torch import nn
import torch.nn.functional as F

GOOD = "lovely bright great sweet clever warm fine happy".split()
BAD = "dull awful cold bitter boring sad weak ugly".split()
OTHER = "the film was a very with and plot actor it scene music story".split()


def sentence(rng):
    label = rng.randint(0, 1)
    words = rng.choices(OTHER, k=rng.randint(4, 8)) + rng.choices(GOOD if label else BAD, k=2)
    rng.shuffle(words)
    return words, label


class Vocabulary:
    def __init__(self, sentences):
        self.index = {"<pad>": 0, "<unk>": 1}
        for words in sentences:
            for w in words:
                self.index.setdefault(w, len(self.index))
        self.size = len({w for words in sentences for w in words})

    def encode(self, words, length):
        ids = [self.index.get(w, 1) for w in words][:length]
        return ids + [0] * (length - len(ids))


class BagOfWords(nn.Module):
    def __init__(self, vocab_size, dim=24):
        super().__init__()
        self.emb = nn.Embedding(vocab_size, dim, padding_idx=0)
        self.out = nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Linear(32, 2))

    def forward(self, ids):
        mask = (ids != 0).unsqueeze(-1).float()
        mean = (self.emb(ids) * mask).sum(1) / mask.sum(1).clamp(min=1)
        return self.out(mean)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(8)
    rng = random.Random(8)
    corpus = [sentence(rng) for _ in range(1200)]
    vocab = Vocabulary([w for w, _ in corpus])
    ids = torch.tensor([vocab.encode(w, 10) for w, _ in corpus])
    labels = torch.tensor([l for _, l in corpus])
    model = BagOfWords(vocab.size)
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(8):
        for part in torch.randperm(len(ids)).split(30):
            loss = F.cross_entropy(model(ids[part]), labels[part])
            opt.zero_grad()
            loss.backward()
            opt.step()
        acc = (model(ids).argmax(1) == labels).float().mean().item()
        print(f"epoch {epoch} loss {loss.item():.4f} accuracy {acc:.3f}")


if __name__ == "__main__":
    main()
