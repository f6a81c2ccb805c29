"""Conditional VAE: stripes of four directions, the label is given to both halves."""
import argparse

import torch
from torch import nn, optim
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

from toy_pictures import stripes


class CVAE(nn.Module):
    def __init__(self, pixels, classes, latent, hidden=160):
        super().__init__()
        self.classes = classes
        self.latent = latent
        self.recognition = nn.Sequential(nn.Linear(pixels + classes, hidden), nn.Tanh())
        self.fc_mean = nn.Linear(hidden, latent)
        self.fc_logvar = nn.Linear(hidden, latent)
        self.generation = nn.Sequential(nn.Linear(latent + classes, hidden), nn.ReLU(),
                                        nn.Linear(hidden, hidden), nn.ReLU(),
                                        nn.Linear(hidden, pixels))

    def onehot(self, y):
        return F.one_hot(y, self.classes).float()

    def forward(self, x, y):
        c = self.onehot(y)
        h = self.recognition(torch.cat([x, c], dim=1))
        mean, logvar = self.fc_mean(h), self.fc_logvar(h)
        std = logvar.exp()
        z = mean + std * torch.randn_like(std)
        return self.generation(torch.cat([z, c], dim=1)), mean, logvar

    @torch.no_grad()
    def sample(self, y):
        z = torch.randn(len(y), self.latent, device=y.device)
        return torch.sigmoid(self.generation(torch.cat([z, self.onehot(y)], dim=1)))


def main(args):
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    x, y = stripes(1600, classes=4)
    loader = DataLoader(TensorDataset(x.flatten(1), y), batch_size=args.batch, shuffle=True, drop_last=True)
    model = CVAE(256, 4, args.latent)
    opt = optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        sums = {"nll": 0.0, "kl": 0.0}
        for xb, yb in loader:
            logits, mean, logvar = model(xb, yb)
            nll = F.binary_cross_entropy_with_logits(logits, xb, reduction="none").sum(1).mean()
            kl = torch.mean(0.5 * torch.sum(mean.pow(2) + logvar.exp() - 1.0 - logvar, dim=1))
            opt.zero_grad()
            (nll + kl).backward()
            opt.step()
            sums["nll"] += nll.item() / len(loader)
            sums["kl"] += kl.item() / len(loader)
        print(epoch, " ".join(f"{k}={v:.2f}" for k, v in sums.items()))
    print("one sample per class:", tuple(model.sample(torch.arange(4)).shape))


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=10)
    ap.add_argument("--batch", type=int, default=50)
    ap.add_argument("--latent", type=int, default=6)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--seed", type=int, default=0)
    main(ap.parse_args())
