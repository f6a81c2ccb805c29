"""VAE of short token rows: the encoder reads all of a row, the decoder only its code of eight numbers."""
import torch
from torch import nn

WORDS, LENGTH = 16, 10


class RowVAE(nn.Module):
    def __init__(self, width=32, latent=8):
        super().__init__()
        self.words = nn.Embedding(WORDS, width)
        self.places = nn.Parameter(0.1 * torch.randn(LENGTH, width))
        self.reader = nn.TransformerEncoderLayer(width, 4, 64, dropout=0.0, batch_first=True)
        self.code = nn.Linear(LENGTH * width, 2 * latent)
        self.opening = nn.Linear(latent, (LENGTH - 1) * width)
        self.writer = nn.Sequential(nn.Linear(width, 64), nn.ReLU(), nn.Linear(64, WORDS))

    def forward(self, rows):
        read = self.reader(self.words(rows) + self.places)
        mean, log_var = self.code(read.flatten(1)).chunk(2, 1)
        z = mean + torch.exp(0.5 * log_var) * torch.randn_like(mean)
        return self.writer(self.opening(z).view(len(rows), LENGTH - 1, -1)), mean, log_var


torch.manual_seed(0)
model = RowVAE()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(120):
    begin, stride = torch.randint(WORDS, (32, 1)), torch.randint(1, 4, (32, 1))
    rows = (begin + stride * torch.arange(LENGTH)) % WORDS
    scores, mean, log_var = model(rows)
    error = nn.functional.cross_entropy(scores.reshape(-1, WORDS), rows[:, 1:].reshape(-1), reduction="sum")
    kl = -0.5 * torch.sum(1 + log_var - mean ** 2 - log_var.exp())
    loss = (error + 0.1 * kl) / len(rows)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 0:
        print(step, loss.item())
