import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(15)
V, T, B = 20, 16, 32
trans = torch.softmax(2.0 * torch.randn(V, V), dim=1)


def markov(n_tokens):
    seq = [0]
    for _ in range(n_tokens):
        seq.append(torch.multinomial(trans[seq[-1]], 1).item())
    return torch.tensor(seq)


train_data, val_data = markov(8000), markov(2000)


def get_batch(data):
    ix = torch.randint(0, len(data) - T - 1, (B,))
    chunk = torch.stack([data[i:i + T + 1] for i in ix])
    return chunk[:, :-1], chunk[:, 1:]


class MiniGPT(nn.Module):
    def __init__(self, dim=40, heads=4, layers=2):
        super().__init__()
        self.tok = nn.Embedding(V, dim)
        self.pos = nn.Embedding(T, dim)
        layer = nn.TransformerEncoderLayer(dim, heads, 2 * dim, dropout=0.0, batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.ln = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, V)

    def forward(self, idx):
        x = self.tok(idx) + self.pos(torch.arange(idx.size(1)))
        x = self.blocks(x)
        return self.head(self.ln(x))

    @torch.no_grad()
    def generate(self, idx, n):
        for _ in range(n):
            logits = self(idx[:, -T:])[:, -1]
            idx = torch.cat([idx, torch.multinomial(F.softmax(logits, -1), 1)], 1)
        return idx


model = MiniGPT()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
warmup = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1.0, (s + 1) / 20))

for step in range(1, 181):
    model.train()
    x, y = get_batch(train_data)
    loss = F.cross_entropy(model(x).reshape(-1, V), y.reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    warmup.step()
    if step % 60 == 0:
        model.eval()
        with torch.no_grad():
            x, y = get_batch(val_data)
            val = F.cross_entropy(model(x).reshape(-1, V), y.reshape(-1))
        print(f"step {step}: train {loss.item():.4f} val {val.item():.4f}")

model.eval()
sample = model.generate(torch.zeros(64, 1, dtype=torch.long), 20)
nll = -torch.log(trans[sample[:, :-1], sample[:, 1:]]).mean()
print(f"true nll of generated text {nll.item():.3f} (corpus {-torch.log(trans[val_data[:-1], val_data[1:]]).mean().item():.3f})")
