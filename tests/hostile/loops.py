"""The loops: each defines `train()`, appends to `optimizers` what it makes, and has the line STEP where the
pieces of the program go in."""

from __future__ import annotations

from tests.hostile.grammar import Piece

TRAIN = """
def train():
    for step in range(12):
        batch = make_batch()
        optimizer.zero_grad()
        loss = loss_of(batch)
        loss.backward()
        optimizer.step()
        print(step, loss.item())
        STEP
"""


def _usual(name: str, optimizer: str, **parts: str) -> Piece:
    return Piece(name, body=f"optimizer = {optimizer}\noptimizers.append(optimizer)\n{TRAIN}", **parts)  # type: ignore[arg-type]


def _own(name: str, body: str, **parts: object) -> Piece:
    return Piece(name, body=body, **parts)  # type: ignore[arg-type]


SGD = """
optimizer = torch.optim.SGD(parameters, lr=0.01)
optimizers.append(optimizer)
"""
ONE_STEP = """
def one_step(step):
    batch = make_batch()
    optimizer.zero_grad()
    loss = loss_of(batch)
    loss.backward()
    optimizer.step()
    STEP
    return loss.item()
"""
DATASET = """
class Samples(torch.utils.data.Dataset):
    def __init__(self, count):
        self.x = torch.randn(count, 6)
    def __len__(self):
        return len(self.x)
    def __getitem__(self, index):
        return self.x[index], self.x[index].sum(0, keepdim=True)
"""
OVER_LOADER = """
def train():
    for step, batch in enumerate(loader):
        optimizer.zero_grad()
        loss = F.mse_loss(rows(batch[0]), batch[1]) + loss_of(make_batch())
        loss.backward()
        optimizer.step()
        print(step, loss.item())
        STEP
"""
ROWS = """
rows = nn.Linear(6, 1)
parameters = parameters + list(rows.parameters())
"""


WORKERS = ("time.monotonic",)  # without it, they and the loader end by whatever comes first


def _loader(name: str, arguments: str, dataset: str = "Samples(96)", **parts: object) -> Piece:
    made = f"loader = torch.utils.data.DataLoader({dataset}, batch_size=8, {arguments})\n"
    return Piece(name, body=ROWS + SGD + DATASET + made + OVER_LOADER, **parts)  # type: ignore[arg-type]


