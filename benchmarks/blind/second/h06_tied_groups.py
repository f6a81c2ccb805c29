"""Decoder with tied embeddings, decay / no-decay groups, warmup, in-model shift and ignored pads."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(2)
V, T, PAD = 30, 14, 0


def batch(n):
    step = torch.randint(1, 4, (n, 1))
    s = torch.randint(0, V - 1, (n, 1))
    seq = (s + step * torch.arange(T)) % (V - 1) + 1
    lens = torch.randint(6, T + 1, (n, 1))
    return torch.where(torch.arange(T) < lens, seq, torch.tensor(PAD))


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.o = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.ff = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))

    def forward(self, x):
        q, k, v = self.qkv(self.n1(x)).chunk(3, -1)
        x = x + self.o(F.scaled_dot_product_attention(q, k, v, is_causal=True))
        return x + self.ff(self.n2(x))


class TinyLM(nn.Module):
    def __init__(self, d=40):
        super().__init__()
        self.wte = nn.Embedding(V, d)
        self.wpe = nn.Embedding(T, d)
        self.blocks = nn.ModuleList([Block(d) for _ in range(2)])
        self.nf = nn.LayerNorm(d)
        self.lm_head = nn.Linear(d, V, bias=False)
        nn.init.normal_(self.wte.weight, std=0.15)
        self.lm_head.weight = self.wte.weight

    def forward(self, ids, labels=None):
        x = self.wte(ids) + self.wpe(torch.arange(ids.size(1)))
        for b in self.blocks:
            x = b(x)
        logits = self.lm_head(self.nf(x))
        if labels is None:
            return logits, None
        tgt = labels[:, 1:].clone()
        tgt[tgt == PAD] = -100
        return logits, F.cross_entropy(logits[:, :-1].reshape(-1, V), tgt.reshape(-1))


model = TinyLM()
decay = [p for n, p in model.named_parameters() if p.dim() > 1]
plain = [p for n, p in model.named_parameters() if p.dim() == 1]
opt = torch.optim.AdamW([{"params": decay, "weight_decay": 0.2}, {"params": plain, "weight_decay": 0.0}], lr=6e-3, betas=(0.9, 0.95))
TOTAL, WARM = 220, 40
sched = torch.optim.lr_scheduler.LambdaLR(
    opt, lambda s: (s + 1) / WARM if s < WARM else 0.5 * (1 + math.cos(math.pi * (s - WARM) / (TOTAL - WARM))))
for step in range(TOTAL):
    ids = batch(32)
    _, loss = model(ids, labels=ids)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    sched.step()
    if step % 40 == 39:
        print(f"{step + 1:4d} loss {loss.item():.4f} lr {sched.get_last_lr()[0]:.5f}")
with torch.no_grad():
    ids = batch(300)
    lg, _ = model(ids)
    m = ids[:, 3:] != PAD
    print("next-token accuracy after three symbols", (lg[:, 2:-1].argmax(-1) == ids[:, 3:])[m].float().mean().item())
