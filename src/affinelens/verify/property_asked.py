"""What is asked of a model on a domain, as a property: what must not happen there."""

from __future__ import annotations

from typing import Any

from affinelens.domain import Case, Condition, Domain, Property, Slice
from affinelens.errors import AffineLensError
from affinelens.network import Network, compile_model
from affinelens.verify.last_operator import on_model


def property_of(
    model: Any,
    domain: Domain,
    *,
    never: Condition | None = None,
    always: Condition | None = None,
    until: str | None = None,
) -> Property:
    """The property that conditions state of a model on a domain, to be written as a VNN-LIB file.

    Parameters
    ----------
    model
        Anything :func:`affinelens.network` takes; it says how many outputs there are and what its classes are.
    domain
        A :class:`Box` or :class:`Polytope` of its inputs.
    never, always
        A condition that no input of the domain may meet, or one that all must, as for :func:`affinelens.verify`.
    until
        Where to cut the model, as for :func:`affinelens.network`.

    Returns
    -------
    Property
        Of the model's own outputs, those behind a last sigmoid or tanh; ``write`` writes it to a file.

    Raises
    ------
    AffineLensError
        If the model, the domain or the condition cannot be taken, or they do not fit each other.

    Examples
    --------
    >>> import affinelens as al
    >>> layers = [([[1.0]], [0.0]), ([[2.0]], [0.0])]
    >>> prop = al.property_of(layers, al.Box(-1, 1, dim=1), never=al.output(0) >= 2.5)
    >>> prop
    Property(1 input, 1 output, 1 case)
    >>> al.verify(layers, prop).result  # prop.write("p.vnnlib") and `affinelens verify net.npz p.vnnlib` say the same
    <Result.UNSAT: 'unsat'>
    """
    if not isinstance(domain, Domain):
        raise AffineLensError(f"the domain is a Box or a Polytope, but got {domain!r:.60}")
    network = compile_model(model, until=until, inputs=domain.inputs)
    prop = property_asked(domain, network, never, always)
    prop.require_sizes(network.input_size, network.output_size)
    return on_model(prop, network)


def property_asked(
    asked: Property | Domain, network: Network, never: Condition | None, always: Condition | None
) -> Property:
    """A property as it is, or what must not happen on a domain as one."""
    if isinstance(asked, Property):
        if never is not None or always is not None:
            raise AffineLensError(
                "never and always speak of a domain; a property has its own condition: leave them out"
            )
        return asked
    if (never is None) == (always is None):
        given = "neither was" if never is None else "both were"
        raise AffineLensError(
            f"of a domain, say what is to hold there by either never=... or always=..., but {given} given"
        )
    condition = never if never is not None else always
    if not isinstance(condition, Condition):
        raise AffineLensError(
            f"a condition is made of output(i), class_is(k) and inequalities(A, b), but got {condition!r:.60}"
        )
    if isinstance(asked, Slice):
        raise AffineLensError("properties are decided on a Box or a Polytope, but got a Slice; give the box around it")
    unsafe = condition if never is not None else ~condition
    case = Case(asked, unsafe.normal_form(network.output_size))
    return Property((asked.inputs,), (network.output_size,), (case,))