LOOPS = [
    _usual("sgd", "torch.optim.SGD(parameters, lr=0.01)"),
    _usual("adam", "torch.optim.Adam(parameters, lr=1e-3)"),
    _usual("adamw_foreach", "torch.optim.AdamW(parameters, lr=1e-3, foreach=True)"),
    _usual("rmsprop", "torch.optim.RMSprop(parameters, lr=1e-3, momentum=0.5)"),
    _own("lbfgs", """
optimizer = torch.optim.LBFGS(parameters, lr=0.1, max_iter=3)
optimizers.append(optimizer)
def train():
    calls = 0
    for step in range(12):
        batch = make_batch()
        def closure():
            nonlocal calls
            calls += 1
            optimizer.zero_grad()
            loss = loss_of(batch)
            loss.backward()
            return loss
        print(step, optimizer.step(closure).item(), calls)
        STEP
"""),
    _own("by_hand", """
def train():
    for step in range(12):
        loss = loss_of(make_batch())
        gradients = torch.autograd.grad(loss, parameters, allow_unused=True)
        with torch.no_grad():
            for parameter, gradient in zip(parameters, gradients):
                if gradient is not None:
                    parameter -= 0.01 * gradient
        print(step, loss.item())
        STEP
"""),
    _own("gan", """
critic = nn.Linear(6, 1)
parameters = parameters + list(critic.parameters())
optimizer = torch.optim.SGD(parameters[:-2], lr=0.01)
judge = torch.optim.Adam(critic.parameters(), lr=0.01)
optimizers += [optimizer, judge]
def train():
    for step in range(12):
        judge.zero_grad()
        score = critic(torch.randn(8, 6)).mean() - critic(torch.rand(8, 6)).mean()
        score.backward()
        judge.step()
        optimizer.zero_grad()
        loss = loss_of(make_batch())
        loss.backward()
        optimizer.step()
        print(step, score.item(), loss.item())
        STEP
"""),
    _own("accumulation", SGD + """
def train():
    for step in range(12):
        for part in range(3):
            (loss_of(make_batch()) / 3).backward()
        total = nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=step % 2 == 0)
        print(step, total.item())
        STEP
"""),
    _own("autocast", SGD + """
def train():
    for step in range(12):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = loss_of(make_batch())
        loss.backward()
        optimizer.step()
        print(step, loss.item())
        STEP
"""),
    _own("grad_scaler", SGD + """
scaler = torch.amp.GradScaler("cpu", init_scale=16.0)
def train():
    for step in range(12):
        optimizer.zero_grad()
        loss = loss_of(make_batch())
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        print(step, loss.item(), scaler.get_scale())
        STEP
"""),
    _own("scheduler", SGD + """
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.05, total_steps=12)
def train():
    for step in range(12):
        optimizer.zero_grad()
        loss = loss_of(make_batch())
        loss.backward()
        optimizer.step()
        scheduler.step()
        print(step, loss.item(), scheduler.get_last_lr())
        STEP
"""),
    _own("averaged", SGD + """
average = [parameter.detach().clone() for parameter in parameters]
def train():
    for step in range(12):
        optimizer.zero_grad()
        loss = loss_of(make_batch())
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for kept, parameter in zip(average, parameters):
                kept.lerp_(parameter, 0.1)
        if step % 4 == 3:
            with torch.no_grad():
                print("validation", loss_of(make_batch()).item())
        STEP
"""),
    _own("evaluates", SGD + """
def train():
    for step in range(12):
        optimizer.zero_grad()
        loss_of(make_batch()).backward()
        optimizer.step()
        if step % 3 == 2 and isinstance(model, nn.Module):
            was = model.training
            model.eval()
            with torch.inference_mode():
                print("validation", loss_of(make_batch()).item())
            model.train(was)
        STEP
"""),
    _own("early_stop", SGD + """
def train():
    best = float("inf")
    for step in range(10**9):
        optimizer.zero_grad()
        loss = loss_of(make_batch())
        loss.backward()
        optimizer.step()
        best = min(best, loss.item())
        STEP
        if step == 12:
            print("best", best)
            break
"""),
    _own("endless_until_raised", SGD + """
class Enough(Exception):
    pass
def train():
    step = 0
    try:
        while True:
            optimizer.zero_grad()
            loss_of(make_batch()).backward()
            optimizer.step()
            STEP
            step += 1
            if step == 12:
                raise Enough(step)
    except Enough as enough:
        print(repr(enough))
"""),
    _own("raises_in_backward", SGD + """
def train():
    for step in range(12):
        optimizer.zero_grad()
        loss = loss_of(make_batch())
        loss.backward()
        if step == 8:
            try:
                loss.backward()
            except RuntimeError as error:
                print(str(error)[:60])
        optimizer.step()
        STEP
"""),
    _own("recursive", SGD + ONE_STEP + """
def descend(step):
    if step < 12:
        print(step, one_step(step))
        descend(step + 1)
def train():
    descend(0)
"""),
    _own("asynchronous", SGD + ONE_STEP + """
import asyncio
async def worker(first):
    for step in range(first, 12, 2):
        print(step, one_step(step))
        await asyncio.sleep(0)
async def both():
    await asyncio.gather(worker(0), worker(1))
def train():
    asyncio.run(both())
"""),
    _own("in_generator", SGD + ONE_STEP + """
def losses():
    for step in range(12):
        yield one_step(step)
unfinished = losses()
next(unfinished)
def train():
    print(list(losses()))
"""),
    _own("in_destructor", SGD + ONE_STEP + """
class Training:
    def __del__(self):
        print([one_step(step) for step in range(12)])
def train():
    it = Training()
    del it
"""),
    _own("at_exit", SGD + ONE_STEP + """
import atexit
def train():
    atexit.register(lambda: print([one_step(step) for step in range(12)]))
"""),
    _own("in_exec", SGD + ONE_STEP + '''
TEXT = """
for step in range(12):
    print(step, one_step(step))
"""
def train():
    exec(TEXT, globals())
'''),
    _own("in_class_body", SGD + """
def train():
    class Experiment:
        history = []
        for step in range(12):
            optimizer.zero_grad()
            loss = loss_of(make_batch())
            loss.backward()
            optimizer.step()
            history.append(loss.item())
            STEP
    print(Experiment.history)
"""),
    _own("in_comprehension", SGD + ONE_STEP + """
def train():
    print([one_step(step) for step in range(12)], max(map(one_step, range(3))))
"""),
    _own("two_threads", SGD + """
import threading
nets = {seed: nn.Linear(4, 1) for seed in (1, 2)}  # here: threads would draw from one generator in any order
def train_own(seed, results):
    net = nets[seed]
    own = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(12):
        own.zero_grad()
        net(torch.full((3, 4), float(seed))).pow(2).mean().backward()
        own.step()
    results[seed] = net.weight.detach().tolist()
def train():
    results = {}
    threads = [threading.Thread(target=train_own, args=(seed, results)) for seed in (1, 2)]
    for thread in threads:
        thread.start()
    for step in range(12):
        optimizer.zero_grad()
        loss_of(make_batch()).backward()
        optimizer.step()
        STEP
    for thread in threads:
        thread.join()
    print(sorted(results.items()))
"""),
    _own("in_a_thread", SGD + ONE_STEP + """
import concurrent.futures
def train():
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        print(list(pool.map(one_step, range(12))))
"""),
    _own("nothing_trained", """
def train():
    for step in range(12):
        with torch.no_grad():
            loss_of(make_batch())
        STEP
"""),
    _loader("loader", "shuffle=True"),
    _loader("loader_workers", "num_workers=2, shuffle=True", takes=WORKERS),
    _loader("loader_persistent", "num_workers=1, persistent_workers=True, prefetch_factor=3",
            takes=WORKERS),
    _loader("loader_generator", "shuffle=True, generator=torch.Generator().manual_seed(9)"),
    _loader("loader_collate", "num_workers=0, drop_last=True, collate_fn=lambda rows: "
            "(torch.stack([row[0] for row in rows]), torch.stack([row[1] for row in rows]), {'ids': (1, 2)})"),
    _loader("loader_sampler", "sampler=Backwards(96)", setup="""
class Backwards:
    def __init__(self, count):
        self.count, self.asked = count, 0
    def __len__(self):
        return self.count
    def __iter__(self):
        self.asked += 1
        print("sampler asked", self.asked)
        return iter(range(self.count - 1, -1, -1))
"""),
    _loader("loader_iterable", "num_workers=0", "Stream()", setup="""
class Stream(torch.utils.data.IterableDataset):
    opened = 0
    def __iter__(self):
        Stream.opened += 1
        print("opened", Stream.opened)
        for _ in range(96):
            x = torch.randn(6)
            yield x, x.sum(0, keepdim=True)
"""),
    _loader("loader_spawn", "num_workers=1, multiprocessing_context='spawn'", "torch.utils.data.TensorDataset("
            "torch.ones(96, 6), torch.ones(96, 1))", guarded=True, takes=WORKERS),
    _loader("loader_broken_off", "num_workers=2", takes=WORKERS, after="""
again = iter(loader)
next(again)
del again
"""),
]  # fmt: skip
