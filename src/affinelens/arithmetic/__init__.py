"""Exact numbers and proven rounding bounds: the ground that every verdict stands on."""

from affinelens.arithmetic.rational import ExactMatrix
from affinelens.arithmetic.rounding import UNIT_ROUNDOFF, gamma, upward
from affinelens.arithmetic.simplex import ExactProgram, Infeasible, Optimum

__all__ = ["UNIT_ROUNDOFF", "ExactMatrix", "ExactProgram", "Infeasible", "Optimum", "gamma", "upward"]
