"""What regions say about a network."""

from affinelens.measure.unsafe_set import UnsafePart
from affinelens.measure.verification import Result, Verdict, verify
from affinelens.measure.witness import FloatCheck, Witness

__all__ = ["FloatCheck", "Result", "UnsafePart", "Verdict", "Witness", "verify"]
