"""Clean noisy two-channel signals with a convolutional autoencoder."""
import torch
from torch import nn


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv1d(2, 16, 5, padding=2), nn.ReLU())
        self.decoder = nn.Conv1d(16, 2, 5, padding=2)

    def forward(self, x):
        return self.decoder(self.encoder(x.transpose(1, 2)))


class Trainer:
    def __init__(self, model):
        self.model = model
        self.criterion = nn.MSELoss()
        self.optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def step(self, noisy, target):
        prediction = self.model(noisy)
        loss = self.criterion(prediction, target)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


torch.manual_seed(16)
trainer = Trainer(Denoiser())
for step in range(60):
    t = torch.arange(30) * 0.3 + 6 * torch.rand(16, 1)
    clean = torch.stack([t.sin(), t.cos()], dim=-1)
    loss = trainer.step(clean + 0.3 * torch.randn_like(clean), clean)
    if step % 10 == 0:
        print(f"step {step} mse {loss:.4f}")
