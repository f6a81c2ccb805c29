"""Policy with an entropy bonus and a domain critic whose error is to be large."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(7)
features = nn.Sequential(nn.Linear(8, 24), nn.ReLU())
label_head = nn.Linear(24, 3)
domain_head = nn.Linear(24, 1)
main_opt = torch.optim.Adam([*features.parameters(), *label_head.parameters()], lr=5e-3)
domain_opt = torch.optim.Adam(domain_head.parameters(), lr=5e-3)

for step in range(200):
    domain = (torch.arange(64) % 2).float().unsqueeze(1)
    x = torch.randn(64, 8)
    y = (x[:, 0] > 0).long() + (x[:, 1] > 0.5).long()
    x[:, 7] = x[:, 7] + domain.squeeze(1)
    hidden = features(x)
    guess = F.binary_cross_entropy_with_logits(domain_head(hidden.detach()), domain)
    domain_opt.zero_grad()
    guess.backward()
    domain_opt.step()

    scores = label_head(hidden)
    p = F.softmax(scores, dim=1)
    entropy = -(p * p.clamp(min=1e-6).log()).sum(1).mean()
    confusion = F.binary_cross_entropy_with_logits(domain_head(hidden), domain)
    loss = F.cross_entropy(scores, y) - 0.1 * confusion - 0.01 * entropy
    main_opt.zero_grad()
    loss.backward()
    main_opt.step()
    if step % 40 == 0:
        print(step, round(loss.item(), 4), round(guess.item(), 4))
