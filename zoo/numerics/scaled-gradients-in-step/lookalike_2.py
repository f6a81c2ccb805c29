"""An autoencoder under a GradScaler beside a probe on its codes that is trained in full precision."""
import torch
from torch import nn

torch.manual_seed(2)
encoder = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 4))
decoder = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 20))
probe = nn.Linear(4, 2)
opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=3e-3)
opt_probe = torch.optim.SGD(probe.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu")
basis = torch.randn(4, 20)

for step in range(1, 151):
    code = torch.randn(64, 4)
    x, label = code @ basis, (code[:, 0] > 0).long()
    with torch.autocast("cpu", dtype=torch.float16):
        z = encoder(x)
        loss = nn.functional.mse_loss(decoder(z), x)
    opt.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(opt)
    scaler.update()

    probe_loss = nn.functional.cross_entropy(probe(z.detach().float()), label)
    opt_probe.zero_grad()
    probe_loss.backward()
    opt_probe.step()
    if step % 25 == 0:
        print(f"{step}: autoencoder {loss.item():.3f} probe {probe_loss.item():.3f}")
