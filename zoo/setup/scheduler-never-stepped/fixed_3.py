"""Domain-adversarial training: features and a domain critic, each with optimizer and schedule."""
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR, StepLR


@dataclass
class State:
    features: nn.Module
    label: nn.Module
    domain: nn.Module
    log: list = field(default_factory=list)


def blobs(n, shift):
    y = torch.randint(0, 3, (n,))
    return torch.eye(3)[y].repeat(1, 4) * 2 + shift + torch.randn(n, 12) * 0.5, y


def main():
    torch.manual_seed(31)
    s = State(nn.Sequential(nn.Linear(12, 32), nn.ReLU()), nn.Linear(32, 3),
              nn.Sequential(nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 1)))
    task_opt = torch.optim.SGD([*s.features.parameters(), *s.label.parameters()], lr=0.3, momentum=0.9)
    domain_opt = torch.optim.Adam(s.domain.parameters(), lr=1e-2)
    epochs, batches = 12, 20
    task_sched = CosineAnnealingLR(task_opt, T_max=epochs)
    domain_sched = StepLR(domain_opt, step_size=4, gamma=0.3)
    for epoch in range(epochs):
        for _ in range(batches):
            xs, ys = blobs(32, 0.0)
            xt, _ = blobs(32, 0.7)
            z = s.features(torch.cat([xs, xt]))
            where = torch.cat([torch.zeros(32, 1), torch.ones(32, 1)])
            domain_loss = F.binary_cross_entropy_with_logits(s.domain(z.detach()), where)
            domain_opt.zero_grad()
            domain_loss.backward()
            domain_opt.step()
            task_loss = F.cross_entropy(s.label(z[:32]), ys) - 0.05 * F.binary_cross_entropy_with_logits(s.domain(z), where)
            task_opt.zero_grad()
            task_loss.backward()
            task_opt.step()
        domain_sched.step()
        task_sched.step()
        s.log.append((task_loss.item(), domain_loss.item()))
        print(epoch, s.log[-1], task_opt.param_groups[0]["lr"])


main()
