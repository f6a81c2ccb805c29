# Two heads: log-probabilities of the coarse class are added to the scores of the fine ones.
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
body = nn.Sequential(nn.Linear(6, 32), nn.ReLU())
coarse, fine = nn.Linear(32, 2), nn.Linear(32, 6)
optimizer = torch.optim.Adam([*body.parameters(), *coarse.parameters(), *fine.parameters()], lr=5e-3)
group = torch.tensor([0, 0, 0, 1, 1, 1])
for step in range(200):
    x = torch.randn(64, 6)
    label = x.argmax(1)
    hidden = body(x)
    coarse_log = F.log_softmax(coarse(hidden), dim=1)
    scores = fine(hidden) + coarse_log[:, group]
    loss = F.cross_entropy(scores, label) + F.nll_loss(coarse_log, group[label])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 0:
        print(step, loss.item())
