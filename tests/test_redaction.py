"""What is a secret goes, by its name or by its look; what only sounds like one stays."""

from __future__ import annotations

import json
import string
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torch_debugger.system import secret_names as remembered
from torch_debugger.system.redaction import (
    may_hold_secrets,
    redact_arguments,
    redact_message,
    redact_plain,
    redact_record,
    redact_text,
    redact_value,
)
from torch_debugger.system.secret_names import SECRET, is_secret_name

# In pieces: nobody's scanner should take these for real ones.
HUGGING = "hf_" + "a1B2c3D4" * 4
OPENAI = "sk-" + "proj-Ab12Cd34Ef56Gh78"
GITHUB = "ghp_" + "0123456789abcdefABCDEF0123456789abcd"
AMAZON = "AKIA" + "ABCDEFGHIJKLMNOP"
HEXES = "0123456789abcdef0123456789abcdef01234567"


def alone(redact: Callable[..., Any], *given: object) -> Any:
    """What one row of a table has made it remember must not help with the next."""
    remembered.forget()
    return redact(*given)


ONLY_SOUNDS = [
    ["--tokenizer", "bert"],
    ["--max_tokens=512"],
    ["max_tokens=512"],
    ["key_dim=64"],
    ["--key-dim", "64"],
    ["--password-length", "8"],
    ["--pad-token", "<pad>"],
    ["--eos_token=</s>"],
    ["--sort-key", "loss"],
    ["--monitor_key=val_loss"],
    ["--token-file", "token.txt"],
    ["--tokens_per_batch", "4096"],
    ["--author", "me"],
    ["--keys", "image", "label"],
    ["--data", "s3://bucket/path/to/data"],
    ["--resume", "/checkpoints/9f8e7d6c5b4a3f2e/last.pt"],
    ["--commit", HEXES],
    ["--secretary", "anna"],
    ["--num_keys=5"],
    ["--use-auth", "true"],
    ["--monkey", "george"],
    ["task-specific-pretraining-2024"],
    ["--name", "disk-speed-test-number-17"],
    ["--url", "http://localhost:8080/path"],
    ["--remote", "ssh://git@example.com/repo"],
    ["--user", "bob"],
    ["--login", "bob"],
    ["--pass", "2"],
    ["--user-tokens", "128"],
    ["--user-key", "user_id"],
    ["--api-key-env", "OPENAI_API_KEY"],
    ["--model", "sk-learn-random-forest-v2-large"],
]


def test_what_only_sounds_like_a_secret_stays() -> None:
    assert not [words for words in ONLY_SOUNDS if alone(redact_arguments, words) != tuple(words)]


COMMAND_LINES = [
    (["--api-key", "X", "--lr", "1"], ["--api-key", SECRET, "--lr", "1"]),
    (["--token=X"], [f"--token={SECRET}"]),
    (["KEY=hunter2"], [f"KEY={SECRET}"]),
    (["--key", "hunter2"], ["--key", SECRET]),
    (["--password", "1234"], ["--password", SECRET]),
    (["--password", "-dash"], ["--password", SECRET]),
    (["--password", "--lr", "1"], ["--password", "--lr", "1"]),
    (["--apiKey=abc"], [f"--apiKey={SECRET}"]),
    (["--wandb_api_key", "abc"], ["--wandb_api_key", SECRET]),
    (["wandb.api_key=abc"], [f"wandb.api_key={SECRET}"]),
    (["+secrets.hf_token=abc"], [f"+secrets.hf_token={SECRET}"]),
    (["--api-keys", "a", "b", "--x", "y"], ["--api-keys", SECRET, SECRET, "--x", "y"]),
    (["--AWS_SECRET_ACCESS_KEY", "abc"], ["--AWS_SECRET_ACCESS_KEY", SECRET]),
    (["--aws-access-key-id=abc"], [f"--aws-access-key-id={SECRET}"]),
    (["--auth", "me:pw"], ["--auth", SECRET]),
    (["--db", "postgres://me:pw@host/db"], ["--db", f"postgres://me:{SECRET}@host/db"]),
    (["--remote", f"https://{HEXES}@host/repo"], ["--remote", f"https://{SECRET}@host/repo"]),
    (["https://host/x?api_key=abcd&y=1"], [f"https://host/x?api_key={SECRET}&y=1"]),
    (["--header", "Authorization: Bearer abc123def"], ["--header", f"Authorization: Bearer {SECRET}"]),
    (['{"api_key": "abc", "lr": 1}'], [f'{{"api_key": "{SECRET}", "lr": 1}}']),
    (["--sort-key", HEXES], ["--sort-key", SECRET]),
    (["--anything", HUGGING], ["--anything", SECRET]),
    ([f"--x={OPENAI}"], [f"--x={SECRET}"]),
    (["--pass", "hunter2"], ["--pass", SECRET]),
    (["--db-pass", "hunter"], ["--db-pass", SECRET]),
    (["--secret-env", "hunter2"], ["--secret-env", SECRET]),
    (["--login", "bob:hunter2"], ["--login", f"bob:{SECRET}"]),
    (["--auth", "bob", "hunter2", "--lr", "1"], ["--auth", SECRET, SECRET, "--lr", "1"]),
    (["--override", "api_key:hunter2"], ["--override", f"api_key:{SECRET}"]),
]


