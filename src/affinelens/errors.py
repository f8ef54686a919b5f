"""The one error type users meet.

Every message is a single sentence that says what was found, what is accepted and the nearest fix. Code that
knows more than the place where the error arose (a file name, a node) adds it with :meth:`AffineLensError.located`.
"""

from __future__ import annotations


class AffineLensError(ValueError):
    """Input that AffineLens cannot take; the message names it and the nearest fix.

    Examples
    --------
    >>> import affinelens as al
    >>> try:
    ...     al.Box(1, -1, dim=2)
    ... except al.AffineLensError as error:
    ...     print(error)
    the box is empty: input 0 has lower bound 1 above its upper bound -1; swap them
    """

    def located(self, place: str) -> AffineLensError:
        """Return the same error with the place it came from in front.

        Examples
        --------
        >>> import affinelens as al
        >>> al.AffineLensError("holds no statements").located("prop.vnnlib")
        AffineLensError('prop.vnnlib: holds no statements')
        """
        return type(self)(f"{place}: {self}")


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
        """The error for a package that comes with ``pip install 'affinelens[extra]'``, and what it is needed for.

        Examples
        --------
        >>> import affinelens as al
        >>> print(al.MissingExtraError.for_extra("pandas", "pandas", "to_pandas()"))
        to_pandas() needs pandas, which is not installed; run: pip install 'affinelens[pandas]'
        """
        return cls(f"{purpose} needs {package}, which is not installed; run: pip install 'affinelens[{extra}]'")
