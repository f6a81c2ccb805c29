import torch
from torch import nn, optim
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

from toy_pictures import gaussian_blobs

device = "cuda" if torch.cuda.is_available() else "cpu"


class VAE(nn.Module):
    def __init__(self, n_in=256, n_hidden=120, n_latent=4):
        super().__init__()
        self.fc1 = nn.Linear(n_in, n_hidden)
        self.fc21 = nn.Linear(n_hidden, n_latent)
        self.fc22 = nn.Linear(n_hidden, n_latent)
        self.fc3 = nn.Linear(n_latent, n_hidden)
        self.fc4 = nn.Linear(n_hidden, n_in)

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
        mu, logvar = self.encode(x.view(-1, 256))
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar


def loss_function(recon_x, x, mu, logvar):
    BCE = F.binary_cross_entropy(recon_x, x.view(-1, 256), reduction="sum")
    KLD = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return BCE + KLD


def train(epoch, model, loader, optimizer):
    model.train()
    train_loss = 0
    for data, in loader:
        data = data.to(device)
        optimizer.zero_grad()
        recon_batch, mu, logvar = model(data)
        loss = loss_function(recon_batch, data, mu, logvar)
        loss.backward()
        train_loss += loss.item()
        optimizer.step()
    print(f"====> Epoch: {epoch} Average loss: {train_loss / len(loader.dataset):.4f}")


@torch.no_grad()
def test(model, loader):
    model.eval()
    test_loss = 0
    for data, in loader:
        data = data.to(device)
        recon_batch, mu, logvar = model(data)
        test_loss += loss_function(recon_batch, data, mu, logvar).item()
    print(f"====> Test set loss: {test_loss / len(loader.dataset):.4f}")


@torch.no_grad()
def interpolate(model, first, second, count=8):
    """Decode the points of a straight line between two pictures."""
    a, _ = model.encode(first.view(1, -1))
    b, _ = model.encode(second.view(1, -1))
    t = torch.linspace(0, 1, count).unsqueeze(1)
    z = (1 - t) * a + t * b
    return model.decode(z).view(count, 16, 16).cpu()


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.manual_seed(1)
    train_loader = DataLoader(TensorDataset(gaussian_blobs(1800)), batch_size=60, shuffle=True)
    test_set = gaussian_blobs(300)
    test_loader = DataLoader(TensorDataset(test_set), batch_size=100)
    model = VAE().to(device)
    optimizer = optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(1, 9):
        train(epoch, model, train_loader, optimizer)
        if epoch % 4 == 0:
            test(model, test_loader)
    strip = interpolate(model, test_set[0].to(device), test_set[1].to(device))
    print("strip of", len(strip), "pictures, brightest pixel", strip.max().item())