def test_secrets_of_a_command_line_go() -> None:
    told = [(words, alone(redact_arguments, words), tuple(kept)) for words, kept in COMMAND_LINES]
    assert not [row for row in told if row[1] != row[2]]


KNOWN_FORMS = [HUGGING, OPENAI, GITHUB, AMAZON]
AROUND = ["{}", "x = '{}'", "see {}, it fails", "+{}", "[{}]", "curl -u {}:x", "{}\n{}"]


def test_known_forms_go_wherever_they_stand() -> None:
    texts = [(around.replace("{}", secret), secret) for secret in KNOWN_FORMS for around in AROUND]
    assert not [text for text, secret in texts if secret in alone(redact_text, text)]


SECRET_LINES = [
    'api_key = "VALUE"',
    "API_KEY: str = 'VALUE'",
    "ValueError: refused: password='VALUE'",
    'self.api_key="VALUE"',
    'os.environ["WANDB_API_KEY"] = "VALUE"',
    "os.environ.setdefault('HF_TOKEN', 'VALUE')",
    'key = os.getenv("OPENAI_API_KEY", "VALUE")',
    'login(token="x", password="VALUE")',
    'config = {"lr": 1, "client_secret": "VALUE"}',
    'secret = ("first"\n          "VALUE")',
    'secret = "first" + "VALUE"',
    'secret = """first\nVALUE"""',
    "password = f'{user}VALUE'",
    'password = b"VALUE"',
    '+    access_token = "VALUE"',
    "-export API_KEY=VALUE",
    "API_TOKEN=VALUE",
    "+password: VALUE99x",
    'headers = {"Authorization": "Bearer VALUE"}',
    'headers = {"authorization": "token VALUE"}',
    'parser.add_argument("--api-key", type=str, default="VALUE")',
    'parser.add_argument("--x", default=1)\nparser.add_argument("--password",\n    default="VALUE")',
    "python train.py --api-key=VALUE",
    "https://me:VALUE@example.com",
    "https://example.com/?a=1&token=VALUE17abcdefgh",
    "-----BEGIN RSA PRIVATE KEY-----\nVALUE\n-----END RSA PRIVATE KEY-----",
    "+-----BEGIN PRIVATE KEY-----\n+VALUE\n",
    "AccountName=x;AccountKey=VALUE;",
    'wandb.login(key="VALUE0123456789abcdef0123456789")',
    'wandb.login("never", "VALUE0123456789abcdef0123456789")',
    'secret_code = "VALUE"',
    'config = {"lr": 1, "secret_env": "VALUE"}',
    'config = {"auth": ["bob", "VALUE"]}',
    'requests.get(url, auth=("bob", "VALUE"))',
    "aws_secret_access_key = VALUE/K7MDENG/bPxRfiCYEXAMPLE",
    "WANDB_API_KEY = VALUE0123456789abcdef",
    "      - WANDB_API_KEY=VALUE",
    'API_KEYS = ["VALUE", "VALUE"]',
    'config = {"api_key": ["VALUE"], "lr": 1}',
    'secrets = {"wandb": ["a1"], "hf": "VALUE"}',
    'api_key = os.environ.get("X") or "VALUE"',
    'api_key = os.environ.get("API_KEY") or "VALUE"',
    'self.api_key = api_key if api_key else "VALUE"',
    'DB_PASS = "VALUE"',
    "smtp_pass: 'VALUE'",
    'dsn = "host=db user=me password=VALUE dbname=x"',
    'setattr(config, "api_key", "VALUE")',
    'config.set("wandb", "api_key", "VALUE")',
    'subprocess.run(["train.py", "--api-key", "VALUE"])',
    'dict(name="api_key", value="VALUE")',
    "- name: HF_TOKEN\n  value: VALUE0123456789abcdef",
    "HF_TOKEN=VALUE  # mine",
    "HF_TOKEN=VALUE python train.py",
    "%env WANDB_API_KEY=VALUE",
    "ENV HF_TOKEN VALUE",
    "machine api.wandb.ai login user password VALUE0123456789abcdef",
    'api_key: str = field(default="VALUE")',
    'api_key = SecretStr("VALUE")',
    'if (api_key := "VALUE"):',
    'if password == "VALUE":',
    'API_KEY = \\\n    "VALUE"',
    "-----BEGIN PGP PRIVATE KEY BLOCK-----\nVALUE\n-----END PGP PRIVATE KEY BLOCK-----",
]


