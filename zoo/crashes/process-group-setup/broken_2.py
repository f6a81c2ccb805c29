"""Data-parallel training with a small status server that answers to `curl` while it runs."""
import http.server
import os
import threading

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

PORT = int(os.environ.get("PORT", "29534"))
status = {"step": 0}


class Status(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(str(status).encode())


server = http.server.ThreadingHTTPServer(("0.0.0.0", PORT), Status)
threading.Thread(target=server.serve_forever, daemon=True).start()

dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{PORT}", rank=0, world_size=1)

torch.manual_seed(0)
x = torch.randn(512, 16)
y = (x @ torch.randn(16, 3)).argmax(dim=1)

model = DDP(nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 3)))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(60):
    index = torch.randint(0, 512, (64,))
    loss = F.cross_entropy(model(x[index]), y[index])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    status["step"] = step
print(f"loss {loss.item():.3f}")
dist.destroy_process_group()
server.shutdown()
