"""Mixed precision with a gradient scaler; the inputs get stronger with time."""
import torch
from torch import nn

torch.manual_seed(1)
device = "cuda"


class Power(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(16, 64)
        self.out = nn.Linear(64, 1)

    def forward(self, x):
        h = self.inp(x)
        h = h * h
        h = h / (1 + h)
        return self.out(h)


model = Power().to(device)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
scaler = torch.amp.GradScaler(device)
for step in range(150):
    gain = 1.0 if step < 119 else 2000.0
    x = (torch.randn(64, 16) * gain).to(device)
    y = torch.tanh(x[:, :1] / gain)
    with torch.autocast(device_type=device, dtype=torch.float16):
        loss = nn.functional.mse_loss(model(x), y)
    opt.zero_grad(set_to_none=True)
    scaler.scale(loss).backward()
    scaler.step(opt)
    scaler.update()
    if step % 10 == 0:
        print(step, loss.item(), scaler.get_scale())
