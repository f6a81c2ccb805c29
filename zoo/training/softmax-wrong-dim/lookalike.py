"""Contrastive matching of two views: softmax along rows and along columns, on purpose."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(6)
left = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 8))
right = nn.Sequential(nn.Linear(9, 32), nn.ReLU(), nn.Linear(32, 8))
mix_left, mix_right = torch.randn(5, 12), torch.randn(5, 9)
opt = torch.optim.Adam([*left.parameters(), *right.parameters()], lr=3e-3)
diagonal = torch.arange(40)
for step in range(250):
    hidden = torch.randn(40, 5)
    a = F.normalize(left(hidden @ mix_left), dim=1)
    b = F.normalize(right(hidden @ mix_right), dim=1)
    similarity = a @ b.T / 0.2
    rows = F.nll_loss(F.log_softmax(similarity, dim=1), diagonal)
    columns = F.nll_loss(F.log_softmax(similarity, dim=0), diagonal)
    loss = (rows + columns) / 2
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 0:
        print(step, f"{loss.item():.4f}")
