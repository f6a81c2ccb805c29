"""One traceback, and the many coats it comes in when it is pasted from elsewhere."""

from __future__ import annotations

import json
import textwrap

PLAIN = """\
Traceback (most recent call last):
  File "/home/me/project/train.py", line 40, in <module>
    main()
  File "/home/me/project/train.py", line 31, in main
    out = model(batch)
  File "/opt/conda/lib/python3.10/site-packages/torch/nn/modules/module.py", line 1518, in _wrapped_call_impl
    return self._call_impl(*args, **kwargs)
  File "/opt/conda/lib/python3.10/site-packages/torch/nn/modules/module.py", line 1527, in _call_impl
    return forward_call(*args, **kwargs)
  File "/home/me/project/net.py", line 14, in forward
    x = self.fc1(x)
  File "/opt/conda/lib/python3.10/site-packages/torch/nn/modules/module.py", line 1518, in _wrapped_call_impl
    return self._call_impl(*args, **kwargs)
  File "/opt/conda/lib/python3.10/site-packages/torch/nn/modules/linear.py", line 114, in forward
    return F.linear(input, self.weight, self.bias)
RuntimeError: mat1 and mat2 shapes cannot be multiplied (64x3456 and 100x10)
"""

CARETS = PLAIN.replace(
    "    x = self.fc1(x)\n", "    x = self.fc1(x)\n        ^^^^^^^^^^^\n"
).replace("    main()\n", "    main()\n    ~~~~^^\n")  # fmt: skip

COLOURS = (
    "Traceback (most recent call last):\n"
    + '  File \x1b[35m"/home/me/project/net.py"\x1b[0m, line \x1b[35m14\x1b[0m, in \x1b[35mforward\x1b[0m\n'
    + "    x = \x1b[31mself.fc1\x1b[0m\x1b[1;31m(x)\x1b[0m\n"
    + "        \x1b[31m~~~~~~~~\x1b[0m\x1b[1;31m^^^\x1b[0m\n"
    + '  File \x1b[35m"/usr/lib/python3.13/site-packages/torch/nn/modules/linear.py"\x1b[0m, '
    + "line \x1b[35m125\x1b[0m, in \x1b[35mforward\x1b[0m\n"
    + "    return F.linear(input, self.weight, self.bias)\n"
    + "\x1b[1;35mRuntimeError\x1b[0m: "
    + "\x1b[35mmat1 and mat2 shapes cannot be multiplied (64x3456 and 100x10)\x1b[0m\n"
)

WINDOWS = PLAIN.replace("/home/me/project/", "C:\\Users\\Me\\project\\").replace(
    "/opt/conda/lib/python3.10/site-packages/torch/nn/modules/",
    "C:\\Users\\Me\\anaconda3\\Lib\\site-packages\\torch\\nn\\modules\\",
)

NOTEBOOK = """\
---------------------------------------------------------------------------
RuntimeError                              Traceback (most recent call last)
Cell In[5], line 3
      1 model = Net()
      2 x = torch.randn(64, 1, 28, 28)
----> 3 model(x)

File ~/venv/lib/python3.11/site-packages/torch/nn/modules/module.py:1736, in Module._wrapped_call_impl(self)
   1734     return self._compiled_call_impl(*args, **kwargs)  # type: ignore[misc]
   1735 else:
-> 1736     return self._call_impl(*args, **kwargs)

Cell In[4], line 14, in Net.forward(self, x)
     12 def forward(self, x):
     13     x = self.conv(x)
---> 14     x = self.fc1(x)
     15     return x

File ~/venv/lib/python3.11/site-packages/torch/nn/modules/linear.py:125, in Linear.forward(self, input)
    124 def forward(self, input: Tensor) -> Tensor:
--> 125     return F.linear(input, self.weight, self.bias)

RuntimeError: mat1 and mat2 shapes cannot be multiplied (64x3456 and 100x10)
"""

COLAB = """\
---------------------------------------------------------------------------

RuntimeError                              Traceback (most recent call last)

<ipython-input-5-0a1b2c3d4e5f> in <cell line: 3>()
      1 model = Net()
      2 x = torch.randn(64, 1, 28, 28)
----> 3 model(x)

1 frames

<ipython-input-4-1a2b3c4d5e6f> in forward(self, x)
     12   def forward(self, x):
     13     x = self.conv(x)
---> 14     x = self.fc1(x)
     15     return x

/usr/local/lib/python3.10/dist-packages/torch/nn/modules/linear.py in forward(self, input)
    113     def forward(self, input: Tensor) -> Tensor:
--> 114         return F.linear(input, self.weight, self.bias)

RuntimeError: mat1 and mat2 shapes cannot be multiplied (64x3456 and 100x10)
"""


RICH = """\
╭───────────────────── Traceback (most recent call last) ──────────────────────╮
│ /home/me/project/train.py:31 in main                                         │
│                                                                              │
│   29 │   for batch in loader:                                                │
│   30 │   │   optimizer.zero_grad()                                           │
│ ❱ 31 │   │   out = model(batch)                                              │
│   32                                                                         │
│                                                                              │
│ /opt/conda/lib/python3.10/site-packages/torch/nn/modules/some/deeper/modu    │
│ le.py:1778 in _wrapped_call_impl                                             │
│                                                                              │
│ ❱ 1778 │   │   │   return self._call_impl(*args, **kwargs)                   │
│                                                                              │
│ /home/me/project/net.py:14 in forward                                        │
│                                                                              │
│   13 │   def forward(self, x):                                               │
│ ❱ 14 │   │   x = self.fc1(x)                                                 │
│   15 │   │   return x                                                        │
│                                                                              │
│ /opt/conda/lib/python3.10/site-packages/torch/nn/modules/linear.py:134       │
│ in forward                                                                   │
│                                                                              │
│ ❱ 134 │   │   return F.linear(input, self.weight, self.bias)                 │
╰──────────────────────────────────────────────────────────────────────────────╯
RuntimeError: mat1 and mat2 shapes cannot be multiplied (64x3456 and 100x10)
"""

