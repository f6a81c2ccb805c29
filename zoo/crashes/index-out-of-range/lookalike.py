"""Word counts by position in a sentence; the list of sentences ends sooner than the loop."""
import torch
from torch import nn

torch.manual_seed(0)
sentences = [[1, 4, 2, 7], [3, 3, 5], [2, 6, 1, 1, 4]] * 30
embedding = nn.EmbeddingBag(8, 12)
head = nn.Linear(12, 1)
optimizer = torch.optim.Adam([*embedding.parameters(), *head.parameters()], lr=1e-2)

for step in range(100):
    words = torch.tensor([sentences[step]])
    target = torch.tensor([[float(len(sentences[step]))]])
    loss = nn.functional.mse_loss(head(embedding(words)), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print("step", step, "mse", round(loss.item(), 3))
