"""Speech-like sequences trained with CTC."""
import torch
from torch import nn


class Recogniser(nn.Module):
    def __init__(self, feats=10, hidden=32, symbols=6):
        super().__init__()
        self.rnn = nn.GRU(feats, hidden, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * hidden, symbols)

    def forward(self, x):
        h, _ = self.rnn(x)
        return self.out(h).log_softmax(-1)


def sample(n, g):
    texts = [torch.randint(1, 6, (int(torch.randint(2, 5, (1,), generator=g)),), generator=g) for _ in range(n)]
    frames, lens = torch.zeros(n, 16, 10), []
    for k, t in enumerate(texts):
        speed = int(torch.randint(1, 14, (1,), generator=g))
        up = t.repeat_interleave(speed)[:16]
        frames[k, torch.arange(len(up)), up] = 1
        lens.append(len(up))
    return frames + 0.1 * torch.randn(n, 16, 10, generator=g), lens, texts


g = torch.Generator().manual_seed(77)
torch.manual_seed(77)
net = Recogniser()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
ctc = nn.CTCLoss(blank=0)
for step in range(40):
    x, x_len, texts = sample(3, g)
    logp = net(x).transpose(0, 1)
    loss = ctc(logp, torch.cat(texts), torch.tensor(x_len), torch.tensor([len(t) for t in texts]))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 4 == 0:
        print(step, loss.item())
