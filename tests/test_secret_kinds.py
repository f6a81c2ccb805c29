"""Secrets of many makers, made up anew in each form that their makers document, wherever a script has them."""

from __future__ import annotations

import json
import random
import re
import string
from collections.abc import Callable

import pytest

from torch_debugger.system.redaction import (
    may_hold_secrets,
    redact_arguments,
    redact_message,
    redact_plain,
    redact_text,
    redact_value,
)
from torch_debugger.system.secret_names import ALL, SECRET, forget

LETTERS = {
    "a": string.ascii_letters + string.digits,
    "h": string.digits + "abcdef",
    "d": string.digits,
    "u": string.ascii_uppercase + string.digits,
    "l": string.ascii_lowercase + string.digits,
    "w": string.ascii_letters + string.digits + "-_",
    "b": string.ascii_letters + string.digits + "+/",
    "c": string.ascii_uppercase,
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
    "wandb": "wandb_v1_{w60}",
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
    "1password": "A3-{u6}-{u11}-{u5}-{u5}-{u5}",
    "1password-service": "ops_eyJ{b260}",
    "adobe": "p8e-{l32}",
    "alibaba": "LTAI{a20}",
    "anyscale": "esecret_{l26}",
    "artifactory-reference": "cmVmdGtuO{a55}",
    "authress": "scauth_{a12}.{a5}.acc-{l16}.{w60}",
    "azure-ad": "{a3}8Q~{w31}",
    "azure-ad-with-dots": "a.{a1}8Q~{w15}.{w17}",
    "bedrock": "ABSK{b120}=",
    "bedrock-short": "bedrock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29t{b40}",
    "clickhouse": "4b1d{c1}{a37}",
    "clojars": "CLOJARS_{l60}",
    "cloudflare-origin": "v1.0-{h24}-{h146}",
    "contentful": "CFPAT-{w43}",
    "defined-networking": "dnkey-{l26}-{l52}",
    "dropbox": "sl.{w135}",
    "duffel": "duffel_live_{w43}",
    "easypost": "EZAK{a54}",
    "easypost-test": "EZTK{a54}",
    "flutterwave": "FLWSECK_TEST-{h32}-X",
    "fly-old": "fo1_{w43}",
    "frameio": "fio-u-{w64}",
    "gitlab-runners": "GR1348941{w20}",
    "gitlab-apps": "gloas-{w64}",
    "gitlab-agents": "glagent-{w50}",
    "gitlab-mail": "glimt-{w25}",
    "gitlab-flags": "glffct-{w20}",
    "gitlab-session": "_gitlab_session={h32}",
    "grafana-old": "eyJrIjoi{a80}",
    "harness": "pat.{w22}.{a24}.{a20}",
    "hubspot": "pat-na1-{h8}-{h4}-{h4}-{h4}-{h12}",
    "infracost": "ico-{a32}",
    "intra42": "s-s4t2ud-{h64}",
    "jwt-in-base64": "ZXlKaGJHY2lPaU{b80}",
    "langfuse": "sk-lf-{h8}-{h4}-{h4}-{h4}-{h12}",
    "mapbox": "sk.eyJ1{a60}.{w22}",
    "maxmind": "{a6}_{a29}_mmk",
    "netlify": "nfp_{a36}",
    "octopus": "API-{u26}",
    "okta": "SSWS 00{w40}",
    "openshift": "sha256~{w43}",
    "plaid": "access-production-{h8}-{h4}-{h4}-{h4}-{h12}",
    "readme": "rdme_{l70}",
    "scalingo": "tk-us-{w48}",
    "sendinblue": "xkeysib-{h64}-{a16}",
    "settlemint": "sm_pat_{a16}",
    "shippo": "shippo_live_{h40}",
    "sourcegraph": "sgp_{h16}_{h40}",
    "typeform": "tfp_{w59}",
    "yandex": "AQVN{w36}",
    "yandex-iam": "t1.{w60}.{w86}",
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
        "sshpass -v -p '{} {}' ssh gpu1",
        'subprocess.run(["sshpass", "-p", "{}", "ssh", "gpu1"])',
        "docker login -u me -p {}",
        "docker login -u me -p{} registry.example.com",
        "docker login registry.example.com -u me --password {}",
        "docker login --username me --password='{}'",
        "docker login \\\n  -u me \\\n  -p {}",
        "podman login -p {} -u me quay.io",
        'subprocess.check_call(["docker", "login", "-u", "me", "-p", "{}"])',
        'smtp.login("me@x.org", "{}")',
        "self.server.login(os.environ['MAIL'], '{}')",
        'ftp.login(user, "{}")',
        'ftp.login(user="bob", passwd="{}")',
        'ftp = FTP("example.com", "bob", "{}")',
        'imap.login(\n    "me",\n    "{}",\n)',
        'requests.get(url, auth=("user", "{}"))',
        'requests.get(url, auth=(user, "{}"))',
        'session.auth = ("user", "{}")',
        'Elasticsearch(url, basic_auth=("elastic", "{}"))',
        'requests.get(url, auth=HTTPBasicAuth("user", "{}"))',
        "aiohttp.BasicAuth(user, '{}')",
        """f"token={'{}'}\"""",
        """f'{url}?token={"{}"}'""",
        """f"https://x.org/?key={'{}'}&a=1\"""",
        """f"key: {'{}'}\"""",
        """f"Bearer {'{}'}\"""",
        """f"https://bob:{'{}'}@x.org\"""",
        "Authorization: SSWS 00{}{}",
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
        text = line.replace("{}", value).replace("{{", "{").replace("}}", "}")
        assert may_hold_secrets(text)
        assert value not in redact_text(text)
        assert value not in redact_message(text)


@pytest.mark.parametrize(
    "line",
    [
        'OKTA = "{}"', "okta.client: {}", 'okta_config["value"] = "{}"', 'headers = {"X-Okta": "SSWS {}"}',
        "OKTA_ORG={}",
    ],
)  # fmt: skip
def test_known_where_okta_stands_before_it(line: str) -> None:
    draw = random.Random(line)
    for _ in range(20):
        value = made("00{w40}", draw)
        assert value not in redact_text(line.replace("{}", value))


PASSWORDS = (
    "Passwort", "PASSWORT", "db_passwort", "Kennwort", "mot de passe", "Mot de passe", "contraseña",
    "Contraseña", "contrasena", "senha", "SENHA", "wachtwoord", "hasło", "haslo", "пароль", "Пароль",
    "パスワード", "密码", "我的密码", "密碼", "비밀번호", "lösenord", "şifre", "mật khẩu",
)  # fmt: skip


@pytest.mark.parametrize("word", PASSWORDS)
def test_known_by_the_word_for_it_in_other_languages(word: str) -> None:
    draw = random.Random(word)
    named = "{}_1: {}", "{} = '{}'", 'login({}="{}")', '{"{}": "{}"}', "--{}={}"
    lines = ("{}: {}", "# {}: {}", "{} : {}", "{}：{}", '{"{}": "{}"}')  # noqa: RUF001 - the colon of Chinese texts
    for line in (*lines, *(() if " " in word else named)):
        value = made("{a12}", draw)
        text = line.replace("{}", word, 1).replace("{}", value)
        assert may_hold_secrets(text)
        assert value not in redact_text(text)
        assert value not in redact_message(text)
        forget()
    value = made("{a12}", draw)
    assert redact_plain({word: value}) == {word: SECRET}


@pytest.mark.parametrize("name", ["password", "DB_PASSWORD", "passwd", "client_secret", "passcode", "pin", "user_pin"])
def test_numbers_that_are_secrets_are_known_by_their_names(name: str) -> None:
    draw = random.Random(name)
    lines = (
        '{{"{}": {}}}', "{{'user': 1, '{}': {}, 'port': 5432}}", '{{\n  "{}": {},\n  "lr": 0.1\n}}', "{} = {}",
        "{}={}", "{}: {}\nlr: 1", "Client({}={}, retries=3)", 'config["{}"] = {}', "self.{} = {}",
        "{}: int = {}", 'setattr(config, "{}", {})', '{{"{}": "{}"}}', "if {} == {}:", "{} = {}  # for now",
    )  # fmt: skip
    kept = []
    for line in lines:
        value = made("{d10}" if "pin" not in name else "{d4}", draw).replace("0", "7")
        text = line.format(name, value)
        told = redact_text(text)
        assert told.count("(") == text.count("(") and told.count(")") == text.count(")"), told
        assert told.count(",") == text.count(",") and told.count("}") == text.count("}"), told
        kept += [told] if value in told else []
        assert redact_plain({name: int(value)}) == {name: SECRET}
    assert kept == []


NUMBERS_THAT_STAY = [
    "password_length = 12", "max_tokens = 512", "token_ids = [101, 2023]", "f(num_tokens=1000)",
    '{"tokens": 3466439456}', '{"token": 50256}', '{"access_tokens": 7000}', '{"pad_token_id": 50256}',
    '{"eos_token": 50256, "key": 12345}', '{"max_tokens": 4096, "min_tokens": 1024}', "token = 50256",
    '{"password_min_length": 1000}', '{"passwords": 14344391}', '{"tokens_seen": 3466439456}', "n_tokens: 4096",
    "pin_memory = True", "pin_memory: 1", 'config["pin"] = 4', "spin = 2024", "mapping: 123456", "pin = None",
    '{"num_secrets": 1000}', '{"secret_size": 4096}', '{"user_tokens": 12800}', '{"auth_token": 128009}',
    '{"pins": 10000}', "encoder(key=1000, token=30522)", '{"max_password_length": 1024}',
]  # fmt: skip


def test_numbers_that_count_stay() -> None:
    assert not [text for text in NUMBERS_THAT_STAY if redact_text(text) != text]


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
        "v1.0-beta; v1.0-rc1-0123456789abcdef01234567; __version__ = 'v1.0-beta'",
        "commit 0123456789abcdef0123456789abcdef01234567, tree 9f8e7d6c5b4a3f2e1d0c9b8a7f6e5d4c3b2a1908",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "4b1d2c3e4f5a6b7c8d9e0f1a2b3c4d5e6f7a8b9c",
        "tfp_distribution = tfp.distributions.Normal; tfp_bijector_chain_of_every_layer_that_it_has_1 = 3",
        "sl.forward(x); pat.compile(y); ops_per_second = 3; API-reference; api-docs-for-the-second-version",
        "sm_pat_size = 16; fo1_score = 0.5; access-production-logs; ico-sahedron; EZAKIEL = 'name'",
        "esecret_ingredient = 3; clojars_url = None; CLOJARS_USER = 'me'",
        "A3-size paper; sha3-256; nfp_ratio = 1.5; t1.item(); live_plot = True",
        "docker run -p 8080:80 image; docker login; docker login --password-stdin -u me",
        "docker compose -p project up; ssh -p 2222 host; sshpass -e ssh -p 2222 host",
        "wandb.login(); huggingface_hub.login(token=token); smtp.login(user, password); client.login(*args)",
        'api.login("me", password=os.environ["PW"])',
        'smtp.login(user, f"{password}")',
        "auth = (user, password); r = get(url, auth=(args.user, args.password))",
        'f"token={token}"; f"token={tokens[0]}"; f"key={key!r}"; f"{key}={value}"',
        "f\"token={'[CLS]'}\"",
        'f"https://x.org/?token={token}&n=1"',
        "token = {'[CLS]'}; keys = {'loss', 'accuracy'}; key = {'loss'}",
        "okta_url = 'https://example.okta.com'; okta = None",
        "desenha = 1; desenhar_grafico(x='linha'); mot = 'parole'; passe = 3; la_passe: int = 4",
        "密度: 0.5; 损失: 1.25; точность: 0.987; größe: 128; épocas = 12; 学習率 = 0.001",
        "passwort_laenge = 12; contraseñas_len = 3",
    ],
)
def test_what_only_begins_like_one_stays(text: str) -> None:
    assert redact_text(text) == text


