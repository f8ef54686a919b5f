"""What every domain is: a bounded set of inputs with constraints that have words, coordinates, and a plain form."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from affinelens.arithmetic import ExactMatrix
from affinelens.array_types import Floats
from affinelens.domain.frame import Frame
from affinelens.errors import AffineLensError


class EmptyDomainError(AffineLensError):
    """No input satisfies the constraints."""


class SinglePointError(AffineLensError):
    """The constraints leave a single input, ``point``."""

    def __init__(self, message: str, point: Sequence[Fraction] = ()) -> None:
        super().__init__(message)
        self.point = tuple(point)


class Domain(ABC):
    """A bounded set of inputs: what :class:`Box`, :class:`Polytope`, :class:`Slice` and :class:`Point` have in common.

    A domain has coordinates of its own, t: the inputs that it does not fix or, on a slice, those of the slice. Its
    constraints are numbered as they were given; a box has ``2 i`` for the lower and ``2 i + 1`` for the upper bound of
    input i.

    Attributes
    ----------
    has_own_coordinates : bool
        Whether points are named by coordinates of the domain's own, as on a slice, rather than by inputs.

    Examples
    --------
    >>> import affinelens as al
    >>> box = al.Box([0, 0.5], [1, 0.5])
    >>> isinstance(box, al.Domain), box.inputs, box.dim
    (True, 2, 1)
    """

    has_own_coordinates = False

    @property
    @abstractmethod
    def inputs(self) -> int:
        """Number of network inputs the domain speaks of.

        Examples
        --------
        >>> import affinelens as al
        >>> al.Box(-1, 1, dim=3).inputs
        3
        """

    @property
    @abstractmethod
    def frame(self) -> Frame:
        """The domain in its own coordinates, exactly: what engines work on.

        Examples
        --------
        >>> import affinelens as al
        >>> al.Box([0, 0.5], [1, 0.5]).frame.chart.to_floats()  # x = chart @ [t; 1]
        array([[1. , 0. ],
               [0. , 0.5]])
        """

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Shape of the inputs, as far as the domain knows it.

        Examples
        --------
        >>> import affinelens as al
        >>> al.Slice([[0, 0], [0, 0]], [[1, 1, 1, 1]], al.Box(0, 1, dim=1)).input_shape
        (2, 2)
        """
        return (self.inputs,)

    @property
    def dim(self) -> int:
        """Dimension of the domain: how many of its inputs, or of a slice's coordinates, are not fixed.

        Examples
        --------
        >>> import affinelens as al
        >>> al.Box([0, 0.5], [1, 0.5]).dim
        1
        """
        return self.frame.dim

    def coordinates(self, points: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """The domain's coordinates of input points, and which of the points lie in the domain.

        Inputs that the domain fixes must have the fixed value (rounded to float64, if it is not one).

        Parameters
        ----------
        points
            float64 of shape (points, inputs).

        Returns
        -------
        coordinates : numpy.ndarray
            float64 of shape (points, dim).
        inside : numpy.ndarray
            bool of shape (points,), decided in rational arithmetic; the border is inside.

        Examples
        --------
        >>> import affinelens as al
        >>> import numpy as np
        >>> al.Box([0, 0.5], [1, 0.5]).coordinates(np.array([[0.25, 0.5], [0.25, 0.0]]))
        (array([[0.25],
               [0.25]]), array([ True, False]))
        """
        coordinates, inside = self.frame.inverse.coordinates(points)
        return coordinates, inside & self.contains_coordinates(coordinates, inside)

    def contains_coordinates(self, coordinates: Floats, asked: NDArray[np.bool_] | None = None) -> NDArray[np.bool_]:
        """Which points, given in the domain's coordinates, lie in it.

        Parameters
        ----------
        coordinates
            float64 of shape (points, dim).
        asked
            bool of shape (points,): where it is false, the answer is no.

        Returns
        -------
        numpy.ndarray
            bool of shape (points,), decided in rational arithmetic; the border is inside.

        Examples
        --------
        >>> import affinelens as al
        >>> import numpy as np
        >>> al.Box(-1, 1, dim=2).contains_coordinates(np.array([[0.0, 1.0], [0.0, 1.5]]))
        array([ True, False])
        """
        inside: NDArray[np.bool_] = np.asarray(np.isfinite(coordinates).all(axis=1))
        if asked is not None:
            inside &= asked
        rows = self.frame.rows.numerators
        for i in np.flatnonzero(inside).tolist():
            column = ExactMatrix.from_floats(np.append(coordinates[i], 1.0))
            inside[i] = all(value >= 0 for value in (rows * column.numerators).entries())
        return inside

    @abstractmethod
    def describe_constraint(self, number: int) -> str:
        """One of the domain's constraints, in words.

        Parameters
        ----------
        number
            Which one: a box's lower and upper bounds in turn, or a row of a polytope.

        Examples
        --------
        >>> import affinelens as al
        >>> al.Box(-1, 1, dim=2).describe_constraint(3)
        'x[1] <= 1'
        """

    @abstractmethod
    def halfspace(self, number: int) -> tuple[Floats, float]:
        """One of the domain's constraints as ``w, b`` with ``w @ x + b >= 0``.

        Parameters
        ----------
        number
            Which one, as for :meth:`describe_constraint`.

        Returns
        -------
        w : numpy.ndarray
            float64 of shape (inputs,).
        b : float

        Examples
        --------
        >>> import affinelens as al
        >>> al.Box(-1, 1, dim=2).halfspace(3)
        (array([ 0., -1.]), 1.0)
        """

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """A description from which :func:`affinelens.domain.domain_from_json` rebuilds the domain.

        Examples
        --------
        >>> import affinelens as al
        >>> al.Box(-1, 1, dim=2).to_json()
        {'kind': 'box', 'lower': [-1.0, -1.0], 'upper': [1.0, 1.0]}
        """
