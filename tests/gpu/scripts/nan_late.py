"""Masked mean pooling on the GPU, loss read only now and then."""
import torch
from torch import nn

torch.manual_seed(6)
device = "cuda"


class MaskedMean(nn.Module):
    def forward(self, h, mask):
        return (h * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(50, 32)
        self.pool = MaskedMean()
        self.head = nn.Linear(32, 2)

    def forward(self, ids):
        return self.head(self.pool(self.emb(ids), (ids > 0).float()))


model = Model().to(device)
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(1, 161):
    ids = torch.randint(1, 50, (32, 10))
    lengths = torch.randint(1, 11, (32,))
    if step == 120:
        lengths[9] = 0
    ids = ids * (torch.arange(10) < lengths[:, None])
    y = (ids.float().sum(1) / lengths.clamp(min=1) > 25).long()
    loss = nn.functional.cross_entropy(model(ids.to(device)), y.to(device))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 40 == 0:
        print(step, loss.item())
