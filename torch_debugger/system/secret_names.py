"""How much a name says about what it holds: `api_key` all, `sort_key` a little, `lr` nothing."""

from __future__ import annotations

import functools
import math
import re
from collections import Counter
from enum import IntEnum
from json import dumps
from typing import NamedTuple


class Strength(IntEnum):
    PLAIN = 0
    HINT = 1  # sort_key, pad_token: only what looks random is a secret
    BARE = 2  # key, token, auth, pass
    SOFT = 3  # user_key, secret_env: a secret, unless it reads like a label or a number
    SURE = 4


_ALONE = {
    "password", "passwords", "passwd", "pwd", "pw", "passphrase", "passcode", "secret", "secrets",
    "credential", "credentials", "creds", "apikey", "apikeys", "authorization", "cookie", "cookies", "jwt",
    "bearer",
}  # fmt: skip
_ENDS = ("password", "passwords", "passwd", "passphrase", "secret", "apikey")  # clientsecret, dbpassword
_OWNERS = {
    "api", "access", "secret", "private", "encryption", "encrypt", "signing", "ssh", "auth", "oauth",
    "deploy", "security", "personal", "refresh", "bearer", "login", "license", "webhook", "hf", "hub",
    "huggingface", "wandb", "openai", "anthropic", "comet", "neptune", "mlflow", "clearml", "aim", "gh",
    "github", "gitlab", "slack", "discord", "telegram", "aws", "azure", "gcp", "google", "gemini",
    "cohere", "mistral", "okta", "replicate", "kaggle", "dagshub", "redis", "s3", "ngc", "nvidia", "jwt",
}  # fmt: skip
_LIKELY_OWNERS = {
    "account", "admin", "app", "bot", "client", "database", "db", "git", "master", "root", "service",
    "session", "storage", "user",
}  # fmt: skip
_PASS_OWNERS = _LIKELY_OWNERS | {
    "email", "ftp", "imap", "login", "mail", "mysql", "pg", "postgres", "redis", "smtp", "ssh",
}  # fmt: skip
_BEGINNINGS = {"secret", "password", "passwd", "credential", "credentials", "apikey"}
_FILES = {"json", "py", "toml", "txt", "yaml", "yml"}
_ABOUT = _FILES | {  # a secret's length is none, nor is the file it lies in
    "count", "dim", "dir", "field", "file", "filename", "folder", "id", "len", "length", "limit", "name",
    "names", "path", "size", "type", "url",
}  # fmt: skip
_PIN = re.compile(r"(?:.*[^A-Za-z])?(?i:pin(?:[_-]?code)?)|.*[a-z]Pin(?:Code)?", re.DOTALL)
_FILLERS = {"value", "values", "str", "string", "text", "raw", "default", "plain"}
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_FEWEST_DIGITS = 3
_TELLING = re.compile(r"key|token|secret|pass|pwd?|cred|auth|cookie|jwt|bearer|signature", re.IGNORECASE)


def is_secret_name(name: str) -> bool:
    """Whether a text that goes by this name is a secret, whatever it looks like."""
    return strength(name) >= Strength.SOFT


def is_plural(name: str) -> bool:
    """`access_tokens = 7` counts them."""
    return (_words(name) or [""])[-1].endswith("s")


def is_pin(name: str, value: object) -> bool:
    """`pin = 1234`: a few digits and nothing else. `pin = 4` is one of a plug, `pin = "9f8e7d6c"` a version."""
    if isinstance(value, int):  # Python writes no number of thousands of digits as a text
        few = 1_000 <= value < 10**12
    else:
        few = isinstance(value, str) and re.fullmatch(r"\d{4,12}", value) is not None
    return few and _PIN.fullmatch(name[-80:]) is not None


def is_secret_number(name: str, digits: str) -> bool:
    """`password = 3466439456`. A token that is a number is one of a vocabulary."""
    counts = is_plural(name) or (_words(name) or [""])[-1].endswith("token")
    return len(digits) >= _FEWEST_DIGITS and strength(name) == Strength.SURE and not counts


