"""The one error type users meet.

Every message is a single sentence that says what was found, what is accepted and the nearest fix. Code that
knows more than the place where the error arose (a file name, a node) adds it with :meth:`AffineLensError.located`.
"""

from __future__ import annotations


class AffineLensError(ValueError):
    """Input that AffineLens cannot take; the message names it and the nearest fix."""

    def located(self, place: str) -> AffineLensError:
        """Return the same error with the place it came from in front."""
        return type(self)(f"{place}: {self}")


class MissingExtraError(AffineLensError, ImportError):
    """An optional dependency is not installed; the message holds the pip command."""

    @classmethod
    def for_extra(cls, package: str, extra: str, purpose: str) -> MissingExtraError:
        return cls(f"{purpose} needs {package}, which is not installed; run: pip install 'affinelens[{extra}]'")