PYTEST = """\
=================================== FAILURES ===================================
___________________________________ test_it ____________________________________

    def test_it():
        net = Net()
>       net(torch.randn(64, 3456))

tests/test_net.py:12: 
_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ 
/opt/conda/lib/python3.10/site-packages/torch/nn/modules/module.py:1778: in _wrapped_call_impl
    return self._call_impl(*args, **kwargs)
project/net.py:14: in forward
    x = self.fc1(x)
        ^^^^^^^^^^^
_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ 

self = Linear(in_features=100, out_features=10, bias=True)

    def forward(self, input: Tensor) -> Tensor:
>       return F.linear(input, self.weight, self.bias)
E       RuntimeError: mat1 and mat2 shapes cannot be multiplied (64x3456 and 100x10)

/opt/conda/lib/python3.10/site-packages/torch/nn/modules/linear.py:134: RuntimeError
=========================== short test summary info ============================
FAILED tests/test_net.py::test_it - RuntimeError: mat1 and mat2 shapes cannot be mu...
"""  # noqa: W291

PYTEST_SHORT = """\
=================================== FAILURES ===================================
___________________________________ test_it ____________________________________
tests/test_net.py:12: in test_it
    net(torch.randn(64, 3456))
project/net.py:14: in forward
    x = self.fc1(x)
        ^^^^^^^^^^^
/opt/conda/lib/python3.10/site-packages/torch/nn/modules/linear.py:134: in forward
    return F.linear(input, self.weight, self.bias)
E   RuntimeError: mat1 and mat2 shapes cannot be multiplied (64x3456 and 100x10)
=========================== short test summary info ============================
"""


def prefixed(prefix: str, text: str = PLAIN) -> str:
    return "".join(f"{prefix}{line}\n" for line in text.rstrip("\n").split("\n"))


def timed(text: str = PLAIN) -> str:
    lines = text.rstrip("\n").split("\n")
    return "".join(f"2024-05-01T12:00:{index:02d}.{index:03d}Z {line}\n" for index, line in enumerate(lines))


def interleaved(first: str, second: str) -> str:
    pairs = zip(first.split("\n"), second.split("\n"), strict=True)
    return "\n".join(line for pair in pairs for line in pair)


OWN = '  File "/home/me/project/net.py"'
LOG = "2024-05-01 12:00:00 INFO epoch 3\nEpoch 3:  45%|####      | 45/100\nLoss: 0.31\n"

COATS = {
    "plain": PLAIN,
    "carets": CARETS,
    "colours of 3.13": COLOURS,
    "colours whose escape was lost": COLOURS.replace("\x1b", ""),
    "windows": WINDOWS,
    "windows line ends": PLAIN.replace("\n", "\r\n"),
    "in a log": f"{LOG}{PLAIN}{LOG}",
    "after a message": f"2024-05-01 12:00:00,123 ERROR train: step failed\n{PLAIN}{LOG}",
    "on the line of a logger": f"2024-05-01 12:00:00,123 - train - ERROR - {PLAIN}{LOG}",
    "every line with a time": timed(),
    "rank": prefixed("[rank0]: "),
    "torchrun": prefixed("[default3]:"),
    "two ranks at once": interleaved(prefixed("[rank0]: "), prefixed("[rank1]: ")),
    "docker compose": prefixed("trainer-1  | "),
    "kubernetes": prefixed("2024-05-01T12:00:00.123456789Z stderr F "),
    "mail": prefixed("> "),
    "mail of a mail": prefixed("> > "),
    "indented": f"I get this:\n\n{textwrap.indent(PLAIN, '        ')}\nWhat is wrong with my fc1?\n",
    "fence": f"### Bug\n```python-traceback\n{PLAIN}```\nThanks: any help is welcome.\n",
    "prompt": f">>> main()\n{PLAIN}>>> \n",
    "json": json.dumps({"level": "error", "message": f"failed\n{PLAIN}", "step": 3}),
    "without its first line": PLAIN.partition("\n")[2],
    "progress bar in between": PLAIN.replace(OWN, f"Epoch 3:  45%|###  | 45/100\n{OWN}"),
    "notebook": NOTEBOOK,
    "colab": COLAB,
    "notebook in a fence": f"```\n{NOTEBOOK}```\nsome words after it\n",
    "rich": RICH,
    "rich in a log": f"{LOG}{RICH}\nKilled\n",
    "pytest": PYTEST,
    "pytest, short": PYTEST_SHORT,
    "twice": f"{PLAIN}\n{PLAIN}",
    "torchrun's own after it": PLAIN
    + 'Traceback (most recent call last):\n  File "/opt/conda/bin/torchrun", line 8, in <module>\n'
    + "    sys.exit(main())\ntorch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
    + "============================================================\ntrain.py FAILED\n",
}  # fmt: skip
