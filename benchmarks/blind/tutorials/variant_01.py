"""Variational autoencoder on little binary pictures (MLP, functional training code)."""
import torch
from torch import nn
import torch.nn.functional as F

torch.set_num_threads(1)

torch.manual_seed(3)
SIDE, HIDDEN, ZDIM = 12, 96, 6


def bars(n):
    """Pictures with a horizontal and a vertical bar at random places."""
    img = torch.zeros(n, SIDE, SIDE)
    r = torch.randint(0, SIDE - 2, (n,))
    c = torch.randint(0, SIDE - 2, (n,))
    for i in range(n):
        img[i, r[i]:r[i] + 2, :] = 1.0
        img[i, :, c[i]:c[i] + 2] = 1.0
    return img.reshape(n, -1)


def make_encoder():
    return nn.Sequential(
        nn.Linear(SIDE * SIDE, HIDDEN), nn.ReLU(),
        nn.Linear(HIDDEN, HIDDEN), nn.ReLU(),
        nn.Linear(HIDDEN, 2 * ZDIM),
    )


def make_decoder():
    return nn.Sequential(
        nn.Linear(ZDIM, HIDDEN), nn.ReLU(),
        nn.Linear(HIDDEN, HIDDEN), nn.ReLU(),
        nn.Linear(HIDDEN, SIDE * SIDE),
    )


def sample_latent(mu, logvar):
    return mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)


def negative_elbo(x, logits, mu, logvar):
    rec = F.binary_cross_entropy_with_logits(logits, x, reduction="sum")
    kl = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return (rec + kl) / x.size(0)


def run_epoch(encoder, decoder, data, opt, batch=64):
    order = torch.randperm(len(data))
    total = 0.0
    for start in range(0, len(data), batch):
        x = data[order[start:start + batch]]
        mu, logvar = encoder(x).chunk(2, dim=-1)
        z = sample_latent(mu, logvar)
        loss = negative_elbo(x, decoder(z), mu, logvar)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(x)
    return total / len(data)


def main():
    data = bars(1536)
    encoder, decoder = make_encoder(), make_decoder()
    params = list(decoder.parameters())
    opt = torch.optim.Adam(params, lr=1e-3)
    for epoch in range(12):
        value = run_epoch(encoder, decoder, data, opt)
        if epoch % 3 == 2:
            print(f"epoch {epoch + 1:3d}   -elbo {value:8.3f}")
    with torch.no_grad():
        pics = torch.sigmoid(decoder(torch.randn(4, ZDIM)))
    print("generated", tuple(pics.shape), "mean grey", round(pics.mean().item(), 3))


if __name__ == "__main__":
    main()