@functools.lru_cache(maxsize=16384)
def strength(name: str) -> Strength:
    name = in_english(name)
    if not _TELLING.search(name):
        return Strength.PLAIN
    words = _words(name)
    last = (words or [""])[-1]
    above = name.split(".")[:-1]  # secrets.wandb: all that lies under a sure name
    if last not in _FILES and any(_strength_of(_words(part)) == Strength.SURE for part in above):
        return Strength.SURE
    return Strength.PLAIN if last in _ABOUT else _strength_of(words)


def _words(name: str) -> list[str]:
    words = [word.lower() for word in _WORDS.findall(in_english(name))]
    while words and (words[-1] in _FILLERS or words[-1].isdigit()):
        words.pop()
    if words[-3:] in (["access", "key", "id"], ["secret", "key", "id"]):
        words.pop()
    return words


def _strength_of(words: list[str]) -> Strength:
    last, before = (words or [""])[-1], "".join(words[-2:-1])
    kind = next((kind for kind in ("keys", "key", "tokens", "token", "pass") if last.endswith(kind)), "")
    owner = last.removesuffix(kind) or before
    owners, likely = (_PASS_OWNERS, set()) if kind == "pass" else (_OWNERS, _LIKELY_OWNERS)
    if last in _ALONE or last.endswith(_ENDS) or (kind and owner in owners):
        return Strength.SURE
    if words in (["key"], ["token"], ["auth"], ["pass"]):
        return Strength.BARE
    begins = _BEGINNINGS.intersection(words[:-1]) or "api key" in " ".join(words[:-1])
    if begins or (kind and owner in likely):
        return Strength.SOFT
    return Strength.HINT if kind not in ("", "pass") or last in ("auth", "signature") else Strength.PLAIN


# The word for a password in the larger languages: a name that has one is read as if it said `password`.
#
# Left out is what also means something else in ordinary code, as the Italian `parola`, a word.

# In lower case. Between the words of several stands a space, a hyphen, an underscore or nothing.
_LANGUAGES_WORDS = (
    "passwort", "kennwort",  # German
    "mot de passe",
    "contraseña", "contrasena",  # Spanish
    "senha",  # Portuguese
    "wachtwoord",  # Dutch
    "hasło", "haslo",  # Polish
    "lösenord", "adgangskode", "passord",  # Swedish, Danish, Norwegian
    "heslo", "jelszó", "salasana", "şifre",  # Czech, Hungarian, Finnish, Turkish
    "пароль",
    "パスワード",
    "密码", "密碼", "口令",  # Chinese
    "비밀번호",
    "mật khẩu",  # Vietnamese
)  # fmt: skip
_SHORT = 5  # letters: within a longer word these are another, `desenhar` is to draw


def _pattern_of(word: str) -> str:
    whole = len(word) <= _SHORT and word[0].isascii()
    pattern = "[ _-]?".join(map(re.escape, word.split()))
    return rf"(?<![^\W\d_]){pattern}(?![^\W\d_])" if whole else pattern


PASSWORD_SIGNS = tuple(word.split()[-1] for word in _LANGUAGES_WORDS)
PHRASES = "|".join(re.escape(word) for word in _LANGUAGES_WORDS if " " in word)  # names with a space inside
_PASSWORD = re.compile("|".join(map(_pattern_of, _LANGUAGES_WORDS)), re.IGNORECASE)


def in_english(name: str) -> str:
    """db_passwort: db_password. What stands around the word is another one."""
    return _PASSWORD.sub("_password_", name).strip("_") if _PASSWORD.search(name) else name


# What a text looks like by itself: a random string, a label, a path, a well-known kind of secret.
SECRET = "[secret]"
_HARMLESS = {"", "true", "false", "none", "null", "yes", "no", "on", "off", SECRET}
SCHEMES = {"bearer", "basic", "token", "ssws"}  # of a header: the secret stands behind them
_LOOKS_WORDS = re.compile(r"[a-z]+(?:[_/.][a-z]+)+|[A-Z]+(?:_[A-Z]+)+")  # val_loss, OPENAI_API_KEY
_MARK = re.compile(r"[<\[]\|?/?[\w-]{1,30}\|?[>\]]")  # <|user|>, [CLS]
_PATH = re.compile(r"(?:[~.]{0,2}/|[A-Za-z]:\\)")


