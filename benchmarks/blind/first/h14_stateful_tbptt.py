import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(14)
STREAMS, CHUNK, V = 12, 10, 6


def make_streams(length):
    """A symbol repeats the one seen 3 steps ago, except for some random ones."""
    s = torch.randint(0, V, (STREAMS, length))
    for t in range(3, length):
        copy = torch.rand(STREAMS) < 0.9
        s[copy, t] = s[copy, t - 3]
    return s


val = make_streams(201)


class Stateful(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.emb = nn.Embedding(V, 16)
        self.lstm = nn.LSTM(16, hidden)
        self.out = nn.Linear(hidden, V)
        with torch.no_grad():
            self.lstm.bias_ih_l0[hidden:2 * hidden].fill_(1.0)

    def forward(self, x, state=None):
        h, state = self.lstm(self.emb(x), state)
        return self.out(h), state


def chunks(streams):
    s = streams.t()
    for i in range(0, s.size(0) - 1, CHUNK):
        x, y = s[i:i + CHUNK], s[i + 1:i + CHUNK + 1]
        yield x[:len(y)], y


model = Stateful()
opt = torch.optim.RMSprop(model.parameters(), lr=4e-3)
for epoch in range(6):
    model.train()
    state, losses = None, []
    stream = make_streams(401)
    # in order on purpose: the state goes on from chunk to chunk
    for x, y in chunks(stream):
        if state is not None:
            state = tuple(s.detach() for s in state)
        logits, state = model(x, state)
        loss = F.cross_entropy(logits.reshape(-1, V), y.reshape(-1))
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        losses.append(loss.item())
    model.eval()
    state, good, n = None, 0, 0
    with torch.no_grad():
        for x, y in chunks(val):
            logits, state = model(x, state)
            good += (logits.argmax(-1) == y).sum().item()
            n += y.numel()
    print(f"epoch {epoch}: train {sum(losses) / len(losses):.3f} val acc {good / n:.3f}")
