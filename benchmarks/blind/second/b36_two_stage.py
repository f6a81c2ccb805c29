"""Stage 1: train a denoising encoder. Stage 2: reuse it for a small labelled task."""
import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(23)
D, LAT = 48, 5
basis = torch.randn(LAT, D)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(D, 64), nn.ReLU(), nn.Linear(64, LAT))

    def forward(self, x):
        return self.net(x)


class DenoisingAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.decoder = nn.Sequential(nn.Linear(LAT, 64), nn.ReLU(), nn.Linear(64, D))

    def forward(self, x):
        return self.decoder(self.encoder(x))


class Predictor(nn.Module):
    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder
        self.head = nn.Linear(LAT, 3)

    def forward(self, x):
        with torch.no_grad():
            z = self.encoder(x)
        return self.head(z)


def observe(z):
    return torch.tanh(0.5 * z @ basis) + 0.6 * torch.randn(len(z), D)


def labelled(n, w):
    z = torch.randn(n, LAT)
    return observe(z), (z @ w).argmax(1)


def stage1(path, steps=250):
    model = DenoisingAE()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for s in range(1, steps + 1):
        z = torch.randn(96, LAT)
        clean = torch.tanh(0.5 * z @ basis)
        loss = F.mse_loss(model(clean + 0.6 * torch.randn_like(clean)), clean)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if s % 50 == 0:
            print(f"stage1 step {s} mse {loss.item():.4f}")
    torch.save({"state_dict": model.state_dict(), "steps": steps}, path)


def stage2(path, steps=250):
    w = torch.randn(LAT, 3)
    x, y = labelled(200, w)
    xt, yt = labelled(1500, w)
    enc = Encoder()
    enc.load_state_dict(torch.load(path)["state_dict"], strict=False)
    model = Predictor(enc)
    opt = torch.optim.Adam(model.head.parameters(), lr=2e-2)
    for s in range(1, steps + 1):
        i = torch.randint(0, len(x), (50,))
        loss = F.cross_entropy(model(x[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
        if s % 50 == 0:
            print(f"stage2 step {s} loss {loss.item():.4f}")
    with torch.no_grad():
        print("test accuracy", (model(xt).argmax(1) == yt).float().mean().item())


if __name__ == "__main__":
    ckpt = os.path.join(tempfile.mkdtemp(), "dae.pt")
    stage1(ckpt)
    stage2(ckpt)
