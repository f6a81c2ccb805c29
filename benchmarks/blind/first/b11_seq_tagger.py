import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

torch.manual_seed(4)
VOCAB, N_TAGS, MAXLEN = 60, 5, 40
PAD = 0
tag_of = torch.randint(1, N_TAGS + 1, (VOCAB,))


def sentence():
    n = int(torch.randint(3, 9, (1,))) if torch.rand(1) < 0.97 else MAXLEN
    words = torch.randint(1, VOCAB, (n,))
    tags = tag_of[words].clone()
    prev_even = torch.cat([torch.tensor([False]), words[:-1] % 2 == 0])
    tags[prev_even] = tags[prev_even] % N_TAGS + 1
    return words, tags


def collate(batch):
    words, tags = zip(*batch)
    return pad_sequence(words, batch_first=True, padding_value=PAD), pad_sequence(tags, batch_first=True, padding_value=PAD)


class Tagger(nn.Module):
    def __init__(self, dim=24, hidden=32):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, dim, padding_idx=PAD)
        self.lstm = nn.LSTM(dim, hidden, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * hidden, N_TAGS + 1)

    def forward(self, words):
        h, _ = self.lstm(self.emb(words))
        return self.out(h)


train_loader = DataLoader([sentence() for _ in range(960)], batch_size=32, shuffle=True, collate_fn=collate)
val_loader = DataLoader([sentence() for _ in range(200)], batch_size=100, collate_fn=collate)

model = Tagger()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9)

for epoch in range(6):
    model.train()
    train_loss = 0.0
    for words, tags in train_loader:
        optimizer.zero_grad()
        logits = model(words)
        loss = criterion(logits.reshape(-1, N_TAGS + 1), tags.reshape(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        train_loss += loss.item()

    model.eval()
    good = total = 0
    with torch.no_grad():
        for words, tags in val_loader:
            real = words != PAD
            pred = model(words).argmax(-1)
            good += (pred[real] == tags[real]).sum().item()
            total += real.sum().item()
    print(f"epoch {epoch}: loss {train_loss / len(train_loader):.4f} token acc {good / total:.3f}")