def is_secret(name: str, level: Strength, value: str) -> bool:
    """Whether a text that goes by a name of this strength is to be hidden."""
    if not level or value.lower() in _HARMLESS:
        return False
    if level == Strength.SURE:
        return not (name.lower().endswith(("pwd", "pw")) and _PATH.match(value))
    if level in (Strength.SOFT, Strength.BARE):
        return not (is_label(name, value) or value.isdigit())
    return looks_random(value)


def is_label(name: str, value: str) -> bool:
    """user_key = "user_id", bot_token = "<|bot|>": words with something between, or a mark of a vocabulary."""
    return len(value) <= 60 and bool(
        _LOOKS_WORDS.fullmatch(value) or ("token" in name.lower() and _MARK.fullmatch(value))
    )


def looks_random(value: str) -> bool:
    """Long, of one piece, letters and digits mixed, no path, no two letters alike beyond chance."""
    if len(value) < 16 or not re.fullmatch(r"[A-Za-z0-9+/=_.~:-]+", value) or value.count("/") > 3:
        return False
    counts = Counter(value)
    bits = -sum(count / len(value) * math.log2(count / len(value)) for count in counts.values())
    return bits > 3.0 and any(map(str.isdigit, value)) and any(map(str.isalpha, value)) and value[0] not in "./"


