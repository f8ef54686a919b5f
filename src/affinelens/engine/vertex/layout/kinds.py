"""What the cell of a frame is."""

from __future__ import annotations

ORDINARY = 0
# one of which only the part is kept where a group's candidate wins
CLIPPED = 1
# the domain in the making, which keeps only the positive side of each of its rows
DOMAIN = 2
# a section of a cell that is being counted
SECTION = 3
# a cell of the last stage of which not every part is wanted
WANTED = 4
