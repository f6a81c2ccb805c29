"""A learned potential: forces are derivatives of its energy, so the validation needs the graph."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Potential(nn.Module):
    def __init__(self):
        super().__init__()
        self.energy = nn.Sequential(nn.Linear(3, 48), nn.Tanh(), nn.Linear(48, 1))

    def forward(self, position):
        position = position.detach().requires_grad_(True)
        energy = self.energy(position)
        (force,) = torch.autograd.grad(-energy.sum(), position, create_graph=self.training)
        return energy, force


torch.manual_seed(1)
position = torch.randn(600, 3)
force = -position * position.pow(2).sum(1, keepdim=True)
train_loader = DataLoader(TensorDataset(position[:450], force[:450]), batch_size=50, shuffle=True)
val_loader = DataLoader(TensorDataset(position[450:], force[450:]), batch_size=50)
model = Potential()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(10):
    model.train()
    for p, f in train_loader:
        loss = nn.functional.mse_loss(model(p)[1], f)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    error = sum(nn.functional.mse_loss(model(p)[1], f).item() for p, f in val_loader)
    print(epoch, round(loss.item(), 4), round(error / len(val_loader), 4))
