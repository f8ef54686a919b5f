"""Timings, printed as tables of ratios that were measured side by side in one run."""
