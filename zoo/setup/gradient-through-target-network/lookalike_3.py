"""Domain adaptation: the target encoder starts as the source encoder and is then trained to fool a judge."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(8)


def encoder():
    return nn.Sequential(nn.Linear(8, 24), nn.ReLU(), nn.Linear(24, 6))


source_encoder, target_encoder = encoder(), encoder()
classifier, judge = nn.Linear(6, 3), nn.Linear(6, 1)
centers = 2 * torch.randn(3, 8)


def sample(shift):
    label = torch.randint(0, 3, (48,))
    return centers[label] + shift + 0.5 * torch.randn(48, 8), label


first = torch.optim.Adam([*source_encoder.parameters(), *classifier.parameters()], lr=5e-3)
for step in range(60):
    x, y = sample(0.0)
    loss = F.cross_entropy(classifier(source_encoder(x)), y)
    first.zero_grad()
    loss.backward()
    first.step()

target_encoder.load_state_dict(source_encoder.state_dict())
adapt = torch.optim.Adam(target_encoder.parameters(), lr=1e-3)
judging = torch.optim.Adam(judge.parameters(), lr=1e-3)
for step in range(80):
    near, far = sample(0.0)[0], sample(0.7)[0]
    with torch.no_grad():
        real = source_encoder(near)
    fake = target_encoder(far)
    verdict = F.softplus(-judge(real)).mean() + F.softplus(judge(fake.detach())).mean()
    judging.zero_grad()
    verdict.backward()
    judging.step()
    fooling = F.softplus(-judge(fake)).mean()
    adapt.zero_grad()
    fooling.backward()
    adapt.step()
    if step % 20 == 0:
        print(step, round(verdict.item(), 4), round(fooling.item(), 4))
