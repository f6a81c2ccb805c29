"""Denoiser that adds its noise on the right device; a CPU scalar and a CPU index are allowed anywhere."""
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Denoiser(nn.Module):
    def __init__(self, dim=20):
        super().__init__()
        self.register_buffer("order", torch.arange(dim).flip(0))
        self.temperature = torch.tensor(0.5)
        self.net = nn.Sequential(nn.Linear(dim, 64), nn.ReLU(), nn.Linear(64, dim))

    def forward(self, clean):
        noise = torch.randn_like(clean) * 0.3
        steps = torch.arange(clean.size(1), device=clean.device, dtype=clean.dtype) / clean.size(1)
        noisy = (clean + noise) * (1 + self.temperature * steps)
        mirrored = noisy[:, self.order]
        first = noisy[:, torch.tensor([0])]
        return self.net(noisy + 0.1 * mirrored + 0 * first)


def main():
    torch.manual_seed(3)
    basis = torch.randn(3, 20).to(device)
    model = Denoiser().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step in range(201):
        clean = torch.randn(64, 3, device=device) @ basis
        loss = (model(clean) - clean).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 40 == 0:
            print("step=%d loss=%.4f" % (step, loss.item()))


if __name__ == "__main__":
    main()
