"""A tiny diffusion model in two dimensions: predict the noise."""
import torch
import torch.nn.functional as F
from torch import nn

STEPS = 40
betas = torch.linspace(1e-3, 0.15, STEPS)
kept = torch.cumprod(1 - betas, 0)


class Denoiser(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.time = nn.Embedding(STEPS, width)
        self.inner = nn.Linear(2, width)
        self.outer = nn.Sequential(nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 2))

    def forward(self, point, t):
        return self.outer(self.inner(point) + self.time(t))


def main():
    torch.manual_seed(6)
    model = Denoiser()
    average = torch.optim.swa_utils.AveragedModel(model, avg_fn=lambda a, b, n: 0.98 * a + 0.02 * b)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for step in range(300):
        angle = 6.283 * torch.rand(128)
        clean = torch.stack([angle.cos(), angle.sin()], 1) + 0.05 * torch.randn(128, 2)
        t = torch.randint(0, STEPS, (128,))
        noise = torch.randn_like(clean)
        share = kept[t].unsqueeze(1)
        noisy = share.sqrt() * clean + (1 - share).sqrt() * noise
        loss = F.mse_loss(model(noisy, t), noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        average.update_parameters(model)
        if step % 60 == 0:
            print(f"step {step}: {loss.item():.4f}")


main()
