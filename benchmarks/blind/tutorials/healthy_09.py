"""Importance weighted autoencoder, K samples."""
import math

import torch
from torch import nn
from torch.distributions import Bernoulli, Normal

from toy_pictures import stripes


class IWAE(nn.Module):
    def __init__(self, latent=6, hidden=100):
        super().__init__()
        self.q = nn.Sequential(nn.Linear(256, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(),
                               nn.Linear(hidden, 2 * latent))
        self.p = nn.Sequential(nn.Linear(latent, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(),
                               nn.Linear(hidden, 256))

    def log_weights(self, x, k):
        mu, logvar = self.q(x).chunk(2, -1)
        qz = Normal(mu, torch.exp(0.5 * logvar))
        z = qz.rsample((k,))
        log_q = qz.log_prob(z).sum(-1)
        log_pz = Normal(0.0, 1.0).log_prob(z).sum(-1)
        log_px = Bernoulli(logits=self.p(z)).log_prob(x.expand(k, *x.shape)).sum(-1)
        return log_px + log_pz - log_q

    def bound(self, x, k):
        return torch.logsumexp(self.log_weights(x, k), dim=0) - math.log(k)


def evaluate(model, x, k=50):
    with torch.no_grad():
        return -model.bound(x, k).mean().item()


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.manual_seed(77)
    train_x = stripes(1200)[0].flatten(1)
    valid_x = stripes(100)[0].flatten(1)
    model = IWAE()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3, eps=1e-4)
    for epoch in range(6):
        model.train()
        for ids in torch.randperm(len(train_x)).split(40):
            loss = -model.bound(train_x[ids], k=5).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        model.eval()
        print(f"epoch {epoch}: validation nll {evaluate(model, valid_x):.2f}")