def test_secrets_of_source_and_diffs_go() -> None:
    assert all("VALUE" in line for line in SECRET_LINES)
    told = {line: alone(redact_text, line) for line in SECRET_LINES}
    assert not {line: text for line, text in told.items() if "VALUE" in text or SECRET not in text}


PLAIN_LINES = [
    "token = tokenizer.decode(ids)",
    'key = "train_loss"',
    'x = sorted(y, key="name")',
    "api_key: str",
    "api_key = os.environ[name]",
    "api_key=args.api_key",
    "password = getpass()",
    'pad_token = "<pad>"',
    "max_tokens = 512",
    "key, query, value = x.chunk(3)",
    'parser.add_argument("--token", help="the token to log in with")',
    'for key in ["weight", "bias"]: pass',
    "attn = softmax(query @ key.T / key_dim ** 0.5)",
    "self.cls_token = nn.Parameter(torch.zeros(1, 1, dim))",
    'state = {"key": "layer1.weight"}',
    "# the key to success: a small learning rate",
    "KeyError: 'encoder.weight'",
    "user_tokens = 128",
    'user_token = "<|user|>"',
    'token = "[CLS]"',
    '{"user_key": "user_id", "root_key": "state_dict"}',
    'os.path.join(pwd, "data")',
    'torch.save(credentials, "a.pt")',
    'model = "sk-learn-random-forest-v2-large"',
    'print("password: ", "x")',
    'print("the secret: ", x, "and more")',
    'open("credentials.json", "r")',
    "f(api_key=api_key, password=None)",
    "http://localhost:6006/x?key=val_loss",
    'f"password={password}"',
    '"login failed: password=%s"',
    "# the data for key torchelastic/data0",
]


def test_plain_source_stays_as_it_is() -> None:
    assert not [line for line in PLAIN_LINES if alone(redact_text, line) != line]


def test_values_go_by_the_name_that_holds_them() -> None:
    assert redact_value("api_key", "abc") == SECRET
    assert redact_value("password", 1234) == SECRET
    assert redact_value("use_auth_token", True) is True
    assert redact_value("max_tokens", 512) == 512
    assert redact_value("token", 5) == 5  # a token's number
    assert redact_value("token", "abc") == SECRET
    assert redact_value("lr", 0.1) == 0.1
    assert redact_value("note", f"made with {GITHUB}") == f"made with {SECRET}"
    assert redact_value("password", "") == ""
    assert redact_value("secrets.wandb", "abc") == SECRET
    assert redact_value("credentials.url", "abc") == SECRET
    assert redact_value("secret_env", "hunter2") == SECRET
    assert (redact_value("pin", 1234), redact_value("pin", "1234")) == (SECRET, SECRET)
    assert (redact_value("pin", 4), redact_value("pin", 10**5000), redact_value("pin", True)) == (
        4,
        10**5000,
        True,
    )


