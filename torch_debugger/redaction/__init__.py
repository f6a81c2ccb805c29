"""Keys, tokens and passwords out of whatever is written: by the names they go by, and by their own look.

A name is sure (`api_key`, `--password`), or it is a hint (`sort_key`, `pad_token`): under a hint only what
looks like a random string goes. What is well known to be a secret by its form goes wherever it stands, and
so does what once stood under a sure name.
"""

from torch_debugger.redaction.arguments import redact_arguments
from torch_debugger.redaction.looks import SECRET
from torch_debugger.redaction.names import is_secret_name
from torch_debugger.redaction.scripts import read_script
from torch_debugger.redaction.texts import may_hold_secrets, redact_message, redact_text
from torch_debugger.redaction.values import redact_plain, redact_record, redact_value

__all__ = [
    "SECRET",
    "is_secret_name",
    "may_hold_secrets",
    "read_script",
    "redact_arguments",
    "redact_message",
    "redact_plain",
    "redact_record",
    "redact_text",
    "redact_value",
]
