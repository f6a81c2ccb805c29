"""Plain VAE, one hidden layer, binary cross-entropy."""
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

from toy_pictures import stripes

torch.set_num_threads(1)
torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(256, 150)
        self.fc_mu = nn.Linear(150, 8)
        self.fc_logvar = nn.Linear(150, 8)
        self.fc3 = nn.Linear(8, 150)
        self.fc4 = nn.Linear(150, 256)

    def encode(self, x):
        h = F.relu(self.fc1(x))
        return self.fc_mu(h), self.fc_logvar(h)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return mu + std * torch.randn_like(std)

    def decode(self, z):
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z))))

    def forward(self, x):
        mu, logvar = self.encode(x)
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar


def loss_function(recon, x, mu, logvar):
    bce = F.binary_cross_entropy(recon, x, reduction="sum")
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return (bce + kld) / len(x)


pictures, _ = stripes(1500)
loader = DataLoader(TensorDataset(pictures.flatten(1)), batch_size=50, shuffle=True)
model = VAE().to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(10):
    model.train()
    total = 0.0
    for (x,) in loader:
        x = x.to(device)
        recon, mu, logvar = model(x)
        loss = loss_function(recon, x, mu, logvar)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch}: {total / len(loader):.2f}")

model.eval()
with torch.no_grad():
    out = model.decode(torch.randn(9, 8, device=device)).view(9, 16, 16)
print("samples", tuple(out.shape))
