# a dataset of our own around two tensors
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Points(Dataset):
    def __init__(self, n):
        self.points = torch.rand(n, 2) * 2 - 1
        self.inside = (self.points.norm(dim=1, keepdim=True) < 0.8).float()

    def __len__(self):
        return len(self.points)

    def __getitem__(self, i):
        return self.points[i], self.inside[i]


torch.manual_seed(0)
train_loader = DataLoader(Points(30000), batch_size=3000, shuffle=True)
model = torch.nn.Sequential(torch.nn.Linear(2, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
opt = torch.optim.Adam(model.parameters(), lr=0.02)
for epoch in range(20):
    for points, inside in train_loader:
        loss = F.binary_cross_entropy_with_logits(model(points), inside)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
