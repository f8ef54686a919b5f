"""The command line: each command is a file, and :mod:`affinelens.cli.commands` lists them.

A command reads its arguments, calls the same functions a Python user would, and prints either a short text or, with
``--json``, one object. Errors are one sentence on stderr with exit code 2; Ctrl-C keeps what was found and exits with
130.
"""

from __future__ import annotations

import os
import sys
import warnings
from difflib import get_close_matches
from typing import Any

import click

from affinelens.cli.command_output import BAD_INPUT, INTERRUPTED
from affinelens.cli.commands import commands
from affinelens.cli.model_options import on_command_line
from affinelens.errors import AffineLensError, AffineLensWarning

__all__ = ["main"]


def main() -> None:
    """Entry point: run a command and turn every expected failure into one sentence."""
    os.environ["MPLBACKEND"] = "agg"  # pictures go to files: no command opens a window
    warnings.showwarning = _show_warning
    try:
        sys.exit(commands(prog_name="affinelens", standalone_mode=False) or 0)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("affinelens: stopped by Ctrl-C; nothing was saved", err=True)
        sys.exit(INTERRUPTED)
    except click.ClickException as error:
        _fail(_in_a_sentence(error))
    except AffineLensError as error:
        _fail(error.worded(on_command_line))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        _fail(f"cannot write the output ({error.strerror or error})")


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    text = message.worded(on_command_line) if isinstance(message, AffineLensWarning) else str(message)
    click.echo(f"affinelens: warning: {text}", err=True)


def _in_a_sentence(error: click.ClickException) -> str:
    """What was wrong with the arguments, and where they are explained."""
    context = getattr(error, "ctx", None)
    where = f"; see {context.command_path} --help" if context is not None else ""
    if isinstance(error, click.NoSuchOption):
        near = get_close_matches(error.option_name, error.possibilities or (), 1)
        return f"there is no option {error.option_name}{f'; did you mean {near[0]}?' if near else where}"
    words = " ".join(error.format_message().split()).rstrip(".")
    return f"{words[0].lower()}{words[1:]}{where}"


def _fail(sentence: str) -> None:
    click.echo(f"affinelens: {sentence}", err=True)
    sys.exit(BAD_INPUT)
