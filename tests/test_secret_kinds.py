"""Secrets of many makers, made up anew in each form that their makers document, wherever a script has them."""

from __future__ import annotations

import json
import random
import re
import string
from collections.abc import Callable

import pytest

from torch_debugger.redaction import redact_arguments, redact_plain, redact_text, redact_value
from torch_debugger.redaction.forms import ALL
from torch_debugger.redaction.remembered import forget
from torch_debugger.redaction.texts import may_hold_secrets, redact_message

LETTERS = {
    "a": string.ascii_letters + string.digits,
    "h": string.digits + "abcdef",
    "d": string.digits,
    "u": string.ascii_uppercase + string.digits,
    "l": string.ascii_lowercase + string.digits,
    "w": string.ascii_letters + string.digits + "-_",
    "b": string.ascii_letters + string.digits + "+/",
}
# {a20}: twenty letters or digits.
BY_FORM = {
    "huggingface": "hf_{a34}",
    "huggingface-org": "api_org_{a34}",
    "openai": "sk-{a48}",
    "openai-project": "sk-proj-{w74}T3Bl{w74}",
    "anthropic": "sk-ant-api03-{w93}AA",
    "openrouter": "sk-or-v1-{h64}",
    "deepseek": "sk-{h32}",
    "groq": "gsk_{a52}",
    "xai": "xai-{a80}",
    "nvidia": "nvapi-{w64}",
    "perplexity": "pplx-{a48}",
    "cerebras": "csk-{l48}",
    "together": "tgp_v1_{w43}",
    "elevenlabs": "sk_{h48}",
    "tavily": "tvly-dev-{a32}",
    "jina": "jina_{h32}{w28}",
    "pinecone": "pcsk_{a6}_{a63}",
    "langsmith": "lsv2_pt_{h32}_{h10}",
    "runpod": "rpa_{u40}",
    "replicate": "r8_{a37}",
    "wandb": "wandb_v1_{a60}",
    "kaggle": "KGAT_{h32}",
    "databricks": "dapi{h32}",
    "github": "ghp_{a36}",
    "github-app": "ghs_{a36}",
    "github-fine-grained": "github_pat_{a22}_{a59}",
    "gitlab": "glpat-{w20}",
    "gitlab-deploy": "gldt-{w20}",
    "bitbucket": "ATBB{a32}",
    "atlassian": "ATATT3x{w180}={h8}",
    "aws": "AKIA{u16}",
    "aws-session": "ASIA{u16}",
    "google": "AIza{w35}",
    "google-oauth": "ya29.{w120}",
    "google-refresh": "1//0{w60}",
    "google-client": "GOCSPX-{w28}",
    "digitalocean": "dop_v1_{h64}",
    "heroku": "HRKU-{h8}-{h4}-{h4}-{h4}-{h12}",
    "supabase": "sbp_{h40}",
    "planetscale": "pscale_tkn_{w43}",
    "tailscale": "tskey-auth-{a12}-{a32}",
    "vault": "hvs.{w90}",
    "terraform": "{a14}.atlasv1.{w67}",
    "pulumi": "pul-{h40}",
    "doppler": "dp.pt.{a43}",
    "grafana": "glsa_{a32}_{h8}",
    "grafana-cloud": "glc_{b60}",
    "newrelic": "NRAK-{u27}",
    "dynatrace": "dt0c01.{u24}.{u64}",
    "sentry": "sntryu_{h64}",
    "sonarqube": "squ_{h40}",
    "circleci": "CCIPAT_{a22}_{h40}",
    "docker": "dckr_pat_{w27}",
    "artifactory": "AKCp{a69}",
    "npm": "npm_{a36}",
    "pypi": "pypi-AgEIcHlwaS5vcmc{w120}",
    "rubygems": "rubygems_{h48}",
    "slack": "xoxb-{d12}-{d13}-{a24}",
    "slack-app": "xapp-1-A{u10}-{d13}-{h64}",
    "telegram": "{d10}:AA{w33}",
    "stripe": "sk_live_{a24}",
    "stripe-webhook": "whsec_{a32}",
    "square": "sq0atp-{w22}",
    "shopify": "shpat_{h32}",
    "sendgrid": "SG.{w22}.{w43}",
    "mailgun": "key-{h32}",
    "mailchimp": "{h32}-us12",
    "postman": "PMAK-{h24}-{h34}",
    "linear": "lin_api_{a40}",
    "notion": "ntn_{a46}",
    "figma": "figd_{w40}",
    "age": "AGE-SECRET-KEY-1{u58}",
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJ{w40}.{w43}",
}
# Of no form of their own: known by the name that they go by.
BY_NAME = {
    "comet": "{a25}",
    "cohere": "{a40}",
    "mistral": "{a32}",
    "azure-storage": "{b86}==",
    "aws-secret": "{b40}",
    "base64-of-16": "{b22}==",
    "base64-of-17": "{b23}=",
    "letters-alone": "correcthorsebattery",
    "a-password": "hunter2!",
    "hex-32": "{h32}",
    "hex-64": "{h64}",
}
NAMES = ("api_key", "password", "ACCESS_TOKEN", "clientSecret", "WANDB_API_KEY", "azure.storage_key")

