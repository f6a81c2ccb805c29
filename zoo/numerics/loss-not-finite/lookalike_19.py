"""A CRF-like tagger whose forbidden transitions are -inf."""
import torch
from torch import nn

TAGS = 4


class CRF(nn.Module):
    def __init__(self):
        super().__init__()
        self.emit = nn.Sequential(nn.Embedding(10, 16), nn.Linear(16, TAGS))
        self.trans = nn.Parameter(torch.zeros(TAGS, TAGS))
        forbidden = torch.zeros(TAGS, TAGS)
        forbidden[0, 3] = forbidden[3, 0] = float("-inf")
        self.register_buffer("forbidden", forbidden)

    def nll(self, words, tags):
        e, t = self.emit(words), self.trans + self.forbidden
        alpha = e[:, 0]
        for k in range(1, words.size(1)):
            alpha = torch.logsumexp(alpha[:, :, None] + t + e[:, k, None, :], dim=1)
        gold = e.gather(2, tags[..., None]).squeeze(2).sum(1) + t[tags[:, :-1], tags[:, 1:]].sum(1)
        return (torch.logsumexp(alpha, 1) - gold).mean()


def sentence(n, length=6):
    tags = torch.zeros(n, length, dtype=torch.long)
    tags[:, 0] = torch.randint(0, TAGS, (n,))
    for k in range(1, length):
        move = torch.randint(-1, 2, (n,))
        tags[:, k] = (tags[:, k - 1] + move).clamp(0, TAGS - 1)
    return (tags * 2 + torch.randint(0, 2, (n, length))), tags


torch.manual_seed(15)
crf = CRF()
opt = torch.optim.Adam(crf.parameters(), lr=1e-2)
for step in range(100):
    loss = crf.nll(*sentence(32))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0:
        print(step, loss.item())
print("final", loss.item())
