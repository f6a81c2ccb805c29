"""Word model whose vocabulary list is one entry short of the embedding's use."""
import torch
from torch import nn

torch.manual_seed(1)
vocab = ["<pad>", "red", "green", "blue", "small", "large", "round"]
model = nn.Sequential(nn.Embedding(len(vocab), 16), nn.Flatten(), nn.Linear(3 * 16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for step in range(120):
    highest = len(vocab) if step < 80 else len(vocab) + 1
    words = torch.randint(1, highest, (64, 3))
    label = (words[:, 0] > 3).long()
    loss = nn.functional.cross_entropy(model(words), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, round(loss.item(), 4))
