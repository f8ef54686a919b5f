"""Whether a property holds, with a witness where it does not."""

from affinelens.verify.property_asked import property_of
from affinelens.verify.robustness import Robustness, robust
from affinelens.verify.unsafe_set import UnsafePart
from affinelens.verify.verdict import Result, Verdict
from affinelens.verify.verification import verify
from affinelens.verify.witness import FloatCheck, Witness

__all__ = ["FloatCheck", "Result", "Robustness", "UnsafePart", "Verdict", "Witness", "property_of", "robust", "verify"]
