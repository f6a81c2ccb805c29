"""A small VAE with a Trainer class."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from toy_pictures import stripes


class VariationalAutoencoder(nn.Module):
    def __init__(self, n_pixels=256, layers=(128, 64), n_latent=8):
        super().__init__()
        enc, last = [], n_pixels
        for width in layers:
            enc += [nn.Linear(last, width), nn.LeakyReLU(0.1)]
            last = width
        self.backbone = nn.Sequential(*enc)
        self.mu = nn.Linear(last, n_latent)
        self.log_sigma = nn.Linear(last, n_latent)
        dec, last = [], n_latent
        for width in reversed(layers):
            dec += [nn.Linear(last, width), nn.LeakyReLU(0.1)]
            last = width
        dec.append(nn.Linear(last, n_pixels))
        self.generator = nn.Sequential(*dec)

    def forward(self, x):
        h = self.backbone(x)
        mu, log_sigma = self.mu(h), self.log_sigma(h).clamp(-5, 2)
        z = mu + log_sigma.exp() * torch.randn_like(mu)
        return {"logits": self.generator(z), "mu": mu, "log_sigma": log_sigma}


class Trainer:
    def __init__(self, model, train_set, valid_set, lr=1e-3, batch_size=64):
        self.model = model
        self.train_loader = DataLoader(train_set, batch_size=batch_size, shuffle=True)
        self.valid_loader = DataLoader(valid_set, batch_size=256)
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.bce = nn.BCEWithLogitsLoss(reduction="none")
        self.log = []

    def losses(self, x):
        out = self.model(x)
        nll = self.bce(out["logits"], x).sum(-1)
        kl = (0.5 * (out["mu"] ** 2 + (2 * out["log_sigma"]).exp() - 1) - out["log_sigma"]).sum(-1)
        return nll.mean(), kl.mean()

    def fit(self, epochs):
        for epoch in range(epochs):
            self.model.train()
            total, batches = 0.0, 0
            for x, _ in self.train_loader:
                nll, kl = self.losses(x.flatten(1))
                loss = nll + kl
                loss.backward()
                self.optimizer.step()
                total += loss.item()
                batches += 1
            self.log.append({"epoch": epoch, "train": total / batches, "valid": self.validate()})
            print(self.log[-1])

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        values = [sum(self.losses(x.flatten(1))).item() for x, _ in self.valid_loader]
        return sum(values) / len(values)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(42)
    train_set = TensorDataset(*stripes(1920))
    valid_set = TensorDataset(*stripes(512))
    trainer = Trainer(VariationalAutoencoder(), train_set, valid_set)
    trainer.fit(epochs=6)
    print("best validation value", min(row["valid"] for row in trainer.log))


main()
