"""What an exception says, whoever wrote it."""

from __future__ import annotations


def said(error: BaseException) -> str:
    """The text of an exception as Unicode; of one that cannot even be asked for it, that it cannot."""
    try:
        text = str.__str__(str(error))  # the application's own `__str__`, and its own kind of text
    except BaseException:  # whatever it raises: where this is asked, nobody is left to hear of it
        return "its text cannot be shown: __str__ raises"
    return text.encode(errors="backslashreplace").decode()
