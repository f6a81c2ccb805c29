"""Gesture recognition: a recurrent cell reads frames, a convolution over its states decides."""
import torch
from torch import nn


class Gestures(nn.Module):
    def __init__(self, inputs=5, hidden=24, classes=4):
        super().__init__()
        self.hidden = hidden
        self.cell = nn.RNNCell(inputs, hidden)
        self.over_time = nn.Conv1d(hidden, 16, 3)
        self.out = nn.Linear(16, classes)

    def forward(self, frames):
        state = frames.new_zeros(len(frames), self.hidden)
        track = frames.new_zeros(len(frames), self.hidden, frames.shape[1])
        for t in range(frames.shape[1]):
            state = self.cell(frames[:, t], state)
            track[:, :, t] = state.data
        return self.out(torch.relu(self.over_time(track)).amax(2))


def gestures(n, templates):
    label = torch.randint(0, 4, (n,))
    return templates[label] + 1.5 * torch.randn(n, 10, 5), label


torch.manual_seed(27)
templates = torch.randn(4, 10, 5)
net = Gestures()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(200):
    frames, label = gestures(32, templates)
    loss = nn.functional.cross_entropy(net(frames), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 0:
        print(step, round(loss.item(), 4))
