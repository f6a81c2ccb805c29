# A denoiser: every sample gets fresh noise, in validation too, because noise is the task.
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Noisy(Dataset):
    def __init__(self, clean):
        self.clean = clean

    def __len__(self):
        return len(self.clean)

    def __getitem__(self, index):
        clean = self.clean[index]
        return clean + 0.5 * torch.randn_like(clean), clean


torch.manual_seed(0)
clean = torch.randn(400, 4) @ torch.randn(4, 20)
train_loader = DataLoader(Noisy(clean[:320]), batch_size=32, shuffle=True)
val_loader = DataLoader(Noisy(clean[320:]), batch_size=40)
model = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 20))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(12):
    model.train()
    for noisy, wanted in train_loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(noisy), wanted)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        error = sum(nn.functional.mse_loss(model(noisy), wanted).item() for noisy, wanted in val_loader) / 2
print(loss.item(), error)