# How a script, its settings and its output have a secret under a name.
NAMED = {
    "assigned": "{name} = '{value}'",
    "annotated": '{name}: str = "{value}"',
    "annotated-by-text": '{name}: "str" = "{value}"',
    "annotated-optional": '{name}: Optional[str] = "{value}"',
    "a-keyword": 'Client(host, {name}="{value}", retries=3)',
    "a-key": '{{"{name}": "{value}"}}',
    "a-key-with-more-behind": "{{'user': 'bob', '{name}': '{value}', 'port': 5432}}",
    "json": '{{\n  "{name}": "{value}",\n  "lr": 0.1\n}}',
    "yaml": '{name}: "{value}"\nlr: 0.1\n',
    "a-subscript": 'config["{name}"] = "{value}"',
    "an-attribute": 'settings.{name} = "{value}"',
    "an-environment": 'os.environ["{name}"] = "{value}"',
    "a-default": 'os.environ.get("X_{name}") or "{value}"',
    "set": 'setattr(self, "{name}", "{value}")',
    "a-line-of-a-diff": '+    {name} = "{value}"',
}


def made(template: str, draw: random.Random) -> str:
    def letters(match: re.Match[str]) -> str:
        return "".join(draw.choices(LETTERS[match[1]], k=int(match[2]) - 1)) + draw.choice(LETTERS["h"][:10])

    return re.sub(r"\{([a-z])(\d+)\}", letters, template)


@pytest.fixture(autouse=True)
def nothing_is_remembered() -> None:
    forget()  # each must be found for what it is


SAID: dict[str, Callable[[str], str]] = {
    "alone": redact_text,
    "in source": lambda value: redact_text(f"client = Client('{value}')  # for now\n"),
    "in a comment": lambda value: redact_text(f"# old one: {value}\nx = 1\n"),
    "in a message": lambda value: redact_message(f"401 Client Error: {value} is not valid"),
    "in a traceback": lambda value: redact_text(f'  File "a.py", line 3, in <module>\n    login("{value}")\n'),
    "in a local": lambda value: str(redact_value("x", f"{value}")),
    "in a setting": lambda value: json.dumps(redact_plain({"run": {"extra": [value]}})),
    "in an argument": lambda value: " ".join(redact_arguments(["--tag", value, "--lr=0.1"])),
    "in an address": lambda value: redact_text(f"https://example.com/v1/models?x={value}&page=2"),
}


@pytest.mark.parametrize("kind", BY_FORM)
def test_known_by_its_form_wherever_it_stands(kind: str) -> None:
    draw = random.Random(kind)
    kept = []
    for _ in range(10):
        value = made(BY_FORM[kind], draw)
        assert may_hold_secrets(value), f"not looked for: {value}"
        kept += [f"{where}: {told}" for where, say in SAID.items() if value in (told := say(value))]
    assert kept == []


@pytest.mark.parametrize("form", NAMED)
def test_known_by_the_name_that_it_stands_under(form: str) -> None:
    draw = random.Random(form)
    kept = []
    for kind, template in (BY_FORM | BY_NAME).items():
        for name in NAMES:
            if not (name.isidentifier() or "[" in form or '"{name}"' in NAMED[form]):
                continue
            value = made(template, draw)
            text = NAMED[form].format(name=name, value=value)
            kept += [f"{kind}: {told}" for told in [redact_text(text)] if value in told]
            forget()
    assert kept == []


@pytest.mark.parametrize("name", NAMES)
def test_known_by_its_name_as_an_argument_a_setting_and_a_local(name: str) -> None:
    draw = random.Random(name)
    option = "--" + name.replace("_", "-").replace(".", "-").lower()
    kept = []
    for kind, template in (BY_FORM | BY_NAME).items():
        value = made(template, draw)
        told = (
            " ".join(redact_arguments([option, value])),
            " ".join(redact_arguments([f"{option}={value}"])),
            json.dumps(redact_plain({"logger": {name: value}})),
            str(redact_value(name, value)),
        )
        kept += [f"{kind}: {each}" for each in told if value in each]
        forget()
    assert kept == []


@pytest.mark.parametrize(
    "line",
    [
        "curl -u bob:{} https://example.com",
        "curl -s --user 'bob:{}' https://example.com",
        "mysql -u root -p{} models",
        "sshpass -p {} ssh gpu1",
        "# password is {}",
        "# the token was: {}",
        "postgres://bob:{}@db/models",
        "https://account.blob.core.windows.net/c?sv=2024&sig={}&se=2026",
        "AccountName=x;AccountKey={};EndpointSuffix=core.windows.net",
        "Authorization: Bearer {}",
        'headers={{"Authorization": "Basic {}"}}',
    ],
)
def test_known_by_what_stands_around_it(line: str) -> None:
    draw = random.Random(line)
    for _ in range(20):
        value = made("{a24}", draw)
        assert value not in redact_text(line.replace("{}", value).replace("{{", "{").replace("}}", "}"))


@pytest.mark.parametrize(
    "text",
    [
        "task = 'mask-rcnn'; path = 'data/patches'; disk = 'hdd'",
        "key: str = field(default_factory=str)",
        "def login(user: str, retries: int = 3): ...",
        "tokens = tokenizer(text); token_ids: list[int] = []",
        "the password is checked by the server",
        "mysql is not installed, run apt install mysql -y",
        "curl -u is an option",
        "hf_model = 'bert-base-uncased'; fw_loss = 0.5; glc_x = 3",
        "sk-learn is imported; pypi-mirror; xai-tools; npm_config",
        "acca = 1; asia = 'continent'; squ_error = 2.0",
        "dapi_url = None",
    ],
)
def test_what_only_begins_like_one_stays(text: str) -> None:
    assert redact_text(text) == text


def test_every_form_is_looked_for() -> None:
    """A text with a secret is searched only for its signs."""
    assert all(form.signs == form.signs.lower() and form.signs for form in ALL)
    assert len(BY_FORM) + len(BY_NAME) >= 60
