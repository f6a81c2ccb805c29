import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(41)
POSITIVE = list(range(2, 12))
NEGATIVE = list(range(12, 22))
NEUTRAL = list(range(22, 80))
NOT = 1
VOCAB = 80


class Reviews(Dataset):
    """Short sentences; 'not' turns the meaning of the opinion word behind it."""

    def __init__(self, n, longest=40):
        self.samples = []
        for _ in range(n):
            label = int(torch.randint(0, 2, (1,)))
            length = int(torch.randint(4, 9, (1,))) if torch.rand(1) < 0.9 else longest
            words = torch.tensor(NEUTRAL)[torch.randint(0, len(NEUTRAL), (length,))]
            negated = bool(torch.rand(1) < 0.4)
            pool = POSITIVE if label != negated else NEGATIVE
            at = int(torch.randint(1, min(length, 8) - 1, (1,)))
            words[at] = pool[int(torch.randint(0, len(pool), (1,)))]
            if negated:
                words[at - 1] = NOT
            self.samples.append((words, label))

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, i):
        return self.samples[i]


def collate(items):
    seqs, labels = zip(*items)
    lengths = torch.tensor([len(s) for s in seqs])
    return pad_sequence(seqs, batch_first=True), lengths, torch.tensor(labels)


class SentimentRNN(nn.Module):
    def __init__(self, dim=24, hidden=32):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, dim, padding_idx=0)
        self.rnn = nn.GRU(dim, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, 2)

    def forward(self, tokens, lengths):
        out, _ = self.rnn(self.embedding(tokens))
        last = out[:, -1, :]
        return self.fc(last)


train_loader = DataLoader(Reviews(900), batch_size=32, shuffle=True, collate_fn=collate)
val_loader = DataLoader(Reviews(300), batch_size=60, collate_fn=collate)
model = SentimentRNN()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)

for epoch in range(6):
    model.train()
    total = 0.0
    for tokens, lengths, labels in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(tokens, lengths), labels)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        hits = torch.cat([model(t, n).argmax(1) == y for t, n, y in val_loader])
    print(f"epoch {epoch}: train {total / len(train_loader):.4f} val acc {hits.float().mean():.3f}")
