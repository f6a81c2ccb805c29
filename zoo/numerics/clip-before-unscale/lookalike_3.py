"""A generator and a critic in half precision: each one's gradients are unscaled, and only the critic's clipped."""
import torch
from torch import nn

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
critic = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
opt_g = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.9))
opt_c = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.5, 0.9))
scaler = torch.amp.GradScaler("cpu")
bce = nn.functional.binary_cross_entropy_with_logits


def ring(n):
    angle = 6.2832 * torch.rand(n, 1)
    return torch.cat([angle.cos(), angle.sin()], dim=1) + 0.05 * torch.randn(n, 2)


for step in range(1, 151):
    real, noise = ring(64), torch.randn(64, 4)
    with torch.autocast("cpu", dtype=torch.float16):
        fake = generator(noise)
        on_real, on_fake = critic(real), critic(fake.detach())
        loss_c = bce(on_real, torch.ones_like(on_real)) + bce(on_fake, torch.zeros_like(on_fake))
    opt_c.zero_grad()
    scaler.scale(loss_c).backward()
    scaler.unscale_(opt_c)
    torch.nn.utils.clip_grad_norm_(critic.parameters(), 1.0)
    scaler.step(opt_c)

    with torch.autocast("cpu", dtype=torch.float16):
        verdict = critic(fake)
        loss_g = bce(verdict, torch.ones_like(verdict))
    opt_g.zero_grad()
    scaler.scale(loss_g).backward()
    scaler.step(opt_g)
    scaler.update()
    if step % 25 == 0:
        print(f"{step}: critic {loss_c.item():.3f} generator {loss_g.item():.3f}")