def is_no_word(value: str) -> bool:
    """`password: hunter22`, and not `password: str` nor `password: config2.password`."""
    dotted = re.fullmatch(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+", value)
    return len(value) >= 8 and any(map(str.isdigit, value)) and not dotted


# Secrets by their own form, a line each: who gives them out, what stands in a text with one, the pattern.
#
# To add one, write what its makers document, as tightly as that allows: a prefix alone would take words of a
# vocabulary or names of runs for secrets. Every repetition is bounded, or nothing has to follow it, so that the time
# grows with the length of a text whatever it holds. Texts in which none of the signs stand, in either case, are not
# searched: mostly the beginning of the secret; where that is a common syllable, the name of its maker.
class SecretForm(NamedTuple):
    who: str
    signs: str  # one or several, in lower case
    pattern: str  # verbose


# Wherever they stand in a text.
_ANYWHERE = (
    SecretForm(
        "private keys",
        "-----begin",
        r"-----BEGIN[A-Z0-9 ]{0,40}PRIVATE\ KEY(?:\ BLOCK)?-----.*?"
        r"(?:-----END[A-Z0-9 ]{0,40}PRIVATE\ KEY(?:\ BLOCK)?-----|\Z)",
    ),
    SecretForm("Slack webhooks", "hooks.slack", r"(?<=hooks\.slack\.com/services/)[\w/]+"),
    SecretForm("Slack workflows", "hooks.slack", r"(?<=hooks\.slack\.com/workflows/)[\w/]+"),
    SecretForm("Slack triggers", "hooks.slack", r"(?<=hooks\.slack\.com/triggers/)[\w/]+"),
    SecretForm("Discord webhooks", "webhooks/", r"(?<=/api/webhooks/)[\w/-]+"),
    SecretForm("Teams webhooks", "webhookb2/", r"(?<=/webhookb2/)[\w@/-]+"),
    SecretForm("Zapier webhooks", "hooks.zapier", r"(?<=hooks\.zapier\.com/hooks/catch/)[\w/]+"),
    SecretForm("Azure shared access", "sig=", r"(?<=[?&;]sig=)[\w%+/=-]{20,}"),
)

# Where a word begins.
_FORMS_WORDS = (
    SecretForm("Hugging Face", "hf_", r"hf_[A-Za-z0-9]{20,}"),
    SecretForm("Hugging Face organizations", "api_org_", r"api_org_[A-Za-z0-9]{20,}"),
    SecretForm("OpenAI, Anthropic", "sk-", r"sk-(?=[\w-]{0,200}\d)(?=[\w-]{0,200}[A-Z])[\w-]{16,}"),
    SecretForm("OpenAI, DeepSeek", "sk-", r"sk-(?=\w{0,200}\d)\w{20,}"),
    SecretForm("OpenRouter", "sk-or-", r"sk-or-v\d-[a-f0-9]{40,}"),
    SecretForm("Groq", "gsk_", r"gsk_[A-Za-z0-9]{20,}"),
    SecretForm("xAI", "xai-", r"xai-[A-Za-z0-9]{20,}"),
    SecretForm("NVIDIA", "nvapi-", r"nvapi-[\w-]{20,}"),
    SecretForm("Perplexity", "pplx-", r"pplx-[A-Za-z0-9]{20,}"),
    SecretForm("Cerebras", "csk-", r"csk-[a-z0-9]{30,}"),
    SecretForm("Together", "tgp_v", r"tgp_v\d_[\w-]{20,}"),
    SecretForm("Fireworks", "fw_", r"fw_(?=\w{0,40}\d)[A-Za-z0-9]{20,}"),
    SecretForm("ElevenLabs", "sk_", r"sk_[a-f0-9]{40,}"),
    SecretForm("Anyscale", "esecret_", r"esecret_(?=[A-Za-z0-9]{0,40}\d)[A-Za-z0-9]{20,}"),
    SecretForm("Langfuse", "sk-lf-", r"sk-lf-[a-f0-9]{8}-[a-f0-9-]{27}"),
    SecretForm("Tavily", "tvly-", r"tvly-[\w-]{20,}"),
    SecretForm("Jina", "jina_", r"jina_[\w-]{40,}"),
    SecretForm("Pinecone", "pcsk_", r"pcsk_\w{20,}"),
    SecretForm("LangSmith", "lsv2_", r"lsv2_(?:pt|sk)_\w{20,}"),
    SecretForm("RunPod", "rpa_", r"rpa_[A-Z0-9]{30,}"),
    SecretForm("Replicate", "r8_", r"r8_[A-Za-z0-9]{30,}"),
    SecretForm("Weights & Biases", "wandb_v", r"wandb_v\d_[\w-]{20,}"),
    SecretForm("Kaggle", "kgat_", r"KGAT_[a-f0-9]{30,}"),
    SecretForm("Databricks", "dapi", r"dapi[a-f0-9]{32}(?:-\d)?"),
    SecretForm("GitHub", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{20,}"),
    SecretForm("GitHub", "github_pat_", r"github_pat_\w{20,}"),
    SecretForm(
        "GitLab",
        "glpat- gldt- glrt- glcbt- glptt- glft- glsoat- glffct- glimt- gloas- glagent-",
        r"gl(?:pat|dt|rt|cbt|ptt|ft|soat|ffct|imt|oas|agent)-[\w.-]{16,}",
    ),
    SecretForm("GitLab runners", "gr1348941", r"GR1348941[\w-]{20}"),
    SecretForm("GitLab sessions", "_gitlab_session=", r"_gitlab_session=[a-z0-9]{32}"),
    SecretForm("Bitbucket", "atbb", r"ATBB[A-Za-z0-9]{24,}"),
    SecretForm("Atlassian", "atatt3x atctt3x", r"AT[AC]TT3x[\w=-]{20,}"),
    SecretForm("AWS", "akia asia abia acca a3t", r"A(?:KIA|SIA|BIA|CCA|3T[A-Z0-9])[A-Z0-9]{16}(?![A-Za-z0-9])"),
    SecretForm("AWS Bedrock", "absk", r"ABSK[A-Za-z0-9+/]{100,}={0,2}"),
    SecretForm("AWS Bedrock", "bedrock-api-key-", r"bedrock-api-key-[A-Za-z0-9+/]{20,}={0,2}"),
    SecretForm("Google", "aiza", r"AIza[\w-]{30,}"),
    SecretForm("Google OAuth", "ya29.", r"ya29\.[\w-]{20,}"),
    SecretForm("Google OAuth", "1//0", r"1//0[\w-]{30,}"),
    SecretForm("Google OAuth", "gocspx-", r"GOCSPX-[\w-]{20,}"),
    SecretForm("DigitalOcean", "doo_v1_ dop_v1_ dor_v1_", r"do[opr]_v1_[a-f0-9]{40,}"),
    SecretForm("Heroku", "hrku-", r"HRKU-[\w-]{30,}"),
    SecretForm("Fly.io", "fm2_", r"fm2_[\w+/=]{40,}"),
    SecretForm("Fly.io", "fo1_", r"fo1_(?=\w{0,42}\d)[\w-]{43}"),
    SecretForm("Fly.io", "fm1a_ fm1r_", r"fm1[ar]_[A-Za-z0-9+/]{100,}={0,3}"),
    SecretForm("Supabase", "sbp_", r"sbp_[a-f0-9]{40}"),
    SecretForm("Azure Active Directory", "q~", r"[\w~.]{3}\dQ~[\w~.-]{31,}"),
    SecretForm("Alibaba Cloud", "ltai", r"LTAI(?=[A-Za-z0-9]{0,19}\d)[A-Za-z0-9]{20}(?![A-Za-z0-9])"),
    SecretForm("Yandex Cloud", "aqvn", r"AQVN(?=[\w-]{0,37}\d)[\w-]{35,38}(?![\w-])"),
    SecretForm("Yandex Cloud", "t1.", r"t1\.[\w-]{1,400}={0,2}\.[\w-]{86}={0,2}"),
    SecretForm("Cloudflare origins", "v1.0-", r"v1\.0-[a-f0-9]{24}-[a-f0-9]{146}"),
    SecretForm("Scalingo", "tk-us-", r"tk-us-[\w-]{48}"),
    SecretForm("Netlify", "nfp_", r"nfp_[A-Za-z0-9]{36}"),
    SecretForm("OpenShift", "sha256~", r"sha256~[\w-]{43}"),
    SecretForm("ClickHouse", "4b1d", r"4b1d(?=[a-z0-9]{0,37}[A-Z])[A-Za-z0-9]{38}(?![A-Za-z0-9])"),
    SecretForm("Dropbox", "sl.", r"sl\.(?:u\.)?[\w=-]{130,}"),
    SecretForm("PlanetScale", "pscale_", r"pscale_(?:tkn|pw|oauth)_[\w.=-]{20,}"),
    SecretForm("Tailscale", "tskey-", r"tskey-[\w-]{16,}"),
    SecretForm("Hashicorp Vault", "hvs. hvb. hvr.", r"hv[sbr]\.[\w-]{20,}"),
    SecretForm("Terraform", ".atlasv1.", r"\w{14}\.atlasv1\.[\w-]{40,}"),
    SecretForm("Pulumi", "pul-", r"pul-[a-f0-9]{40}"),
    SecretForm(
        "Doppler",
        "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.",
        r"dp\.(?:pt|st|ct|sa|scim|audit)\.[\w.-]{30,}",
    ),
    SecretForm("Grafana", "glsa_", r"glsa_[A-Za-z0-9]{20,}_[a-f0-9]{8}"),
    SecretForm("Grafana Cloud", "glc_", r"glc_[\w+/=]{30,}"),
    SecretForm("Grafana, before", "eyjrijoi", r"eyJrIjoi[A-Za-z0-9]{70,}={0,3}"),
    SecretForm("New Relic", "nrak- nrjs- nrii- nral-", r"NR(?:AK|JS|II|AL)-[\w-]{16,}"),
    SecretForm("Dynatrace", "dt0c01.", r"dt0c01\.[A-Z0-9]{20,}\.[A-Z0-9]{40,}"),
    SecretForm("Sentry", "sntry", r"sntry[su]_[\w+/=]{30,}"),
    SecretForm("SonarQube", "sqp_ squ_ sqa_", r"sq[pua]_[a-f0-9]{40}"),
    SecretForm("CircleCI", "ccipat_", r"CCIPAT_\w{16,200}"),
    SecretForm("Buildkite", "bkua_", r"bkua_[a-f0-9]{40}"),
    SecretForm("Docker Hub", "dckr_", r"dckr_(?:pat|oat)_[\w-]{20,}"),
    SecretForm("Harness", "pat. sat.", r"[ps]at\.[\w-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}"),
    SecretForm("Octopus Deploy", "api-", r"API-(?=[A-Z]{0,25}\d)[A-Z0-9]{26}(?![A-Za-z0-9])"),
    SecretForm("Sourcegraph", "sgp_", r"sgp_(?:(?:[a-fA-F0-9]{16}|local)_)?[a-fA-F0-9]{40}"),
    SecretForm("Infracost", "ico-", r"ico-(?=[A-Za-z]{0,31}\d)[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
    SecretForm("Defined Networking", "dnkey-", r"dnkey-[a-z0-9=_-]{26}-[a-z0-9=_-]{52}"),
    SecretForm("Clojars", "clojars_", r"(?i:CLOJARS_)[a-z0-9]{60}"),
    SecretForm("Artifactory", "akcp", r"AKCp[A-Za-z0-9]{60,}"),
    SecretForm("Artifactory references", "cmvmdgtuo", r"cmVmdGtuO[A-Za-z0-9]{50,}"),
    SecretForm("npm", "npm_", r"npm_[A-Za-z0-9]{30,}"),
    SecretForm("PyPI", "pypi-", r"pypi-[\w-]{30,}"),
    SecretForm("RubyGems", "rubygems_", r"rubygems_[a-f0-9]{40,}"),
    SecretForm("crates.io", "cio", r"cio(?=[A-Za-z0-9]{0,31}\d)[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
    SecretForm("Slack", "xox", r"xox[abceoprs]-[\w-]{10,}"),
    SecretForm("Slack apps", "xapp-", r"xapp-\d-[\w-]{20,}"),
    SecretForm("Discord bots", "discord", r"[MNO][A-Za-z0-9_-]{23,27}\.[\w-]{6}\.[\w-]{27,}"),
    SecretForm("Telegram bots", ":aa", r"\d{6,12}:AA[\w-]{30,}"),
    SecretForm("Facebook", "eaa", r"EAA(?=[A-Za-z0-9]{0,200}\d)[A-Za-z0-9]{40,}"),
    SecretForm("Stripe", "k_live_ k_test_ k_prod_", r"[rs]k_(?:live|test|prod)_\w{10,}"),
    SecretForm("Stripe webhooks", "whsec_", r"whsec_[A-Za-z0-9+/=]{20,}"),
    SecretForm("Square", "sq0atp- sq0csp- sq0idp-", r"sq0(?:atp|csp|idp)-[\w-]{20,}"),
    SecretForm("Shopify", "shpat_ shpca_ shppa_ shpss_", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{30,}"),
    SecretForm("SendGrid", "sg.", r"SG\.[\w-]{16,200}\.[\w-]{16,}"),
    SecretForm("Mailgun", "key-", r"key-[a-f0-9]{32}(?![A-Za-z0-9])"),
    SecretForm("Mailchimp", "-us", r"[a-f0-9]{32}-us\d{1,2}"),
    SecretForm("Twilio", "twilio", r"SK[a-f0-9]{32}(?![A-Za-z0-9])"),
    SecretForm("Postman", "pmak-", r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    SecretForm("Sendinblue", "xkeysib-", r"xkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}"),
    SecretForm("EasyPost", "ezak eztk", r"EZ[AT]K[A-Za-z0-9]{54}(?![A-Za-z0-9])"),
    SecretForm("Shippo", "shippo_", r"shippo_(?:live|test)_[a-fA-F0-9]{40}"),
    SecretForm("Plaid", "access-", r"access-(?:sandbox|development|production)-[a-f0-9]{8}-[a-f0-9-]{27}"),
    SecretForm("Flutterwave", "flwseck", r"FLWSECK(?:_TEST)?-[A-Za-z0-9]{12,}(?:-X)?"),
    SecretForm("Duffel", "duffel_", r"duffel_(?:test|live)_[\w=-]{43}"),
    SecretForm("HubSpot", "pat-", r"pat-(?:na|eu|ap)\d-[a-f0-9]{8}-[a-f0-9-]{27}"),
    SecretForm("Typeform", "tfp_", r"tfp_(?=[\w.=-]{0,58}\d)[\w.=-]{59}(?![\w=-])"),
    SecretForm("Contentful", "cfpat-", r"CFPAT-[\w-]{43}"),
    SecretForm("ReadMe", "rdme_", r"rdme_[a-z0-9]{70}"),
    SecretForm("Frame.io", "fio-u-", r"fio-u-[\w=-]{64}"),
    SecretForm("Adobe", "p8e-", r"p8e-[A-Za-z0-9]{32}"),
    SecretForm("Mapbox", "eyj", r"[pst]k\.eyJ[\w-]{40,400}\.[\w-]{20,}"),
    SecretForm("MaxMind", "_mmk", r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk"),
    SecretForm(
        "SettleMint",
        "sm_aat_ sm_pat_ sm_sat_",
        r"sm_[aps]at_(?=[A-Za-z]{0,15}\d)[A-Za-z0-9]{16}(?![A-Za-z0-9])",
    ),
    SecretForm("42", "s-s4t2", r"s-s4t2(?:ud|af)-[a-f0-9]{64}"),
    SecretForm(
        "Authress",
        ".acc_ .acc-",
        r"(?:sc|ext|scauth|authress)_[A-Za-z0-9]{5,30}\.[A-Za-z0-9]{4,6}\.acc[_-][A-Za-z0-9-]{10,32}"
        r"\.[\w+/=-]{30,}",
    ),
    SecretForm("Linear", "lin_api_", r"lin_api_[A-Za-z0-9]{30,}"),
    SecretForm("Notion", "ntn_", r"ntn_[A-Za-z0-9]{30,}"),
    SecretForm("Notion, Lambda", "secret_", r"secret_(?=\w{0,60}\d)[A-Za-z0-9]{30,}"),
    SecretForm("Airtable", "airtable", r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    SecretForm("Figma", "figd_", r"figd_[\w-]{30,}"),
    SecretForm("Prefect", "pnu_", r"pnu_[A-Za-z0-9]{30,}"),
    SecretForm("Adafruit", "aio_", r"aio_[A-Za-z0-9]{28}"),
    SecretForm("age", "age-secret-key-1", r"AGE-SECRET-KEY-1[A-Z0-9]{50,}"),
    SecretForm("1Password", "a3-", r"A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}"),
    SecretForm("1Password", "ops_eyj", r"ops_eyJ[A-Za-z0-9+/]{100,}={0,3}"),
    SecretForm("JSON web tokens in base64", "zxlkagjhy2lpau", r"ZXlKaGJHY2lPaU[\w+/=-]{40,}"),
    SecretForm("JSON web tokens", "eyj", r"eyJ[\w-]{10,2000}\.[\w-]{5,4000}\.[\w-]*"),
    SecretForm("Neptune", "eyj", r"eyJhcGlf[\w+/=-]{20,}"),
)

ALL = (*_ANYWHERE, *_FORMS_WORDS)
FORM_SIGNS = tuple(dict.fromkeys(sign for form in ALL for sign in form.signs.split()))


@functools.cache
def known_forms() -> re.Pattern[str]:
    """Made for the first text that may hold one: that takes longer than all else here, and most runs have none."""
    return re.compile(
        "|".join(form.pattern for form in _ANYWHERE)
        + rf"|(?<![A-Za-z0-9])(?<!\w-)(?:{'|'.join(form.pattern for form in _FORMS_WORDS)})",
        re.VERBOSE | re.DOTALL,
    )


# Values that stood under a sure name in this process: they go from every later text too.
#
# A password given as `--password X` comes back in an exception, a traceback, a line of output.
_SHORTEST, _LONGEST, _MOST = 6, 500, 100
_values: frozenset[str] = frozenset()
_pattern: re.Pattern[str] | None = None


def remember(value: str) -> None:
    """Only what would not stand in a text by chance: a word or a path may."""
    global _values, _pattern
    if value in _values or len(_values) >= _MOST or not _is_distinct(value):
        return
    _values |= {value}
    longest_first = sorted(_values, key=len, reverse=True)
    _pattern = re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(map(re.escape, longest_first))})(?![A-Za-z0-9])")


def is_remembered_in(text: str) -> bool:
    """Of a text, or of the JSON that holds it."""
    return any(value in text or dumps(value)[1:-1] in text for value in _values)


def without_remembered(text: str) -> str:
    return text if _pattern is None else _pattern.sub(SECRET, text)


def forget() -> None:
    """For tests: a process remembers to its end."""
    global _values, _pattern
    _values, _pattern = frozenset(), None


def _is_distinct(value: str) -> bool:
    if not _SHORTEST <= len(value) <= _LONGEST or SECRET in value or is_label("", value):
        return False
    return not (value.islower() and value.isalpha()) and not value.isdigit() and value[0] not in "/.~"
