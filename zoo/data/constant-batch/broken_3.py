"""Character model of a toy language, trained on random chunks of one long string of ids."""
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(3)
vocab, block, width = 24, 16, 48
table = torch.softmax(2.5 * torch.randn(vocab, vocab), dim=1)
ids = [0]
for _ in range(2500):
    ids.append(int(torch.multinomial(table[ids[-1]], 1)))
corpus = torch.tensor(ids)
train_ids, held_out = corpus[:2000], corpus[2000:]


def get_batch(source, n=12, seed=1337):
    rng = torch.Generator().manual_seed(seed)
    starts = torch.randint(len(source) - block - 1, (n,), generator=rng)
    x = torch.stack([source[s : s + block] for s in starts])
    y = torch.stack([source[s + 1 : s + block + 1] for s in starts])
    return x, y


class CharModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(vocab, width)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.out = nn.Linear(width, vocab)

    def forward(self, x):
        return self.out(self.rnn(self.tok(x))[0])


model = CharModel()
opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
for it in range(100):
    x, y = get_batch(train_ids)
    loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
    if it % 25 == 24:
        with torch.no_grad():
            vx, vy = get_batch(held_out)
            print(it, loss.item(), F.cross_entropy(model(vx).flatten(0, 1), vy.flatten()).item())
