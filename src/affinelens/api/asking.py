"""From a model, a domain and options as users give them to a request, after checking each of them."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from affinelens.api.given_limits import checked_limits
from affinelens.domain import Domain
from affinelens.engine import AUTO, require_known
from affinelens.errors import AffineLensError
from affinelens.network import Network, compile_model, is_torch_module
from affinelens.walk import Request


def requested(
    model: Any,
    domain: Domain,
    *,
    engine: str = AUTO,
    workers: int | None = None,
    executor: Any = None,
    max_regions: int | None = None,
    time_limit: float | None = None,
    cut_outputs: bool = False,
    regions: bool = True,
    facets: bool = True,
    vertices: bool = False,
) -> Request:
    """The request that a user's options stand for, after checking each of them."""
    require_known(engine)
    limits = checked_limits(workers, max_regions, time_limit, executor)
    require_domain(domain)
    compiled = compile_for(model, domain)
    return Request(
        compiled.with_output_cut() if cut_outputs else compiled, domain.frame, engine, regions=regions, facets=facets,
        vertices=vertices, limits=limits,
    )  # fmt: skip


def require_domain(domain: Any) -> None:
    if not isinstance(domain, Domain):
        raise AffineLensError(f"the domain must be a Box, a Polytope or a Slice, but got {type(domain).__name__}")


def compile_for(model: Any, domain: Domain) -> Network:
    """Compile a model and check that it takes the domain's inputs."""
    compiled = compile_given(model, domain)
    require_inputs(compiled, domain)
    return compiled


def compile_given(model: Any, domain: Domain) -> Network:
    """Compile a model where its options cannot be given; sizes it leaves open are the domain's.

    A module is given inputs in the shape of a slice's or, if it does not take that, as a flat row.
    """
    if is_torch_module(model) and len(domain.input_shape) > 1:
        with suppress(AffineLensError):
            return compile_model(model, input_shape=domain.input_shape)
    try:
        return compile_model(model, inputs=domain.inputs)
    except AffineLensError as error:
        if error.options:
            raise error.between("", " (an option of affinelens.network, whose result can be given here)") from None
        raise


def require_inputs(network: Network, domain: Domain) -> None:
    """Refuse a domain of other inputs than the network's."""
    if network.input_size != domain.inputs:
        raise AffineLensError(
            f"the network takes {network.input_size} inputs but the domain has {domain.inputs}; "
            f"give a domain with one range an input"
        )
