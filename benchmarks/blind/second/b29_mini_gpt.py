import math
import torch
import torch.nn as nn
import torch.nn.functional as F


class SelfAttention(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.h = heads
        self.qkv = nn.Linear(d, 3 * d)
        self.proj = nn.Linear(d, d)

    def forward(self, x):
        B, T, D = x.shape
        q, k, v = self.qkv(x).view(B, T, 3, self.h, D // self.h).permute(2, 0, 3, 1, 4)
        att = q @ k.transpose(-2, -1) / math.sqrt(D // self.h)
        att = att.softmax(dim=-1)
        y = (att @ v).transpose(1, 2).reshape(B, T, D)
        return self.proj(y)


class Layer(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.att = SelfAttention(d, heads)
        self.ff = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))

    def forward(self, x):
        x = x + self.att(self.n1(x))
        return x + self.ff(self.n2(x))


class MiniGPT(nn.Module):
    def __init__(self, vocab, block, d=32, heads=2, layers=2):
        super().__init__()
        self.block = block
        self.tok, self.pos = nn.Embedding(vocab, d), nn.Embedding(block, d)
        self.layers = nn.Sequential(*[Layer(d, heads) for _ in range(layers)])
        self.norm, self.out = nn.LayerNorm(d), nn.Linear(d, vocab)

    def forward(self, idx):
        x = self.tok(idx) + self.pos.weight[:idx.size(1)]
        return self.out(self.norm(self.layers(x)))

    @torch.no_grad()
    def generate(self, idx, n):
        for _ in range(n):
            logits = self(idx[:, -self.block:])[:, -1]
            idx = torch.cat([idx, logits.argmax(-1, keepdim=True)], 1)
        return idx


VOCAB, BLOCK = 16, 12


def sequences(n):
    """arithmetic progressions modulo VOCAB with a random start and stride"""
    start = torch.randint(0, VOCAB, (n, 1))
    stride = torch.randint(1, 6, (n, 1))
    return (start + stride * torch.arange(BLOCK + 1)) % VOCAB


torch.manual_seed(3)
model = MiniGPT(VOCAB, BLOCK)
opt = torch.optim.AdamW(model.parameters(), lr=4e-3)
for it in range(1, 251):
    s = sequences(32)
    logits = model(s[:, :-1])
    loss = F.cross_entropy(logits.reshape(-1, VOCAB), s[:, 1:].reshape(-1))
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
    if it % 50 == 0:
        print(f"step {it}: train loss {loss.item():.4f}")

model.eval()
s = sequences(200)
gen = model.generate(s[:, :4], BLOCK - 3)
print("continuation accuracy:", (gen[:, 4:] == s[:, 4:]).float().mean().item())
