# Prototypes of classes, compared with features that are computed under autocast.
import torch
import torch.nn as nn

torch.manual_seed(9)
encoder = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 16))
prototypes = nn.Parameter(torch.randn(5, 16))
optimizer = torch.optim.Adam([*encoder.parameters(), prototypes], lr=5e-3)
centers = torch.randn(5, 20)


def train(steps):
    for step in range(steps):
        labels = torch.randint(0, 5, (40,))
        x = centers[labels] + 0.7 * torch.randn(40, 20)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            features = encoder(x)
        similarity = features @ prototypes.T
        loss = nn.functional.cross_entropy(similarity, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            print("step", step, "loss", round(loss.item(), 4))


train(80)
