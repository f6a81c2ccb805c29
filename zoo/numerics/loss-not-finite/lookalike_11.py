"""float16 autocast on the CPU with a gradient scaler that starts very high."""
import torch
from torch import nn

torch.manual_seed(7)
model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 3))
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0 ** 22, growth_interval=40)
means = torch.randn(3, 16)
skipped = 0
for step in range(150):
    y = torch.randint(0, 3, (64,))
    x = means[y] + torch.randn(64, 16)
    with torch.autocast("cpu", dtype=torch.float16):
        loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    scaler.scale(loss).backward()
    before = scaler.get_scale()
    scaler.step(opt)
    scaler.update()
    skipped += scaler.get_scale() < before
    if step % 30 == 0:
        print(step, loss.item(), scaler.get_scale(), "skipped", skipped)
print("final", loss.item())
