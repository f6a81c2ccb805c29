"""A bag-of-words classifier whose first word stands for nothing."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class BagOfWords(nn.Module):
    def __init__(self, vocab, width, classes):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        with torch.no_grad():
            self.embed.weight[0] = 0.0
        self.fc = nn.Linear(width, classes)

    def forward(self, tokens):
        return self.fc(self.embed(tokens).mean(dim=1))


torch.manual_seed(0)
model = BagOfWords(40, 16, 3)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(150):
    labels = torch.randint(0, 3, (64,))
    tokens = torch.randint(4, 40, (64, 10))
    tokens[:, :3] = (labels + 1).unsqueeze(1)
    loss = F.cross_entropy(model(tokens), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        print(f"step {step} loss {loss.item():.3f}")
