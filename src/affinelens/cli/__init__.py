"""The command line; :mod:`affinelens.cli.commands` has the entry point."""

from affinelens.cli.commands import main

__all__ = ["main"]
