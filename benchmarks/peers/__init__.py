"""Other tools that enumerate regions, each measured in an environment of its own."""