def test_every_form_is_looked_for() -> None:
    """A text with a secret is searched only for its signs."""
    assert all(form.signs == form.signs.lower() and form.signs for form in ALL)
    assert len(BY_FORM) + len(BY_NAME) >= 120


@pytest.mark.parametrize(
    ("words", "secret"),
    [
        (["sshpass", "-p", "{}", "ssh", "-p", "2222", "gpu1"], 2),
        (["/usr/bin/sshpass", "-p{}", "ssh", "gpu1"], 1),
        (["docker", "login", "-u", "me", "-p", "{}", "registry.example.com"], 5),
        (["docker", "login", "-u", "me", "--password", "{}"], 5),
        (["--passwort", "{}", "--lr", "1"], 1),
        (["--pin", "{}", "--lr", "1"], 1),
    ],
)
def test_of_a_command_only_the_secret_goes(words: list[str], secret: int) -> None:
    value = made("{d8}", random.Random(words[0])).replace("0", "1")
    told = redact_arguments([word.replace("{}", value) for word in words])
    assert told == tuple(word.replace("{}", SECRET) for word in words)
    assert SECRET in told[secret]


def test_ports_stay_in_a_command() -> None:
    for command in ("docker run -p 8080:80 image", "sshpass -e ssh -p 2222 host", "ssh -p 2222 host"):
        assert " ".join(redact_arguments(command.split())) == command
