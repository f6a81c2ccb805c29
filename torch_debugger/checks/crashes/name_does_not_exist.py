"""TD945: a name that torch, or a module of the user's, does not have."""

from __future__ import annotations

from torch_debugger.checks.explainers.crash_check import CrashCheck
from torch_debugger.checks.explainers.names.absent_attributes import (
    explain_absent_attribute,
    explain_missing_self,
)
from torch_debugger.checks.explainers.names.absent_imports import (
    explain_absent_package,
    explain_forgotten_import,
    explain_old_syntax,
)
from torch_debugger.checks.explainers.names.absent_keywords import (
    explain_absent_keyword,
    explain_indexed_number,
    explain_missing_device,
    explain_wrong_use,
)
from torch_debugger.checks.explainers.names.absent_names import explain_absent_name
from torch_debugger.checks.explainers.names.unknown_variables import explain_unknown_variable


class NameDoesNotExist(CrashCheck):
    """A variable, function, class, attribute or keyword was used that does not exist there.

    Symptom:
        "module 'torch' has no attribute", "cannot import name", "got an unexpected keyword argument",
        "'Net' object has no attribute", "'torch.Size' object is not callable", "name 'i' is not defined",
        "cannot access local variable 'running_loss' where it is not associated with a value".
    Evidence:
        The object that was asked really lacks the name; the names that exist, and the keywords a function
        takes, are looked up in the torch that runs. Names that PyTorch removed, that other libraries have
        or that tutorials invent are known by a table.
    Fix:
        Write the name that exists, as the finding says; where the old call took other arguments, the new
        form is given.
    Known limits:
        Only variables, and names of torch, of its objects and of your own modules are explained. Where nothing
        resembles the name, that is all that is said.
    """

    id = "TD945"
    name = "name-does-not-exist"
    title = "a name that torch or the module does not have"
    explainers = (
        explain_absent_name,
        explain_absent_attribute,
        explain_missing_self,
        explain_absent_keyword,
        explain_missing_device,
        explain_wrong_use,
        explain_indexed_number,
        explain_absent_package,
        explain_forgotten_import,
        explain_unknown_variable,
        explain_old_syntax,
    )
