import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(7)
V, T, B = 24, 20, 32
table = torch.softmax(2.5 * torch.randn(V, V), 1)
seq = torch.zeros(9001, dtype=torch.long)
for i in range(9000):
    seq[i + 1] = torch.multinomial(table[seq[i]], 1)[0]
train, val = seq[:8000], seq[8000:]


class Block(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.att = nn.MultiheadAttention(d, h, batch_first=True, bias=False)
        self.ff = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))

    def forward(self, x, mask):
        y = self.n1(x)
        x = x + self.att(y, y, y, attn_mask=mask, need_weights=False)[0]
        return x + self.ff(self.n2(x))


class TiedLM(nn.Module):
    def __init__(self, d=40, layers=2):
        super().__init__()
        self.tok = nn.Embedding(V, d)
        nn.init.normal_(self.tok.weight, std=0.1)
        pos = torch.arange(T)[:, None] / (100 ** (torch.arange(0, d, 2) / d))
        self.register_buffer("pos", 0.1 * torch.cat([pos.sin(), pos.cos()], 1), persistent=False)
        self.register_buffer("mask", torch.triu(torch.ones(T, T, dtype=torch.bool), 1), persistent=False)
        self.blocks = nn.ModuleList(Block(d, 4) for _ in range(layers))
        self.norm = nn.LayerNorm(d)
        self.out = nn.Linear(d, V, bias=False)
        self.out.weight = self.tok.weight

    def forward(self, ids):
        n = ids.size(1)
        x = self.tok(ids) + self.pos[:n]
        for b in self.blocks:
            x = b(x, self.mask[:n, :n])
        return self.out(self.norm(x))


def batch(src):
    i = torch.randint(0, len(src) - T - 1, (B,))
    w = torch.stack([src[j:j + T + 1] for j in i])
    return w[:, :-1], w[:, 1:]


model = TiedLM()
opt = torch.optim.AdamW(model.parameters(), lr=4e-3, betas=(0.9, 0.95), weight_decay=0.05)
sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=4e-3, total_steps=150, pct_start=0.2)
for step in range(1, 151):
    model.train()
    x, y = batch(train)
    loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten(), label_smoothing=0.05)
    opt.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    sched.step()
    if step % 50 == 0:
        model.eval()
        with torch.inference_mode():
            x, y = batch(val)
            v = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        print(f"step {step} train {loss.item():.3f} val {v.item():.3f} lr {sched.get_last_lr()[0]:.5f}")
best = -(torch.log(table[val[:-1], val[1:]])).mean()
print(f"entropy bound on val {best.item():.3f}")
