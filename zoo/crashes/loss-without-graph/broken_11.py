"""A critic of points on a ring, its slope held near one between real and invented points."""
import torch
from torch import autograd, nn

torch.manual_seed(0)
critic = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(critic.parameters(), lr=5e-3)


def ring(count):
    angle = torch.rand(count) * 6.2832
    return torch.stack([angle.cos(), angle.sin()], dim=1)


def gradient_penalty(real, fake):
    share = torch.rand(len(real), 1)
    mixed = share * real + (1 - share) * fake
    score = critic(mixed)
    slope = autograd.grad(
        outputs=score,
        inputs=mixed,
        grad_outputs=torch.ones_like(score),
        create_graph=True,
    )[0]
    return (slope.norm(dim=1) - 1).pow(2).mean()


for step in range(120):
    real, fake = ring(64), 0.3 * torch.randn(64, 2)
    loss = critic(fake).mean() - critic(real).mean() + gradient_penalty(real, fake)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step} loss {loss.item():.4f}")
