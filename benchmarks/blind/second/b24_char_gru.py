"""Character model on a synthetic 'language', then sampling."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

np.random.seed(6)
torch.manual_seed(6)

words = ["the", "cat", "sat", "on", "a", "mat", "and", "dog", "ran", "home"]
chain = {w: np.random.choice(words, 2, replace=False) for w in words}


def make_text(n_words):
    w, out = "the", []
    for _ in range(n_words):
        out.append(w)
        w = np.random.choice(chain[w])
    return " ".join(out) + " "


text = make_text(4000)
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text])
V, SEQ, BATCH = len(chars), 20, 24


def get_batch():
    ix = torch.randint(0, len(data) - SEQ - 1, (BATCH,))
    x = torch.stack([data[i:i + SEQ] for i in ix])
    y = torch.stack([data[i:i + SEQ] for i in ix])
    return x, y


class CharGRU(nn.Module):
    def __init__(self, v, d=32, h=64):
        super().__init__()
        self.e = nn.Embedding(v, d)
        self.g = nn.GRU(d, h, batch_first=True)
        self.o = nn.Linear(h, v)

    def forward(self, x, h=None):
        y, h = self.g(self.e(x), h)
        return self.o(y), h


def generate(model, n):
    ids, h = [stoi["t"]], None
    with torch.no_grad():
        for _ in range(n):
            logits, h = model(torch.tensor([[ids[-1]]]), h)
            ids.append(torch.multinomial(logits[0, -1].softmax(-1), 1).item())
    return "".join(chars[i] for i in ids)


model = CharGRU(V)
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for it in range(1, 201):
    x, y = get_batch()
    logits, _ = model(x)
    loss = F.cross_entropy(logits.reshape(-1, V), y.reshape(-1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 50 == 0:
        print(f"iter {it}, loss {loss.item():.4f}")

sample = generate(model, 300)
toks = sample.split()
print(repr(sample[:80]))
print("share of real words in the sample:", sum(t in chain for t in toks) / max(1, len(toks)))
