"""Read strings of beeps with connectionist temporal classification."""
import torch
import torch.nn.functional as F
from torch import nn


class Listener(nn.Module):
    def __init__(self, tones=5):
        super().__init__()
        self.rnn = nn.LSTM(tones, 32, bidirectional=True)
        self.out = nn.Linear(64, tones + 1)

    def forward(self, sound):
        return F.log_softmax(self.out(self.rnn(sound)[0]), dim=2)


def recordings(n, letters=4, each=3):
    text = torch.randint(1, 6, (n, letters))
    sound = 0.2 * torch.randn(letters * each, n, 5)
    for place in range(letters):
        sound[each * place, torch.arange(n), text[:, place] - 1] += 2.0
    return sound, text


torch.manual_seed(9)
model = Listener()
criterion = nn.CTCLoss(blank=0)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(80):
    sound, text = recordings(24)
    scores = model(sound)
    loss = criterion(scores, text, torch.full((24,), len(sound)), torch.full((24,), 4))
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    optimizer.step()
    if step % 16 == 0:
        print("step", step, "ctc %.3f" % loss.item())