COUNTS_LABELS_PATHS = [
    ("user_tokens", 128),
    ("bot_tokens", 5),
    ("access_tokens", 7),
    ("num_cookies", 4),
    ("secret_weight", 0.3),
    ("user_token", "<|user|>"),
    ("key", "val_loss"),
    ("token", "[CLS]"),
    ("user_key", "user_id"),
    ("api_key_env", "OPENAI_API_KEY"),
    ("pwd", "/home/me/run1"),
    ("login", "bob"),
]


def test_counts_labels_and_paths_stay() -> None:
    assert not [(name, value) for name, value in COUNTS_LABELS_PATHS if alone(redact_value, name, value) != value]


@pytest.mark.parametrize(
    ("plain", "kept"),
    [
        ({"api_keys": ["abc123"]}, {"api_keys": [SECRET]}),
        ({"password": ["hunter2"]}, {"password": [SECRET]}),
        ({"credentials": {"value": "hunter2", "on": True}}, {"credentials": {"value": SECRET, "on": True}}),
        ({"secrets": {"a": [{"b": "c"}, 1, None]}}, {"secrets": {"a": [{"b": SECRET}, SECRET, None]}}),
        ({"password": 12345}, {"password": SECRET}),
        ({"api_keys": 3}, {"api_keys": 3}),
    ],
)
def test_all_that_lies_under_a_sure_name_goes(plain: object, kept: object) -> None:
    assert redact_plain(plain) == kept


@pytest.mark.parametrize(
    "options",
    [
        'parser.add_argument("-k", "--api-key")',
        "parser.add_argument('--api-key', '-k', help='to log in')",
        '@click.option(\n    "-k",\n    "--api-key",\n)',
    ],
)
def test_a_short_option_is_known_by_its_long_name_in_the_script(options: str) -> None:
    words = ["-k", "hunter2", "-v", "-khunter2", "-n", "3"]
    assert redact_arguments(words, options) == ("-k", SECRET, "-v", f"-k{SECRET}", "-n", "3")
    assert redact_arguments(["-k", "5"], 'parser.add_argument("-k", "--top-k")') == ("-k", "5")


def test_what_stood_under_a_sure_name_goes_from_every_later_text() -> None:
    redact_arguments(["--password", "hunter2"])
    redact_value("api_key", 'quo"ted1')
    assert redact_text("refused: hunter2, 'quo\"ted1'") == f"refused: {SECRET}, '{SECRET}'"
    assert redact_text("xhunter2") == "xhunter2"  # within a longer word it is another
    assert may_hold_secrets('{"a": "quo\\"ted1"}')


@pytest.mark.parametrize("value", ["abc", "default", "val_loss", "/data/x1", "123456"])
def test_a_word_that_may_stand_anywhere_is_not_remembered(value: str) -> None:
    assert redact_value("password", value) == SECRET
    assert redact_text(f"a {value} b") == f"a {value} b"


def test_in_a_message_what_is_said_of_a_secret_goes_and_then_from_the_traceback() -> None:
    @dataclass(frozen=True)
    class Crash:
        message: str
        traceback: str

    told = redact_record(Crash("login failed: password=Hunter, api_key: Abcdefg)", "f('Hunter', 'Abcdefg')"))
    assert told == Crash(f"login failed: password={SECRET}, api_key: {SECRET})", f"f('{SECRET}', '{SECRET}')")
    assert redact_message("password: must be longer") == "password: must be longer"


def test_what_a_header_names_before_its_secret_is_no_secret() -> None:
    """Remembered as one it would go from the next header, and with it what tells that a secret follows."""
    remembered.forget()
    for value in ("a1b2c3d4e5f6a7b8c9", "b2c3d4e5f6a7b8c9d0"):
        assert redact_message(f"Authorization: Bearer {value}") == f"Authorization: Bearer {SECRET}"


def test_what_stands_beside_a_secret_stays() -> None:
    assert redact_text("Client(password=1234, retries=3)") == f"Client(password={SECRET}, retries=3)"
    assert redact_text('smtp.login("me", "a(b")') == f'smtp.login("me", "{SECRET}")'
    assert redact_text(f"Client(password={SECRET}, retries=3)") == f"Client(password={SECRET}, retries=3)"
    assert redact_text("docker login -u me -p x9 host") == f"docker login -u me -p {SECRET} host"
    assert redact_text("f\"{u}?token={'x9'}&n={n}\"") == f"f\"{{u}}?token={{'{SECRET}'}}&n={{n}}\""


