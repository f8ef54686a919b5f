"""The command line's option of commands that can walk on a Dask cluster."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import click

from affinelens.cli.shared_options import option_group
from affinelens.errors import AffineLensError, MissingExtraError

# How many seconds a scheduler may take to answer.
_PATIENCE = 10


def connected(address: str) -> AbstractContextManager[Any]:
    """A client of the scheduler at an address."""
    try:
        from distributed import Client
    except ImportError:
        raise MissingExtraError.for_extra("distributed", "dask", "--dask") from None
    try:
        client: AbstractContextManager[Any] = Client(address, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise AffineLensError(
            f"no Dask scheduler answers at {address!r:.60} ({type(error).__name__}); give its address, as "
            f"tcp://host:8786"
        ) from None
    return client


def _client(context: click.Context, _parameter: click.Parameter, address: str | None) -> Any:
    return None if address is None or context.resilient_parsing else context.with_resource(connected(address))


dask_option = option_group(
    "Walk",
    click.option(
        "--dask", "executor", metavar="ADDRESS", callback=_client, help="Walk on the Dask cluster of this scheduler."
    ),
)
