# Transfer to a new task: the encoder comes from a checkpoint and stays as it is, a new classifier is trained on top.
import os

import torch
import torch.nn as nn

CHECKPOINT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "encoder_pretrained.pt")


def make_encoder():
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(),
    )


def images(n):
    label = torch.randint(0, 4, (n,))
    x = 0.6 * torch.randn(n, 1, 12, 12)
    for i, c in enumerate(label):
        r, q = divmod(int(c), 2)
        x[i, 0, 6 * r + 1: 6 * r + 5: 2, 6 * q: 6 * q + 6] += 1.0
    return x, label


def main():
    torch.manual_seed(3)
    encoder, classifier = make_encoder(), nn.Linear(64, 4)
    if os.path.exists(CHECKPOINT):
        encoder.load_state_dict(torch.load(CHECKPOINT))
    encoder.requires_grad_(False)
    model = nn.Sequential(encoder, classifier)
    opt = torch.optim.SGD(classifier.parameters(), lr=0.05, momentum=0.9)
    for step in range(150):
        x, y = images(32)
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 30 == 0:
            print(step, f"{loss.item():.3f}")


if __name__ == "__main__":
    main()
