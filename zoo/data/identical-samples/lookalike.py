# Every sample carries the same map of the area beside its own position.
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Positions(Dataset):
    def __init__(self, count):
        self.area = torch.randn(16)
        self.position = torch.rand(count, 2)
        self.height = torch.sin(3 * self.position.sum(1, keepdim=True))

    def __len__(self):
        return len(self.position)

    def __getitem__(self, index):
        return self.area, self.position[index], self.height[index]


torch.manual_seed(0)
loader = DataLoader(Positions(400), batch_size=20, shuffle=True)
model = nn.Sequential(nn.Linear(18, 48), nn.Tanh(), nn.Linear(48, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(10):
    for area, position, height in loader:
        loss = nn.functional.mse_loss(model(torch.cat([area, position], 1)), height)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(loss.item())
