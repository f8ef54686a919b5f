"""``affinelens audit``: what it says of a run that is none."""

from __future__ import annotations

from support.command_line import run


def test_an_empty_name_is_refused_in_the_commands_own_words() -> None:
    done = run("audit", "")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "affinelens: RUN needs the name of a directory, but got an empty text\n"
