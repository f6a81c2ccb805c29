"""Sampling from a trained model with top-k filtering between updates."""
import torch
from torch import nn

torch.manual_seed(16)
V = 15
model = nn.Sequential(nn.Embedding(V, 24), nn.Linear(24, 48), nn.ReLU(), nn.Linear(48, V))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)


@torch.no_grad()
def generate(n=8, k=3):
    tok, out = torch.tensor([0]), [0]
    for _ in range(n):
        logits = model(tok)[0]
        kth = logits.topk(k).values[-1]
        logits = logits.masked_fill(logits < kth, -float("inf"))
        tok = torch.multinomial(logits.softmax(0), 1)
        out.append(int(tok))
    return out


for step in range(120):
    a = torch.randint(0, V, (64,))
    b = (a + torch.randint(1, 3, (64,))) % V
    loss = nn.functional.cross_entropy(model(a), b)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 30 == 0:
        print(step, loss.item(), generate())
print("final", loss.item())
