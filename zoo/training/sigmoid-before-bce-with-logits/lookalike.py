"""A gated network with focal loss: sigmoids inside the model and beside the loss, none between them."""
import torch
import torch.nn.functional as F
from torch import nn


class Gated(nn.Module):
    def __init__(self, features, hidden):
        super().__init__()
        self.value = nn.Linear(features, hidden)
        self.gate = nn.Sequential(nn.Linear(features, hidden), nn.Sigmoid())
        self.score = nn.Linear(hidden, 1)

    def forward(self, x):
        return self.score(torch.tanh(self.value(x)) * self.gate(x)).squeeze(1)


def focal_loss(scores, labels, gamma=2.0):
    bce = F.binary_cross_entropy_with_logits(scores, labels, reduction="none")
    right = torch.where(labels > 0, torch.sigmoid(scores), torch.sigmoid(-scores))
    return ((1 - right) ** gamma * bce).mean()


def main():
    torch.manual_seed(1)
    model = Gated(12, 48)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(300):
        x = torch.randn(96, 12)
        labels = (x[:, 0] * x[:, 1] > 0.3).float()
        loss = focal_loss(model(x), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 60 == 0:
            print(step, f"{loss.item():.4f}")


main()
