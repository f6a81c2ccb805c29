"""The word for a password in the larger languages: a name that has one is read as if it said `password`.

Left out is what also means something else in ordinary code, as the Italian `parola`, a word.
"""

from __future__ import annotations

import re

# In lower case. Between the words of several stands a space, a hyphen, an underscore or nothing.
_WORDS = (
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


SIGNS = tuple(word.split()[-1] for word in _WORDS)
PHRASES = "|".join(re.escape(word) for word in _WORDS if " " in word)  # names with a space inside
_PASSWORD = re.compile("|".join(map(_pattern_of, _WORDS)), re.IGNORECASE)


def in_english(name: str) -> str:
    """db_passwort: db_password. What stands around the word is another one."""
    return _PASSWORD.sub("_password_", name).strip("_") if _PASSWORD.search(name) else name
