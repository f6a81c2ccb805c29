"""Set classification with multi-head attention and padding."""
import torch
from torch import nn


class SetNet(nn.Module):
    def __init__(self, d=16):
        super().__init__()
        self.inp = nn.Linear(3, d)
        self.att = nn.MultiheadAttention(d, 2, batch_first=True)
        self.out = nn.Linear(d, 2)

    def forward(self, x, pad):
        h = self.inp(x)
        a, _ = self.att(h, h, h, key_padding_mask=pad)
        keep = (~pad).float().unsqueeze(-1)
        return self.out((a * keep).sum(1) / keep.sum(1).clamp(min=1))


torch.manual_seed(31)
model = SetNet()
opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
lr_schedule = torch.optim.lr_scheduler.OneCycleLR(opt, 1e-2, total_steps=60)
for step in range(60):
    n = torch.randint(1, 7, (24,)) if step < 24 else torch.randint(0, 7, (24,))
    pad = torch.arange(6) >= n[:, None]
    x = torch.randn(24, 6, 3) * (~pad)[..., None]
    y = (x.sum((1, 2)) > 0).long()
    loss = nn.functional.cross_entropy(model(x, pad), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    lr_schedule.step()
    if step % 8 == 0:
        print(step, loss.item())
