"""What a set is, in a few lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from affinelens.short_text import shown_counts

if TYPE_CHECKING:
    from affinelens.regions import Regions

# How wide the texts are.
_WIDTH = 62


def summary(regions: Regions) -> dict[str, str]:
    """Labels and short texts."""
    proof, share = regions.certificate, regions.share
    covered = "" if share is None or share == 1.0 else f"; {share:.1%} of the domain's volume"
    found = {
        "regions": f"{len(regions):,}",
        "status": f"{regions.status}{covered}",
        "network": repr(regions.network),
        "domain": repr(regions.domain),
        "cells by stage": shown_counts(regions.layer_counts, _WIDTH),
        "engine": f"{regions.engine}, {regions.seconds:.3g} s",
        "decisions": f"{proof.decisions:,}, of which {proof.by_exact_arithmetic:,} needed rational arithmetic",
    }
    return found | {"note": regions.note} if regions.note else found
