"""bfloat16 autocast on the CPU."""
import torch
from torch import nn


class MLPMixer(nn.Module):
    def __init__(self, tokens=8, dim=32):
        super().__init__()
        self.embed = nn.Linear(6, dim)
        self.token_mix = nn.Sequential(nn.LayerNorm(tokens), nn.Linear(tokens, 32), nn.GELU(), nn.Linear(32, tokens))
        self.channel_mix = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 64), nn.GELU(), nn.Linear(64, dim))
        self.head = nn.Linear(dim, 5)

    def forward(self, x):
        h = self.embed(x)
        h = h + self.token_mix(h.transpose(1, 2)).transpose(1, 2)
        h = h + self.channel_mix(h)
        return self.head(h.mean(dim=1))


torch.manual_seed(77)
model = MLPMixer()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
prototype = torch.randn(5, 8, 6)
for step in range(151):
    y = torch.randint(0, 5, (32,))
    x = prototype[y] + torch.randn(32, 8, 6)
    with torch.autocast(device_type="cpu", dtype=torch.bfloat16):
        logits = model(x)
        loss = nn.functional.cross_entropy(logits, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        print(f"step {step:3d}, loss {loss.item():.4f}, logits are {logits.dtype}")
