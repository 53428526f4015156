"""Which answer an error raised inside an operation is, in every adapter: nothing of the operation is written."""

from __future__ import annotations

from pawl.runtime.records.errors import CodecError, StoreError, StoreUnavailable
from pawl.runtime.store.answers import Fenced, Refused, Superseded, Unavailable


def of_error(error: BaseException) -> Refused | Unavailable | Superseded:
    """The answer to an operation that raised `error` and was undone; a database's own errors are translated before."""
    if isinstance(error, Fenced):
        return Superseded(error.owner)
    if isinstance(error, StoreUnavailable):
        return Unavailable(error)
    if isinstance(error, MemoryError):
        return Unavailable(_told(StoreUnavailable("there is no memory left"), error))
    if isinstance(error, UnicodeEncodeError):
        return Refused(_told(CodecError(f"a lone surrogate, which is not Unicode text ({error})"), error))
    if isinstance(error, Exception):
        return Refused(error)
    return Refused(_told(StoreError(f"the operation was ended by {error!r}"), error))


def _told(told: StoreError, error: BaseException) -> StoreError:
    told.__cause__ = error
    return told
