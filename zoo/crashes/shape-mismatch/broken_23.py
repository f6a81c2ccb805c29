"""Read short codes from stretched signals with a CTC loss."""
import torch
from torch import nn

SYMBOLS, STEPS = 5, 24


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(SYMBOLS, 32, 5, padding=2)
        self.out = nn.Linear(32, SYMBOLS + 1)

    def forward(self, x):
        h = torch.relu(self.conv(x)).transpose(1, 2)
        return self.out(h).log_softmax(dim=-1)


def codes(n=16, length=4):
    targets = torch.randint(1, SYMBOLS + 1, (n, length))
    signal = 0.1 * torch.randn(n, SYMBOLS, STEPS)
    for row, target in enumerate(targets):
        for place, symbol in enumerate(target.tolist()):
            signal[row, symbol - 1, place * 6 + 1:place * 6 + 4] += 1.0
    return signal, targets


def main():
    torch.manual_seed(17)
    model, ctc = Reader(), nn.CTCLoss(blank=0)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(80):
        signal, targets = codes()
        log_probs = model(signal)
        input_lengths = torch.full((16,), STEPS)
        target_lengths = torch.full((16,), 4)
        loss = ctc(log_probs, targets, input_lengths, target_lengths)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            print(f"step {step} ctc {loss.item():.4f}")


main()
