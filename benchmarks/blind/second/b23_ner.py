import random

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

random.seed(0)
torch.manual_seed(0)

WORDS = ["<pad>"] + [f"w{i}" for i in range(150)]
TAGS = ["O", "B-PER", "B-LOC", "B-ORG", "B-MISC", "B-DATE"]
word2tag = {w: (random.randrange(1, len(TAGS)) if random.random() < 0.7 else 0) for w in WORDS[1:]}


class Sentences(Dataset):
    def __init__(self, n):
        self.items = []
        for _ in range(n):
            length = random.choice([3, 4, 5, 6]) if random.random() < 0.9 else 40
            ids = [random.randrange(1, len(WORDS)) for _ in range(length)]
            tags = [word2tag[WORDS[i]] for i in ids]
            self.items.append((torch.tensor(ids), torch.tensor(tags)))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(batch):
    words, tags = zip(*batch)
    lengths = torch.tensor([len(w) for w in words])
    return pad_sequence(words, batch_first=True), pad_sequence(tags, batch_first=True), lengths


class NerModel(nn.Module):
    def __init__(self, n_words, n_tags, dim=24):
        super().__init__()
        self.emb = nn.Embedding(n_words, dim, padding_idx=0)
        self.conv = nn.Conv1d(dim, 48, 3, padding=1)
        self.out = nn.Linear(48, n_tags)

    def forward(self, x):
        h = torch.tanh(self.conv(self.emb(x).transpose(1, 2))).transpose(1, 2)
        return self.out(h)


def entity_recall(model, loader):
    model.eval()
    got = want = 0
    with torch.no_grad():
        for w, t, _ in loader:
            p = model(w).argmax(-1)
            ent = (t != 0)
            got += ((p == t) & ent).sum().item()
            want += ent.sum().item()
    return got / want


train_dl = DataLoader(Sentences(1200), batch_size=16, shuffle=True, collate_fn=collate)
dev_dl = DataLoader(Sentences(300), batch_size=50, collate_fn=collate)
model = NerModel(len(WORDS), len(TAGS))
optimizer = torch.optim.SGD(model.parameters(), lr=0.4)
criterion = nn.CrossEntropyLoss()

for epoch in range(4):
    model.train()
    total = 0.0
    for words, tags, lengths in train_dl:
        optimizer.zero_grad()
        logits = model(words)
        loss = criterion(logits.view(-1, len(TAGS)), tags.view(-1))
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch}: loss {total / len(train_dl):.4f} entity recall {entity_recall(model, dev_dl):.3f}")
