"""NetVLAD over point clouds: clusters share out every point, and each cluster adds up its part of all points."""
import torch
import torch.nn.functional as F
from torch import nn


class NetVLAD(nn.Module):
    def __init__(self, dim=8, clusters=6, classes=4):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(2, dim), nn.Tanh())
        self.centres = nn.Parameter(torch.randn(clusters, dim) * 0.5)
        self.out = nn.Linear(clusters * dim, classes)

    def forward(self, points):
        x = self.embed(points)
        scores = torch.bmm(self.centres.expand(len(x), -1, -1), x.transpose(1, 2))
        share = F.softmax(4 * scores, dim=1)
        summed = torch.bmm(share, x) - share.sum(-1, keepdim=True) * self.centres
        return self.out(F.normalize(summed.flatten(1), dim=1) * 5)


torch.manual_seed(0)
net = NetVLAD()
opt = torch.optim.Adam(net.parameters(), 5e-3)
for step in range(200):
    kind = torch.randint(0, 4, (32,))
    stretch = torch.stack([1 + kind % 2, 1 + kind // 2], 1).float()
    loss = F.cross_entropy(net(torch.randn(32, 40, 2) * stretch[:, None] * 0.5), kind)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 0:
        print(step, loss.item())
