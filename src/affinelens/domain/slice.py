"""Slices: low-dimensional windows into a high-dimensional input space.

A slice has coordinates of its own, t; its inputs are ``x = origin + basis^T t``, exactly, with t in a bounded window.
A coordinate that the window fixes becomes part of the origin, as an input does that a box fixes.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from math import prod
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from affinelens.arithmetic import ExactMatrix
from affinelens.arithmetic.rational import stack_rows
from affinelens.array_types import Floats
from affinelens.domain.box import Box
from affinelens.domain.frame import Domain, Frame, homogeneous
from affinelens.domain.numbers import LARGEST_BOUND, Numbers, from_fractions, read_numbers
from affinelens.domain.polytope import Polytope
from affinelens.errors import AffineLensError


class Slice(Domain):
    """The inputs ``origin + t_0 basis_0 + t_1 basis_1 + ...`` with t in a window.

    Parameters
    ----------
    origin
        The input at t = 0, in any shape: that of an image, for example.
    basis
        Linearly independent directions, each in the shape of the origin (or flat).
    window
        A :class:`Box` or :class:`Polytope` of as many coordinates as there are directions.

    Attributes
    ----------
    window : Box or Polytope
        As given.

    Raises
    ------
    AffineLensError
        If the directions are linearly dependent, or something does not have the shape of the origin.

    Examples
    --------
    >>> import affinelens as al
    >>> diagonal = al.Slice([0, 0, 0], [[1, 1, 1]], al.Box(-1, 1, dim=1))
    >>> diagonal.inputs, diagonal.dim
    (3, 1)
    >>> diagonal.to_inputs([0.5])
    array([0.5, 0.5, 0.5])
    """

    has_own_coordinates = True

    def __init__(self, origin: ArrayLike | Numbers, basis: Any, window: Domain) -> None:
        self._origin = _vector(origin, "the slice's origin")
        size = prod(self._origin.shape)
        self._basis = _directions(basis, size)
        if not isinstance(window, Box | Polytope):
            raise AffineLensError(f"a slice's window must be a Box or a Polytope, but got {type(window).__name__}")
        count = self._basis.shape[0]
        if window.inputs != count:
            raise AffineLensError(
                f"a slice with {count} basis vectors needs a window of {count} coordinates, but got {window.inputs}"
            )
        self.window = window
        rank = _rank(self._basis)
        if rank < count:
            raise AffineLensError(
                f"the slice's {count} basis vectors are linearly dependent and span dimension {rank}; leave out those "
                f"that the others give"
            )
        if not self.frame.largest_input() <= LARGEST_BOUND:
            raise AffineLensError(f"the slice reaches inputs beyond {LARGEST_BOUND:g}; make its window smaller")

    @classmethod
    def through(cls, *points: ArrayLike, margin: float = 0.0, window: Domain | None = None) -> Slice:
        """The line through two inputs, the plane through three, the space through four.

        The first point is at t = (0, 0), the second at (1, 0), the third at (0, 1): the directions are the exact
        differences from the first.

        Parameters
        ----------
        points
            Two or more inputs of one shape, on no common line or plane.
        margin
            The window is the box from -margin to 1 + margin in every coordinate.
        window
            A window to take in place of that box.

        Examples
        --------
        >>> import affinelens as al
        >>> al.Slice.through([0, 0, 1], [1, 0, 1], [0, 2, 1]).to_inputs([0.5, 0.5])
        array([0.5, 1. , 1. ])
        """
        if len(points) < 2:
            raise AffineLensError(
                f"a slice goes through two inputs (a line), three (a plane) or more, but got {len(points)}"
            )
        read = [_vector(point, f"point {i} of the slice") for i, point in enumerate(points)]
        if any(point.shape != read[0].shape for point in read):
            raise AffineLensError(
                f"the points of a slice must have one shape, but have {', '.join(str(p.shape) for p in read)}"
            )
        first, *others = (point.fractions() for point in read)
        differences = [b - a for other in others for a, b in zip(first, other, strict=True)]
        basis = from_fractions(differences, (len(others), len(first)), "the slice's basis")
        if window is None:
            wide = float(_number(margin, "margin"))
            window = Box(0.0 - wide, 1.0 + wide, dim=len(others))
        if _rank(basis) < len(others):
            raise AffineLensError(
                f"the slice's {len(points)} points lie on a flat of dimension {_rank(basis)}, which is below "
                f"{len(others)}; choose others"
            )
        return cls(read[0], basis, window)

    @classmethod
    def axes(cls, x: ArrayLike, which: Any, lower: ArrayLike, upper: ArrayLike) -> Slice:
        """The input x with some of its numbers varying between bounds; the coordinates are those numbers.

        Parameters
        ----------
        x
            The input, in any shape.
        which
            Which of its numbers vary: their places in the flattened input or, where x has a shape, index tuples such as
            ``((0, 3, 4), (2, 3, 4))``.
        lower, upper
            Scalars, or one bound for each of them.

        Examples
        --------
        >>> import affinelens as al
        >>> al.Slice.axes([0.5, 0.5, 0.5], (0, 2), -1, 1).to_inputs([0.25, -1])
        array([ 0.25,  0.5 , -1.  ])
        """
        fixed = _vector(x, "the slice's input")
        places = _places(which, fixed.shape)
        size = prod(fixed.shape)
        values = fixed.fractions()
        for place in places:
            values[place] = Fraction(0)
        basis = np.zeros((len(places), size))
        basis[np.arange(len(places)), places] = 1.0
        origin = from_fractions(values, fixed.shape, "the slice's input")
        return cls(origin, Numbers(basis), Box(lower, upper, dim=len(places)))

    @property
    def inputs(self) -> int:
        return prod(self._origin.shape)

    @property
    def input_shape(self) -> tuple[int, ...]:
        return self._origin.shape

    @property
    def dim(self) -> int:
        return self.window.dim

    @property
    def origin(self) -> Floats:
        """The origin in the nearest float64s, in the shape it was given in.

        Examples
        --------
        >>> import affinelens as al
        >>> al.Slice.through([0, 0, 1], [1, 0, 1]).origin
        array([0., 0., 1.])
        """
        return self._origin.nearest

    @property
    def basis(self) -> Floats:
        """The directions in the nearest float64s, one behind the other, each in the shape of the origin.

        Examples
        --------
        >>> import affinelens as al
        >>> al.Slice.through([0, 0, 1], [1, 0, 1], [0, 2, 1]).basis
        array([[1., 0., 0.],
               [0., 2., 0.]])
        """
        return self._basis.nearest.reshape(-1, *self.input_shape)

    @cached_property
    def frame(self) -> Frame:
        """The slice in its own coordinates: those that its window does not fix."""
        window = self.window.frame
        basis, origin = self._basis.matrix(), self._origin.reshaped(1, self.inputs).matrix()
        columns = stack_rows([basis, origin])
        chart = ExactMatrix(columns.numerators.transpose(), columns.denominator)
        if not window.is_plain:
            chart = chart @ homogeneous(window.chart)
        return Frame(chart, window.rows, window.constraints, window.lower, window.upper, window.irredundant)

    def to_inputs(self, t: ArrayLike) -> Floats:
        """Inputs at slice coordinates.

        Parameters
        ----------
        t
            Of shape (dim,), or (points, dim).

        Returns
        -------
        numpy.ndarray
            float64 in the origin's shape, or of shape (points, ...).

        Examples
        --------
        >>> import affinelens as al
        >>> al.Slice.through([0, 0, 1], [1, 0, 1], [0, 2, 1]).to_inputs([[0.5, 0.5], [1, 0]])
        array([[0.5, 1. , 1. ],
               [1. , 0. , 1. ]])
        """
        coordinates = np.asarray(t, dtype=np.float64)
        if coordinates.ndim not in (1, 2) or coordinates.shape[-1] != self.dim:
            raise AffineLensError(
                f"the slice has {self.dim} coordinates, but got an array of shape {coordinates.shape}"
            )
        inputs = self.frame.to_inputs(coordinates.reshape(-1, self.dim))
        return inputs.reshape(*coordinates.shape[:-1], *self.input_shape)

    def to_coordinates(self, x: ArrayLike) -> Floats:
        """Slice coordinates of inputs on the slice, in its window or not.

        An input lies on the slice if it is one of its points up to the rounding of computing that in float64. Its
        coordinates are solved for in rational arithmetic, from as many inputs as there are coordinates, and rounded.

        Parameters
        ----------
        x
            One input, flat or in the origin's shape, or several stacked along the first axis.

        Returns
        -------
        numpy.ndarray
            float64 of shape (dim,), or (points, dim).

        Raises
        ------
        AffineLensError
            If an input does not lie on the slice.

        Examples
        --------
        >>> import affinelens as al
        >>> al.Slice.through([0, 0, 1], [1, 0, 1], [0, 2, 1]).to_coordinates([0.5, 1, 1])
        array([0.5, 0.5])
        """
        points = np.asarray(x, dtype=np.float64)
        single = points.size == self.inputs and points.shape in ((self.inputs,), self.input_shape)
        if not single and (points.ndim < 2 or points.size != len(points) * self.inputs):
            raise AffineLensError(f"the slice has inputs of {self.inputs} numbers, but got shape {points.shape}")
        coordinates, on_slice = self.frame.inverse.coordinates(points.reshape(-1, self.inputs))
        for i in np.flatnonzero(~on_slice):
            raise AffineLensError(f"input {i} does not lie on the slice; coordinates are for points of the slice only")
        return coordinates[0] if single else coordinates

    def describe_constraint(self, number: int) -> str:
        return f"window, {self.window.describe_constraint(number).replace('x[', 't[')}"

    def halfspace(self, number: int) -> tuple[Floats, float]:
        row = self.frame.rows.rows([self.frame.constraints.index(number)]).to_floats()[0]
        weights, offsets = self.pulled_back(row[None, :-1], row[-1:])
        return weights[0], float(offsets[0])

    def pulled_back(self, weights: Floats, offsets: Floats) -> tuple[Floats, Floats]:
        """Functions ``weights @ t + offsets`` as functions of x that agree with them on the slice.

        ``weights`` have shape (functions, dim) before and (functions, inputs) after; all are float64.

        Examples
        --------
        >>> import affinelens as al
        >>> import numpy as np
        >>> al.Slice([0, 0], [[0, 2]], al.Box(0, 1, dim=1)).pulled_back(np.array([[1.0]]), np.array([-0.5]))
        (array([[0. , 0.5]]), array([-0.5]))
        """
        inverse = self.frame.inverse
        matrix = inverse.matrix.to_floats()
        normals = np.zeros((len(weights), self.inputs))
        normals[:, inverse.pivots] = weights @ matrix[:, :-1]
        return normals, weights @ matrix[:, -1] + offsets

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": "slice",
            "shape": list(self.input_shape),
            "origin": self._origin.reshaped(self.inputs).to_json(),
            "basis": self._basis.to_json(),
            "window": self.window.to_json(),
        }

    @classmethod
    def from_json(cls, origin: Any, basis: Any, shape: Any, window: Domain) -> Slice:
        """Undo :meth:`to_json`, of the numbers and the window that :func:`affinelens.domain.domain_from_json` read."""
        numbers = read_numbers(origin, "the slice's origin")
        if not (isinstance(shape, list) and all(isinstance(n, int) and n > 0 for n in shape)):
            raise AffineLensError(f"a slice of shape {shape!r:.40} is unknown")
        if numbers.shape != (prod(shape),):
            raise AffineLensError("its slice's origin does not have the slice's shape")
        return cls(numbers.reshaped(*shape), basis, window)

    def __repr__(self) -> str:
        return f"Slice(dimension {self.dim} in {self.inputs} inputs, window {self.window!r})"


def _vector(values: ArrayLike | Numbers, name: str) -> Numbers:
    numbers = read_numbers(values, name)
    if numbers.nearest.size == 0 or numbers.ndim == 0:
        raise AffineLensError(f"{name} must be an input: a list or an array of numbers, but has shape {numbers.shape}")
    if not np.isfinite(numbers.nearest).all():
        raise AffineLensError(f"{name} contains NaN or infinity; every number must be finite")
    return numbers


def _directions(basis: Any, size: int) -> Numbers:
    """Basis vectors as a matrix with one a row."""
    if isinstance(basis, Numbers):
        numbers = basis
    else:
        try:
            rows = [_vector(vector, "a basis vector of the slice") for vector in basis]
        except TypeError:
            raise AffineLensError(f"a slice's basis must be a list of vectors, but got {basis!r:.80}") from None
        if not rows:
            raise AffineLensError("a slice needs at least one basis vector")
        for row in rows:
            if row.nearest.size != size:
                raise AffineLensError(
                    f"a slice's basis vectors must have as many numbers as its origin, {size}, but one has "
                    f"{row.nearest.size}"
                )
        if all(row.exact is None for row in rows):
            numbers = Numbers(np.stack([row.nearest.ravel() for row in rows]))
        else:
            flat = [value for row in rows for value in row.fractions()]
            numbers = from_fractions(flat, (len(rows), size), "the slice's basis")
    return numbers


def _rank(basis: Numbers) -> int:
    return int(basis.matrix().numerators.rank())


def _number(value: Any, name: str) -> float:
    numbers = read_numbers(value, name)
    if numbers.ndim or not np.isfinite(numbers.nearest):
        raise AffineLensError(f"{name} must be a finite number, but got {value!r:.80}")
    return float(numbers.nearest)


def _places(which: Any, shape: tuple[int, ...]) -> list[int]:
    """Places in the flattened input, from flat numbers or index tuples."""
    given = [which] if isinstance(which, Integral) else _listed(which)
    places = [_place(index, shape) for index in given]
    if not places or len(set(places)) < len(places):
        raise AffineLensError(f"a slice along axes needs one or more different inputs to vary, but got {which!r:.80}")
    return places


def _place(index: Any, shape: tuple[int, ...]) -> int:
    size = prod(shape)
    numbers, bounds = ([index], (size,)) if isinstance(index, Integral) else (_listed(index), shape)
    if len(numbers) == len(bounds) and all(
        isinstance(n, Integral) and 0 <= int(n) < bound for n, bound in zip(numbers, bounds, strict=True)
    ):
        return int(np.ravel_multi_index([int(n) for n in numbers], bounds))
    more = "" if len(shape) == 1 else f" or {len(shape)} indices"
    raise AffineLensError(
        f"the slice's input has shape {shape}, so {index!r:.40} names none of its numbers; give a place from 0 to "
        f"{size - 1}{more}"
    )


def _listed(values: Any) -> list[Any]:
    return list(values) if isinstance(values, Sequence | np.ndarray) and not isinstance(values, str) else []
