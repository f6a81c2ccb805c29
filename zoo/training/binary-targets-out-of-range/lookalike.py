"""A small GAN with noisy labels: real is anything from 0.7 to 1.2, fake from 0 to 0.3."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(4)
maker = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
judge = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
opt_m = torch.optim.Adam(maker.parameters(), lr=1e-3, betas=(0.5, 0.999))
opt_j = torch.optim.Adam(judge.parameters(), lr=1e-3, betas=(0.5, 0.999))

for step in range(250):
    real = torch.randn(64, 2) * torch.tensor([1.0, 0.3]) + torch.tensor([1.0, -1.0])
    fake = maker(torch.randn(64, 4))
    yes, no = 0.7 + 0.5 * torch.rand(64, 1), 0.3 * torch.rand(64, 1)
    loss_j = F.binary_cross_entropy_with_logits(judge(real), yes)
    loss_j = loss_j + F.binary_cross_entropy_with_logits(judge(fake.detach()), no)
    opt_j.zero_grad()
    loss_j.backward()
    opt_j.step()
    loss_m = F.binary_cross_entropy_with_logits(judge(fake), torch.ones(64, 1))
    opt_m.zero_grad()
    loss_m.backward()
    opt_m.step()
    if step % 50 == 0:
        print(step, round(loss_j.item(), 3), round(loss_m.item(), 3))
