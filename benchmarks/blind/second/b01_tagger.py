"""BiLSTM tagger with a POS head and a chunk head."""
import random
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(7)
np.random.seed(7)
torch.manual_seed(7)

VOCAB, N_POS, N_CHUNK, T = 80, 8, 4, 12
pos_table = np.random.randint(0, N_POS, size=(VOCAB, 3))
chunk_table = np.random.randint(0, N_CHUNK, size=VOCAB)


def make_split(n):
    w = np.random.randint(0, VOCAB, size=(n, T))
    prev = np.concatenate([np.zeros((n, 1), dtype=int), w[:, :-1]], 1)
    pos = pos_table[w, prev % 3]
    chunk = chunk_table[w]
    return torch.tensor(w), torch.tensor(pos), torch.tensor(chunk)


train_w, train_p, train_c = make_split(1440)
dev_w, dev_p, dev_c = make_split(300)


class Tagger(nn.Module):
    def __init__(self, dim=32, hid=48):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, dim)
        self.rnn = nn.LSTM(dim, hid, batch_first=True, bidirectional=True)
        self.pos = nn.Sequential(nn.Linear(2 * hid, 64), nn.Tanh(), nn.Linear(64, N_POS))
        self.chunk = nn.Linear(2 * hid, N_CHUNK)

    def forward(self, w):
        h, _ = self.rnn(self.emb(w))
        return self.pos(h), self.chunk(h)


model = Tagger()
body = list(model.emb.parameters()) + list(model.rnn.parameters())
heads = list(model.pos.parameters()) + list(model.chunk.parameters())
opt_body = torch.optim.Adam(body, lr=1.5e-2)
opt_heads = torch.optim.SGD(heads, lr=0.3)


@torch.no_grad()
def evaluate():
    model.eval()
    p, c = model(dev_w)
    return ((p.argmax(-1) == dev_p).float().mean().item(),
            (c.argmax(-1) == dev_c).float().mean().item())


BS = 32
for epoch in range(4):
    model.train()
    order = torch.randperm(len(train_w))
    tot = 0.0
    for i in range(0, len(order), BS):
        idx = order[i:i + BS]
        p, c = model(train_w[idx])
        loss_p = F.cross_entropy(p.reshape(-1, N_POS), train_p[idx].reshape(-1))
        loss_c = F.cross_entropy(c.reshape(-1, N_CHUNK), train_c[idx].reshape(-1))
        loss = loss_p + 0.5 * loss_c
        opt_heads.zero_grad()
        loss.backward()
        opt_body.step()
        opt_heads.step()
        tot += loss.item()
    pa, ca = evaluate()
    print(f"epoch {epoch} loss {tot / (len(order) // BS):.4f} pos acc {pa:.3f} chunk acc {ca:.3f}")
