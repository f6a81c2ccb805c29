"""Own activation with hand-written gradient; it is checked numerically before training."""
import torch
from torch import nn
from torch.autograd import Function, gradcheck


class SwishFunction(Function):
    @staticmethod
    def forward(ctx, x, beta):
        s = torch.sigmoid(beta * x)
        ctx.save_for_backward(x, s, beta)
        return x * s

    @staticmethod
    def backward(ctx, grad_out):
        x, s, beta = ctx.saved_tensors
        grad_x = grad_out * (s + x * s * (1 - s))
        grad_beta = (grad_out * x * x * s * (1 - s)).sum()
        return grad_x, grad_beta


class Swish(nn.Module):
    def __init__(self):
        super().__init__()
        self.beta = nn.Parameter(torch.tensor(1.0))

    def forward(self, x):
        return SwishFunction.apply(x, self.beta)


def verify():
    x = torch.randn(6, 4, dtype=torch.double, requires_grad=True)
    beta = torch.tensor(1.7, dtype=torch.double, requires_grad=True)
    ok = gradcheck(SwishFunction.apply, (x, beta), eps=1e-6, atol=1e-5)
    print("gradient of the activation verified:", ok)


def train(steps=600):
    x = torch.linspace(-3, 3, 400).unsqueeze(1)
    y = torch.sin(2 * x) + 0.3 * x
    net = nn.Sequential(nn.Linear(1, 40), Swish(), nn.Linear(40, 40), Swish(), nn.Linear(40, 1))
    optim = torch.optim.Adam(net.parameters(), lr=3e-3)
    for step in range(steps):
        loss = nn.functional.mse_loss(net(x), y)
        optim.zero_grad()
        loss.backward()
        optim.step()
        if step % 100 == 0:
            print(f"{step:4d} {loss.item():.5f}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.manual_seed(2)
    verify()
    train()
