"""Sentiment of token sequences; the vocabulary is counted from the training text."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
device = torch.device("cuda")
vocabulary = 1000
tokens = torch.randint(0, vocabulary, (512, 20))
tokens[300, 7] = vocabulary
loader = DataLoader(TensorDataset(tokens, torch.randint(0, 2, (512,))), batch_size=64)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(1000, 32)
        self.head = nn.Linear(32, 2)

    def forward(self, tokens):
        return self.head(self.embed(tokens).mean(dim=1))


net = Net().to(device)
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for batch, labels in loader:
    loss = nn.functional.cross_entropy(net(batch.to(device)), labels.to(device))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
