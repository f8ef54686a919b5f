"""What tests share: makers of networks, the rational brute force, and readers of what the package shows and writes."""
