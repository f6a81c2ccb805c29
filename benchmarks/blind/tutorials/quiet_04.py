"""Quantisation-aware training: 4-bit weights and 6-bit activations, straight-through rounding."""
import torch
from torch import nn
import torch.nn.functional as F


class RoundSTE(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return torch.round(x)

    @staticmethod
    def backward(ctx, g):
        return g


def quantize_weight(w, bits):
    top = 2 ** (bits - 1) - 1
    scale = w.detach().abs().max().clamp(min=1e-8) / top
    return RoundSTE.apply(w / scale).clamp(-top, top) * scale


class QuantReLU(nn.Module):
    def __init__(self, bits=6, momentum=0.05):
        super().__init__()
        self.levels, self.momentum = 2 ** bits - 1, momentum
        self.register_buffer("peak", torch.tensor(3.0))

    def forward(self, x):
        x = F.relu(x)
        if self.training:
            self.peak.lerp_(x.detach().max(), self.momentum)
        scale = self.peak.clone() / self.levels
        return RoundSTE.apply((x / scale).clamp(max=self.levels)) * scale


class QuantLinear(nn.Linear):
    bits = 4

    def forward(self, x):
        return F.linear(x, quantize_weight(self.weight, self.bits), self.bias)


def make(n, dim=16):
    x = torch.randn(n, dim)
    y = ((x[:, 0] * x[:, 1] > 0).long() + 2 * (x[:, 2:5].sum(1) > 0).long())
    return x, y


def main():
    torch.set_num_threads(1)
    torch.manual_seed(3)
    x, y = make(2400)
    vx, vy = make(400)
    net = nn.Sequential(QuantLinear(16, 64), QuantReLU(), QuantLinear(64, 64), QuantReLU(), QuantLinear(64, 4))
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    for epoch in range(10):
        net.train()
        for ids in torch.randperm(len(x)).split(60):
            loss = F.cross_entropy(net(x[ids]), y[ids])
            opt.zero_grad()
            loss.backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            out = net(vx)
        print(f"epoch {epoch} loss {F.cross_entropy(out, vy).item():.3f} accuracy {(out.argmax(1) == vy).float().mean().item():.3f}")


if __name__ == "__main__":
    main()
