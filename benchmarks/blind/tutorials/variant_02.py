import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)

torch.manual_seed(0)
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")

cfg = {"x_dim": 64, "hidden_dim": 80, "latent_dim": 8, "lr": 2e-3, "batch_size": 50, "epochs": 6}


def build_dataset(n=2000):
    # points of a smooth eight-dimensional surface in 64 dimensions
    code = torch.randn(n, 8)
    lift = torch.randn(8, 64) / 8 ** 0.5
    return TensorDataset(torch.sigmoid(2 * torch.tanh(code @ lift)))


class Encoder(nn.Module):
    def __init__(self, input_dim, hidden_dim, latent_dim):
        super().__init__()
        self.FC_input = nn.Linear(input_dim, hidden_dim)
        self.FC_mean = nn.Linear(hidden_dim, latent_dim)
        self.FC_logvar = nn.Linear(hidden_dim, latent_dim)

    def forward(self, x):
        h_ = torch.relu(self.FC_input(x))
        return self.FC_mean(h_), self.FC_logvar(h_)


class Decoder(nn.Module):
    def __init__(self, latent_dim, hidden_dim, output_dim):
        super().__init__()
        self.FC_hidden = nn.Linear(latent_dim, hidden_dim)
        self.FC_output = nn.Linear(hidden_dim, output_dim)

    def forward(self, z):
        return torch.sigmoid(self.FC_output(torch.relu(self.FC_hidden(z))))


class Model(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.encoder = Encoder(cfg["x_dim"], cfg["hidden_dim"], cfg["latent_dim"])
        self.decoder = Decoder(cfg["latent_dim"], cfg["hidden_dim"], cfg["x_dim"])
        self.register_buffer("prior_mean", torch.zeros(cfg["latent_dim"]))
        self.prior_logvar = torch.zeros(cfg["latent_dim"])

    def forward(self, x):
        mean, log_var = self.encoder(x)
        std = torch.exp(0.5 * log_var)
        z = mean + std * torch.randn_like(std)
        return self.decoder(z), mean, log_var

    def kl(self, mean, log_var):
        ratio = (log_var - self.prior_logvar).exp()
        shift = (mean - self.prior_mean).pow(2) / self.prior_logvar.exp()
        return 0.5 * (ratio + shift - 1 - log_var + self.prior_logvar).sum(dim=1)


model = Model(cfg).to(DEVICE)
loader = DataLoader(build_dataset(), batch_size=cfg["batch_size"], shuffle=True)
optimizer = torch.optim.Adam(model.parameters(), lr=cfg["lr"])

print("Start training VAE...")
model.train()
for epoch in range(cfg["epochs"]):
    overall = 0.0
    for (x,) in loader:
        x = x.to(DEVICE)
        x_hat, mean, log_var = model(x)
        rec = nn.functional.mse_loss(x_hat, x, reduction="none").sum(dim=1) / (2 * 0.05 ** 2)
        loss = (rec + model.kl(mean, log_var)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        overall += loss.item()
    print(f"\tEpoch {epoch + 1}\tAverage loss: {overall / len(loader):.3f}")
print("Finish!")

model.eval()
with torch.no_grad():
    noise = torch.randn(16, cfg["latent_dim"], device=DEVICE)
    generated = model.decoder(noise)
print("samples:", generated.cpu().shape)
