"""WGAN with a gradient penalty, five critic updates to one of the generator."""
import torch
from torch import autograd, nn

N_CRITIC = 5
LAMBDA = 1.0


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, z):
        return self.main(z)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(nn.Linear(1, 32), nn.SiLU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.main(x)


def penalty(critic, real, fake):
    mix = torch.rand(len(real), 1)
    between = (mix * real + (1 - mix) * fake).requires_grad_()
    gradient, = autograd.grad(critic(between).sum(), between, create_graph=True)
    return ((gradient.norm(2, dim=1) - 1) ** 2).mean()


def main():
    torch.manual_seed(0)
    generator, critic = Generator(), Critic()
    opt_g = torch.optim.RMSprop(generator.parameters(), lr=2e-3)
    opt_c = torch.optim.RMSprop(critic.parameters(), lr=3e-3)
    for iteration in range(101):
        for _ in range(N_CRITIC):
            real = 3 + 0.5 * torch.randn(64, 1)
            fake = generator(torch.randn(64, 4)).detach()
            loss_c = critic(fake).mean() - critic(real).mean() + LAMBDA * penalty(critic, real, fake)
            opt_c.zero_grad()
            loss_c.backward()
            opt_c.step()
        samples = generator(torch.randn(64, 4))
        loss_g = -critic(samples).mean()
        opt_g.zero_grad()
        loss_g.backward()
        opt_g.step()
        if iteration % 20 == 0:
            print(f"iter {iteration}: critic {loss_c.item():+.3f}, sample mean {samples.mean().item():.2f} (wanted 3.00)")


if __name__ == "__main__":
    main()
