import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(3)

words = "the cat sat on a mat and saw red bird fly over old green hill near my small house by sea".split()
g = torch.Generator().manual_seed(3)
next_word = {w: torch.randperm(len(words), generator=g)[:3].tolist() for w in words}
tokens, w = [], 0
for _ in range(2500):
    tokens.append(words[w])
    w = next_word[words[w]][torch.randint(0, 3, (1,), generator=g).item()]
text = " ".join(tokens)

chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text])
split = int(0.9 * len(data))
train_data, val_data = data[:split], data[split:]
V, T, B = len(chars), 24, 32


def get_batch(source):
    ix = torch.randint(0, len(source) - T - 1, (B,))
    x = torch.stack([source[i:i + T] for i in ix])
    y = torch.stack([source[i + 1:i + T + 1] for i in ix])
    return x, y


class CharGRU(nn.Module):
    def __init__(self, vocab, dim=32, hidden=64):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, hidden, batch_first=True)
        self.out = nn.Linear(hidden, vocab)

    def forward(self, x):
        h, _ = self.rnn(self.emb(x))
        return self.out(h)


def compute_loss(model, x, y):
    logits = model(x)
    logits = logits.view(x.size(0), V, x.size(1))
    return F.cross_entropy(logits, y)


model = CharGRU(V)
opt = torch.optim.AdamW(model.parameters(), lr=5e-3)

for step in range(160):
    model.train()
    x, y = get_batch(train_data)
    loss = compute_loss(model, x, y)
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()

    if (step + 1) % 40 == 0:
        model.eval()
        with torch.no_grad():
            val = torch.stack([compute_loss(model, *get_batch(val_data)) for _ in range(4)]).mean()
            x, y = get_batch(val_data)
            acc = (model(x).argmax(-1) == y).float().mean()
        print(f"step {step + 1}: train {loss.item():.3f} val {val.item():.3f} next-char acc {acc.item():.3f}")
