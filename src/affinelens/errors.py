"""The one error type users meet.

Every message is a single sentence that says what was found, what is accepted and the nearest fix. Code that
knows more than the place where the error arose (a file name, a node) adds it with :meth:`AffineLensError.located`.
Options that a sentence speaks of are values in it, so that Python and the command line each show their own words.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_PACKAGE = __name__.partition(".")[0]


@dataclass(frozen=True)
class Option:
    """An option in a sentence: named alone, with a value, or with entries by name.

    ``in_python`` is what Python has instead, where that is no option of this name.
    """

    name: str
    value: Any = None
    entries: tuple[str, ...] = ()
    in_python: str = ""

    def __str__(self) -> str:
        """The option as Python has it."""
        if self.in_python:
            return self.in_python
        if self.entries:
            return f"{self.name}={{{', '.join(f'{entry!r}: values' for entry in self.entries)}}}"
        return f"{self.name}={'' if self.value is None else repr(self.value)}"


@dataclass(frozen=True)
class Words:
    """Words in a sentence that are others in Python than on the command line."""

    in_python: str
    on_command_line: str

    def __str__(self) -> str:
        """The words as Python has them."""
        return self.in_python


Part = str | Option | Words


class _InParts:
    """A message given in parts, texts, options and words, which follow each other without a space."""

    args: tuple[Any, ...]

    @property
    def parts(self) -> tuple[Part, ...]:
        """The sentence's parts, as they were given."""
        return self.args

    def __str__(self) -> str:
        return self.worded(str)

    def worded(self, wording: Callable[[Option | Words], str]) -> str:
        """The sentence, with each of its options and words as whoever shows it has them.

        Parameters
        ----------
        wording
            What makes a text of an :class:`Option` or of :class:`Words`; ``str`` has them as in Python.

        Examples
        --------
        >>> from affinelens.errors import AffineLensError, Option
        >>> error = AffineLensError("stopped; ", Option("time_limit", 60), " may be enough")
        >>> print(error.worded(lambda option: f"--{option.name.replace('_', '-')} {option.value}"))
        stopped; --time-limit 60 may be enough
        """
        return "".join(wording(part) if isinstance(part, Option | Words) else part for part in self.parts)


class AffineLensWarning(_InParts, UserWarning):
    """What somebody should know before going on, such as that a walk will not end.

    Attributes
    ----------
    parts : tuple of str, Option or Words
        The sentence.

    Examples
    --------
    >>> import affinelens as al
    >>> issubclass(al.AffineLensWarning, UserWarning)  # warnings.simplefilter("error", al.AffineLensWarning) works
    True
    """


class AffineLensError(_InParts, ValueError):
    """Input that AffineLens cannot take; the message names it and the nearest fix.

    The message is given in parts, texts, options and words, which follow each other without a space.

    Attributes
    ----------
    parts : tuple of str, Option or Words
        As they were given.

    Examples
    --------
    >>> import affinelens as al
    >>> try:
    ...     al.Box(1, -1, dim=2)
    ... except al.AffineLensError as error:
    ...     print(error)
    the box is empty: input 0 has lower bound 1 above its upper bound -1; swap them
    """

    @property
    def options(self) -> tuple[Option, ...]:
        """The options that the sentence speaks of."""
        return tuple(part for part in self.parts if isinstance(part, Option))

    def located(self, place: str) -> AffineLensError:
        """Return the same error with the place it came from in front.

        Parameters
        ----------
        place
            Such as a file's name.

        Examples
        --------
        >>> import affinelens as al
        >>> print(al.AffineLensError("holds no statements").located("prop.vnnlib"))
        prop.vnnlib: holds no statements
        """
        return self.between(f"{place}: ", "")

    def between(self, before: str, after: str) -> AffineLensError:
        """Return the same error with something in front of its sentence and behind it.

        Parameters
        ----------
        before, after
            Texts; either may be empty.

        Examples
        --------
        >>> import affinelens as al
        >>> print(al.AffineLensError("holds no statements").between("case 2 ", "; write one"))
        case 2 holds no statements; write one
        """
        if all(isinstance(part, str) for part in self.parts):
            return type(self)(f"{before}{self}{after}")
        return type(self)(*(part for part in (before, *self.parts, after) if part))


def warn_user(warning: AffineLensWarning) -> None:
    """Warn with the line that called into this package, whichever function of it was called there."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
        frame, level = frame.f_back, level + 1
    warnings.warn(warning, stacklevel=level)


class MissingExtraError(AffineLensError, ImportError):
    """An optional dependency is not installed; the message holds the pip command.

    Examples
    --------
    >>> import affinelens as al
    >>> issubclass(al.MissingExtraError, al.AffineLensError), issubclass(al.MissingExtraError, ImportError)
    (True, True)
    """

    @classmethod
    def for_extra(cls, package: str, extra: str, purpose: str) -> MissingExtraError:
        """The error for a package that comes with ``pip install 'affinelens[extra]'``.

        Parameters
        ----------
        package, extra
            The package, and the extra that brings it.
        purpose
            What it is needed for.

        Examples
        --------
        >>> import affinelens as al
        >>> print(al.MissingExtraError.for_extra("pandas", "pandas", "to_pandas()"))
        to_pandas() needs pandas, which is not installed; run: pip install 'affinelens[pandas]'
        """
        return cls(f"{purpose} needs {package}, which is not installed; run: pip install 'affinelens[{extra}]'")


class Interrupted(KeyboardInterrupt):
    """Ctrl-C stopped a call; what it had found by then is attached. A script that does not catch it ends.

    Attributes
    ----------
    found : RegionSet, int or Verdict
        From :func:`enumerate` the regions found, from :func:`count` their number, from :func:`verify` a verdict.

    Examples
    --------
    >>> import affinelens as al
    >>> try:
    ...     rs = al.enumerate([([[1.0]], [0.0]), ([[1.0]], [0.0])], al.Box(-1, 1, dim=1))
    ... except al.Interrupted as stop:
    ...     rs = stop.found
    >>> len(rs)
    2
    """

    def __init__(self, message: str, found: Any = None) -> None:
        super().__init__(message)
        self.found = found
