# Word vectors are given; only the layers above them are to be learned.
import torch
from torch import nn

torch.manual_seed(6)
vectors = torch.randn(50, 12)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding.from_pretrained(vectors.clone(), freeze=False)
        self.rnn = nn.LSTM(12, 24, batch_first=True)
        self.tags = nn.Linear(24, 4)

    def forward(self, tokens):
        return self.tags(self.rnn(self.words(tokens))[0])


tagger = Tagger()
tagger.words.weight.requires_grad = False
optimizer = torch.optim.Adam(tagger.parameters(), lr=5e-3)
for step in range(120):
    tokens = torch.randint(0, 50, (16, 10))
    tags = vectors[tokens][..., :4].argmax(dim=2)
    loss = nn.functional.cross_entropy(tagger(tokens).flatten(0, 1), tags.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        drift = (tagger.words.weight - vectors).norm().item()
        print(step, round(loss.item(), 4), "moved by", round(drift, 3))
