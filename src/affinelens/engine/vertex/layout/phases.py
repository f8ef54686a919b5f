"""What a frame of the stack waits for. Kernels compare plain numbers: members of an enumeration cost them time."""

from __future__ import annotations

# that its next cut be chosen
OPEN = 0
# its children, one after another
BRANCHING = 1
# the signs of the domain's rows at the corners of the unit cube
STARTED = 2
# the last signs of a stage that was opened on it
ENTERED = 3
# the candidates of a group that share it out
SPLIT_BY_GROUP = 4
# the last signs on a section of it
CONCLUDING = 5
# that there be room for the second half of its last cut
HALVED = 6
