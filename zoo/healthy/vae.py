"""Variational autoencoder on synthetic 8x8 binary digits-like pictures."""
import torch
import torch.nn.functional as F
from torch import nn, optim

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(64, 48)
        self.fc21 = nn.Linear(48, 4)
        self.fc22 = nn.Linear(48, 4)
        self.fc3 = nn.Linear(4, 48)
        self.fc4 = nn.Linear(48, 64)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        eps = torch.randn_like(std)
        return mu + eps * std

    def decode(self, z):
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z))))

    def forward(self, x):
        mu, logvar = self.encode(x.view(-1, 64))
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar


def loss_function(recon_x, x, mu, logvar):
    bce = F.binary_cross_entropy(recon_x, x.view(-1, 64), reduction="sum")
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return bce + kld


def pictures(n):
    rows, cols = torch.randint(0, 6, (2, n))
    i = torch.arange(8)
    vertical = (i[None, None, :] - cols[:, None, None]).abs() < 2
    horizontal = (i[None, :, None] - rows[:, None, None]).abs() < 1
    return (vertical | horizontal).float()


def main():
    torch.manual_seed(1)
    model = VAE().to(device)
    optimizer = optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(1, 9):
        model.train()
        train_loss = 0.0
        for _ in range(30):
            data = pictures(64).to(device)
            optimizer.zero_grad()
            recon_batch, mu, logvar = model(data)
            loss = loss_function(recon_batch, data, mu, logvar)
            loss.backward()
            train_loss += loss.item()
            optimizer.step()
        print("====> Epoch: {} Average loss: {:.4f}".format(epoch, train_loss / (30 * 64)))


if __name__ == "__main__":
    main()
