# Click prediction: about one impression in ten is clicked.
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def impressions(n=2400):
    g = torch.Generator().manual_seed(2)
    x = torch.randn(n, 12, generator=g)
    clicked = (x[:, 0] + x[:, 1] + torch.randn(n, generator=g) > 2.2).float()
    return x, clicked


def train():
    torch.manual_seed(2)
    x, clicked = impressions()
    positives = clicked.sum()
    negatives = len(clicked) - positives
    pos_weight = negatives / positives
    model = torch.nn.Sequential(torch.nn.Linear(12, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(4):
        for features, y in DataLoader(TensorDataset(x, clicked), batch_size=64, shuffle=True):
            score = model(features).squeeze(1)
            loss = F.binary_cross_entropy_with_logits(score, y, pos_weight=pos_weight)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        recall = (model(x).squeeze(1) > 0)[clicked > 0].float().mean()
        print("epoch", epoch, "loss %.4f" % loss.item(), "recall %.2f" % recall)


train()
