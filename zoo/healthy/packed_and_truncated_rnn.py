# RNNs two ways: GRU with packed padded sequences and custom collate (workers=0), then stateful LSTM with truncated BPTT and hidden detach.
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset


class ParityLike(Dataset):
    """Variable length sequences; class = which of two marks comes first."""

    def __init__(self, n=480):
        self.items = []
        for _ in range(n):
            L = int(torch.randint(5, 20, (1,)))
            s = torch.randint(2, 10, (L,))
            i, j = torch.randperm(L)[:2].tolist()
            s[i], s[j] = 0, 1
            self.items.append((s, int(i < j)))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(batch):
    batch.sort(key=lambda t: len(t[0]), reverse=True)
    seqs, ys = zip(*batch)
    return pad_sequence(seqs, batch_first=True), torch.tensor([len(s) for s in seqs]), torch.tensor(ys)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(10, 16)
        self.gru = nn.GRU(16, 24, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(48, 2)

    def forward(self, x, lens):
        _, h = self.gru(pack_padded_sequence(self.emb(x), lens, batch_first=True))
        return self.fc(torch.cat([h[0], h[1]], -1))


def packed():
    net = Classifier()
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    crit = nn.CrossEntropyLoss()
    loader = DataLoader(ParityLike(), batch_size=24, shuffle=True, collate_fn=collate)
    for epoch in range(5):
        tot = ok = n = 0
        for x, lens, y in loader:
            out = net(x, lens)
            loss = crit(out, y)
            opt.zero_grad(); loss.backward(); opt.step()
            tot += loss.item() * len(y); ok += (out.argmax(1) == y).sum().item(); n += len(y)
        print(f"packed epoch {epoch} loss {tot / n:.4f} acc {ok / n:.3f}")


def tbptt(steps=90, B=16, T=12):
    g = torch.Generator().manual_seed(3)
    pattern = torch.randint(0, 6, (37,), generator=g)
    streams = torch.stack([pattern.roll(-i * 2).repeat(30) for i in range(B)])
    emb, lstm, out = nn.Embedding(6, 16), nn.LSTM(16, 48, batch_first=True), nn.Linear(48, 6)
    model = nn.ModuleList([emb, lstm, out])
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    hidden = None
    for s in range(steps):
        chunk = streams[:, s * T:s * T + T + 1]
        if hidden is not None:
            hidden = tuple(h.detach() for h in hidden)  # cut the graph, keep the state
        y, hidden = lstm(emb(chunk[:, :-1]), hidden)
        loss = nn.functional.cross_entropy(out(y).transpose(1, 2), chunk[:, 1:])
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        opt.step()
        if s % 15 == 0 or s == steps - 1:
            print(f"tbptt {s} loss {loss.item():.4f} ppl {loss.exp().item():.2f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    packed()
    tbptt()
