"""Softmax regression from zero weights: convex, one layer, nothing to break; and a zero-filled embedding."""
import torch
from torch import nn

torch.manual_seed(3)
embedding = nn.Embedding(40, 10)
nn.init.zeros_(embedding.weight)
classifier = nn.Linear(10 + 6, 5)
nn.init.zeros_(classifier.weight)
optimizer = torch.optim.SGD([*embedding.parameters(), *classifier.parameters()], lr=0.5, momentum=0.9)
truth = torch.randn(5, 6)
bonus = 2 * torch.randn(40, 5)

for step in range(400):
    ids = torch.randint(0, 40, (64,))
    x = torch.randn(64, 6)
    y = (x @ truth.T + bonus[ids]).argmax(1)
    loss = nn.functional.cross_entropy(classifier(torch.cat((embedding(ids), x), dim=1)), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("loss", loss.item())
