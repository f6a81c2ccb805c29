"""Language model on a toy grammar; the learning rate lost a few digits."""
import torch
from torch import nn


class TinyLM(nn.Module):
    def __init__(self, vocabulary=24, width=32):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, tokens):
        return self.head(self.rnn(self.embed(tokens))[0])


torch.manual_seed(1)
model = TinyLM()
opt = torch.optim.SGD(model.parameters(), lr=0.000005, momentum=0.9)
for step in range(160):
    start = torch.randint(0, 24, (32, 1))
    tokens = (start + 5 * torch.arange(11)) % 24
    logits = model(tokens[:, :-1])
    loss = nn.functional.cross_entropy(logits.reshape(-1, 24), tokens[:, 1:].reshape(-1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 40 == 0:
        print(step, round(loss.item(), 4))