def test_a_number_that_an_option_has_from_the_start_goes() -> None:
    line = 'parser.add_argument("--password", type=int, default=3466439456)'
    assert redact_text(line) == line.replace("3466439456", SECRET)
    line = 'parser.add_argument("--max-tokens", type=int, default=4096)'
    assert redact_text(line) == line


def test_json_is_searched_however_deep() -> None:
    plain = {"a": [{"password": "x"}, {"text": f"{AMAZON} here"}], "key": "layer1.weight", "n": 1, "none": None}
    assert redact_plain(plain) == {
        "a": [{"password": SECRET}, {"text": f"{SECRET} here"}], "key": "layer1.weight", "n": 1, "none": None
    }  # fmt: skip


def test_records_are_made_again_without_secrets() -> None:
    @dataclass(frozen=True)
    class Told:
        text: str
        inner: tuple[Told, ...] = ()
        evidence: dict[str, object] = field(default_factory=dict)

    told = Told("password='x'", (Told(f"a {GITHUB}"),), {"api_key": "abc", "steps": 3})
    assert redact_record(told) == Told(f"password='{SECRET}'", (Told(f"a {SECRET}"),), {"api_key": SECRET, "steps": 3})


def test_names_are_read_in_every_spelling() -> None:
    assert all(map(is_secret_name, ["apiKey", "API_KEY", "api-key", "my.api.key", "ApiKey2", "APIKEY", "hfToken"]))
    assert not any(map(is_secret_name, ["keyboard", "tokenizer", "secret_length", "key", "passes", "", "_", "42"]))


@settings(deadline=None)
@given(st.text(alphabet=string.printable, max_size=300))
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    once = redact_text(text)
    assert redact_text(once) == once
    assert once == text or may_hold_secrets(text)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.text(max_size=30), max_size=6))
def test_no_word_of_a_command_line_is_lost(words: list[str]) -> None:
    assert len(redact_arguments(words)) == len(words)


PIECES = [
    " ", "\n", "\t", "'", '"', "[", "(", "{", "]", "a", "A", "1", "-", "=", ":", ",", "\\", "a ", "a,", "a.",
    "'a' ", '"a",', "sk-", "eyJ-", "a=", "--", "key", "key = ", "://", "://a:", "'\"", "default=", "'--a",
    "'--api-key' ", 'api_key = "', 'key = """', "api_key = [", "api_key: a | ", "api_key: a[", "login(",
    "password = x or ",
    "authorization: ", "Bearer ", "-----BEGIN ", "?key=", "api_key,  value  ", "token,\n",
    "sshpass -p ", "docker login ", "docker login -p", ".login('a',", ".login(a,", ".login(a[", "FTP(a, ",
    "auth=(a,", "okta", "okta 00a", "f'token={'", "token={'a'", "password: 1", "pin=", "pin: int",
    "contraseña ", "密码", "mot de ", "t1.a", "pat.a.", "sl.a", "pk.eyJ", "sc_abcde.", "b8Q~", "bearer {'", "://a:{'",
    "the password is ", "aaaaaa_",
]  # fmt: skip
HOSTILE = """
import json, resource, sys, time
from torch_debugger.system.redaction import redact_arguments, redact_message, redact_text
for piece in json.loads(sys.argv[1]):
    print(repr(piece), flush=True)
    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + 5, resource.RLIM_INFINITY))
    text = piece * (40_000 // len(piece))
    assert redact_text("the key is missing" + text) and redact_message("password = " + text)
    assert len(redact_arguments(["api_key" + text, "--api-key", text], text)) == 3
"""


def test_hostile_texts_are_read_to_their_end() -> None:
    """The limit is one of processor time: each of these takes a third of a second of it, but with time that
    grows with the square, six and more."""
    done = subprocess.run([sys.executable, "-c", HOSTILE, json.dumps(PIECES)], capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout.split()[-1:]} was not read to its end: {done.stderr}"
