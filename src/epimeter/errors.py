# SPDX-License-Identifier: Apache-2.0
"""Every exception of the package.

EpimeterError
├── InputError (ValueError)              what came cannot be measured
│   ├── ReadError                        a file or stream could not be read as data
│   │   └── LackingError                 a log that has not the score that was asked for
│   ├── UnknownMetricError (LookupError) no metric has that name
│   └── MergeError                       two summaries of different recipes
├── UnsoundRowsError (ValueError)        a loop met an outcome or a confidence that is none; `views` says which, and why
├── UndefinedMetricError (ValueError)    the data are sound, the metric has no value on them
├── TrustError                           keys, signatures, logs
│   ├── VerificationError (ValueError)   a document, key, proof or log that must not be believed
│   ├── KeyStoreError                    a key that cannot be kept, found or opened
│   └── LogError                         a log that cannot be read, or must not be written
└── MissingExtraError (ImportError)      an optional dependency is not installed

OrderWarning (UserWarning)               the value depends on the order of rows with equal predictions

A message is one sentence: what must hold; what came, where; what to do, if we know.
"""

from __future__ import annotations


class EpimeterError(Exception):
    """Whatever epimeter refuses."""


class OrderWarning(UserWarning):
    """A value that depends on the order of rows with equal predictions, by the definition of its metric."""


class InputError(EpimeterError, ValueError):
    """Data or parameters that cannot be measured; nothing was repaired.

    Attributes
    ----------
    field
        What the fault is in: `y_prob`, `bins`, a column name; None when it is the whole input.
    row
        The first offending row, counted from 0; None when no single row is at fault.
    count
        How many rows offend; None when that has no meaning.
    """

    def __init__(
        self, message: str, *, field: str | None = None, row: int | None = None, count: int | None = None
    ) -> None:
        super().__init__(message)
        self.field = field
        self.row = row
        self.count = count


class ReadError(InputError):
    """A file or stream that could not be read as data."""


class LackingError(ReadError):
    """A log that has not the score, or the filter, that was asked for; among several logs it is left out, and said."""


class UnknownMetricError(InputError, LookupError):
    """A name that no metric has."""


class MergeError(InputError):
    """Two summaries that were made by different recipes."""


class UnsoundRowsError(EpimeterError, ValueError):
    """Rows that a loop refused: it knows that one is no outcome or no probability, not which."""

    def __init__(self) -> None:
        super().__init__("rows must have outcomes 0 or 1 and probabilities; got a view that was never looked at")


class UndefinedMetricError(EpimeterError, ValueError):
    """Sound data on which a metric has no value: no rows, one class, no eligible bin."""


class MissingExtraError(EpimeterError, ImportError):
    """An optional dependency that is not installed."""

    def __init__(self, what: str, package: str, extra: str) -> None:
        super().__init__(f"{what} needs {package}; install it with: pip install 'epimeter[{extra}]'")
        self.package = package
        self.extra = extra


class TrustError(EpimeterError):
    """What keys, signatures and logs refuse."""


class VerificationError(TrustError, ValueError):
    """A document, key, proof or log that must not be believed.

    Attributes
    ----------
    code
        The kind of fault in one word, for programs: `malformed`, `no_signature`, `untrusted_key`, `fork`.
    """

    def __init__(self, message: str, *, code: str) -> None:
        super().__init__(message)
        self.code = code


class KeyStoreError(TrustError):
    """A key that cannot be kept, found or opened."""


class LogError(TrustError):
    """A log that cannot be read, or must not be written."""
