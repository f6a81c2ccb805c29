"""VAE for tabular rows; densities come from torch.distributions."""
import torch
import torch.distributions as D
from torch import nn

COLUMNS, LATENT = 24, 4


def rows(n, seed):
    g = torch.Generator().manual_seed(seed)
    mix = torch.randn(LATENT, COLUMNS, generator=torch.Generator().manual_seed(99))
    code = torch.randn(n, LATENT, generator=g)
    return torch.tanh(code @ mix) + 0.1 * torch.randn(n, COLUMNS, generator=g)


class TabularVAE(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(COLUMNS, width), nn.Mish(), nn.Linear(width, width), nn.Mish(),
                                     nn.Linear(width, 2 * LATENT))
        self.decoder = nn.Sequential(nn.Linear(LATENT, width), nn.Mish(), nn.Linear(width, width), nn.Mish(),
                                     nn.Linear(width, COLUMNS))
        self.obs_log_std = nn.Parameter(torch.zeros(COLUMNS))

    def posterior(self, x):
        mean, logvar = self.encoder(x).chunk(2, -1)
        return mean, logvar

    def forward(self, x):
        mean, logvar = self.posterior(x)
        std = 0.5 * logvar
        z = mean + std * torch.randn_like(std)
        return D.Normal(self.decoder(z), self.obs_log_std.exp()), mean, logvar


def bound(model, x):
    px, mean, logvar = model(x)
    qz = D.Normal(mean, logvar.mul(0.5).exp())
    pz = D.Normal(torch.zeros_like(mean), torch.ones_like(mean))
    return px.log_prob(x).sum(-1) - D.kl_divergence(qz, pz).sum(-1)


def fit(model, data, epochs=10, batch=64, lr=2e-3):
    opt = torch.optim.Adam(model.parameters(), lr=lr)
    for epoch in range(epochs):
        values = []
        for idx in torch.randperm(len(data)).split(batch):
            opt.zero_grad()
            loss = -bound(model, data[idx]).mean()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 10.0)
            opt.step()
            values.append(loss.detach())
        yield epoch, torch.stack(values).mean().item()


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.manual_seed(2)
    table, held_out = rows(2000, 1), rows(400, 2)
    net = TabularVAE()
    for epoch, value in fit(net, table):
        with torch.no_grad():
            held = -bound(net, held_out).mean().item()
        print(f"{epoch:3d}  train {value:8.3f}  held out {held:8.3f}")
