# A diffusion model in small: samples are drawn from far stronger noise than most of the training sees.
import torch
from torch import nn

torch.manual_seed(0)
data = torch.randn(400, 2) * 0.1 + torch.tensor([0.5, -0.5])
model = nn.Sequential(nn.Linear(2, 64), nn.SiLU(), nn.Linear(64, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(300):
    clean = data[torch.randint(0, 400, (64,))]
    noisy = clean + 0.3 * torch.rand(64, 1) * torch.randn(64, 2)
    loss = nn.functional.mse_loss(model(noisy), clean)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 60 == 59:
        with torch.no_grad():
            sample = 8.0 * torch.randn(64, 2)
            for _ in range(6):
                sample = 0.5 * sample + 0.5 * model(sample)
        print(f"{loss.item():.4f} {sample.mean().item():.3f}")
