"""Text classification with one attention layer and padding."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

PAD = 0


class Reviews(Dataset):
    def __init__(self, n=320, max_len=12, vocab=50):
        g = torch.Generator().manual_seed(5)
        self.rows = []
        for i in range(n):
            length = int(torch.randint(0 if i > 200 else 1, max_len + 1, (1,), generator=g))
            ids = torch.randint(1, vocab, (length,), generator=g)
            label = int((ids > vocab // 2).float().mean() > 0.5) if length else 0
            self.rows.append((ids, label))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


def collate(batch):
    n = max(1, max(len(t) for t, _ in batch))
    ids = torch.full((len(batch), n), PAD)
    for i, (t, _) in enumerate(batch):
        ids[i, : len(t)] = t
    return ids, torch.tensor([y for _, y in batch])


class Pool(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.query = nn.Linear(d, 1)

    def forward(self, h, pad):
        score = self.query(h).squeeze(-1).masked_fill(pad, -1e9)
        w = torch.softmax(score, dim=-1)
        return (w.unsqueeze(-1) * h).sum(1)


class Classifier(nn.Module):
    def __init__(self, vocab=50, d=24):
        super().__init__()
        self.emb = nn.Embedding(vocab, d, padding_idx=PAD)
        self.pool = Pool(d)
        self.out = nn.Linear(d, 2)

    def forward(self, ids):
        return self.out(self.pool(self.emb(ids), ids == PAD))


torch.manual_seed(2)
loader = DataLoader(Reviews(), batch_size=16, collate_fn=collate)
model = Classifier()
opt = torch.optim.AdamW(model.parameters(), lr=5e-3)
for epoch in range(3):
    for ids, y in loader:
        loss = nn.functional.cross_entropy(model(ids), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
