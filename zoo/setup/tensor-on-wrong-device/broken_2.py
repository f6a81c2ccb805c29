# Predict the next value of a noisy sine with a hand-made recurrent cell.
import torch
import torch.nn as nn

torch.manual_seed(1)
device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")


class Recurrent(nn.Module):
    def __init__(self, hidden_size=24):
        super().__init__()
        self.hidden_size = hidden_size
        self.i2h = nn.Linear(1 + hidden_size, hidden_size)
        self.h2o = nn.Linear(hidden_size, 1)

    def init_hidden(self, batch_size):
        return torch.zeros(batch_size, self.hidden_size)

    def forward(self, series):
        hidden = self.init_hidden(series.size(0))
        for t in range(series.size(1)):
            combined = torch.cat([series[:, t], hidden], dim=1)
            hidden = torch.tanh(self.i2h(combined))
        return self.h2o(hidden)


model = Recurrent().to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
loss_function = nn.MSELoss()

for iteration in range(150):
    phase = torch.rand(32, 1) * 6.28
    wave = torch.sin(phase + 0.4 * torch.arange(13)) + 0.05 * torch.randn(32, 13)
    wave = wave.unsqueeze(-1).to(device)
    prediction = model(wave[:, :-1])
    loss = loss_function(prediction, wave[:, -1])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if iteration % 30 == 0:
        print("iteration", iteration, "mse", round(loss.item(), 5))
