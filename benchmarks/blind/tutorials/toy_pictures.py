"""Synthetic picture collections used by several scripts of this folder."""
import torch


def gaussian_blobs(n, size=16, generator=None):
    """Soft round spots of random position and width, values between 0 and 1."""
    g = torch.linspace(-1, 1, size)
    cx = torch.rand(n, 1, 1, generator=generator) * 1.4 - 0.7
    cy = torch.rand(n, 1, 1, generator=generator) * 1.4 - 0.7
    w = 0.15 + 0.3 * torch.rand(n, 1, 1, generator=generator)
    d2 = (g[None, None, :] - cx) ** 2 + (g[None, :, None] - cy) ** 2
    return torch.exp(-d2 / (2 * w ** 2)).unsqueeze(1)


def stripes(n, size=16, classes=4, generator=None):
    """Binary stripes; the class tells the direction. Returns pictures and labels."""
    g = torch.arange(size).float()
    label = torch.randint(0, classes, (n,), generator=generator)
    phase = torch.rand(n, 1, 1, generator=generator) * 6.28
    freq = 0.5 + 0.5 * torch.rand(n, 1, 1, generator=generator)
    angle = (label.float() * 3.14159 / classes).view(-1, 1, 1)
    wave = torch.cos(angle) * g[None, None, :] + torch.sin(angle) * g[None, :, None]
    return (torch.sin(freq * wave + phase) > 0).float().unsqueeze(1), label
