"""Preference training against a reference model, which is a copy that stays as it was."""
import copy

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(2)
policy = nn.Sequential(nn.Embedding(16, 24), nn.Flatten(), nn.Linear(24 * 4, 16))
reference = copy.deepcopy(policy)
opt = torch.optim.Adam(policy.parameters(), lr=2e-3)
for step in range(150):
    prompt = torch.randint(0, 16, (32, 4))
    better, worse = prompt[:, :1], (prompt[:, :1] + 5) % 16
    log_policy = F.log_softmax(policy(prompt), 1)
    with torch.no_grad():
        log_reference = F.log_softmax(reference(prompt), 1)
    gain = (log_policy - log_reference).gather(1, better) - (log_policy - log_reference).gather(1, worse)
    loss = -F.logsigmoid(0.5 * gain).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 30 == 0:
        print(step, round(loss.item(), 4))
