"""What is asked of a walk: a network on a domain, the geometry wanted, and when to stop."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from affinelens.domain import Frame
from affinelens.network import Network
from affinelens.progress import ProgressFunction, who_is_told
from affinelens.restrict import Clauses, RestrictedNetwork
from affinelens.walk.columns import Columns
from affinelens.walk.job import WHOLE_DOMAIN, Job
from affinelens.walk.layouts import OwnLayouts
from affinelens.walk.limits import Limits
from affinelens.walk.selection import Selection
from affinelens.walk.sink import Sink


class Ability(Enum):
    """What can be asked of an engine beyond a count; the value completes "the engine cannot give ..."."""

    REGIONS = "the regions themselves"
    FACETS = "facets"
    VERTICES = "vertices"
    SELECTION = "only selected regions"
    CONDITION = "only regions on which a condition may hold"
    RESUME = "the rest of an earlier walk"


@dataclass(frozen=True, eq=False)
class Request:
    """One walk, before an engine is chosen for it.

    Parameters
    ----------
    network, frame
        What is walked, and where.
    engine
        An engine's name, or ``"auto"`` for the fastest that can do what is asked.
    regions
        Whether regions are wanted, or only how many there are.
    facets, vertices
        Which geometry is wanted with each region. What is not asked for costs nothing.
    selection
        If given, only what lies in one of these regions is found.
    condition
        If given, only those regions are found that lie above all breaks of the last stage that one of these clauses
        lists.
    limits, progress
        When to stop early, with how many workers or on which executor to go, and whom to tell how far the walk is:
        unless given, whoever is told of progress where the request is made.
    sink
        Takes regions while they are found, which are otherwise in the outcome, and is told how the walk stands.
    open_work
        What there is to do: the whole domain, or what an earlier walk of the same request left.
    layouts
        If given, what engines lay out before they walk is kept there for further walks of the same request.
    """

    network: Network
    frame: Frame
    engine: str = "auto"
    regions: bool = True
    facets: bool = True
    vertices: bool = False
    selection: Selection | None = None
    condition: Clauses = ()
    limits: Limits = field(default_factory=Limits)
    progress: ProgressFunction | None = field(default_factory=who_is_told)
    sink: Sink | None = None
    open_work: tuple[Job, ...] = (WHOLE_DOMAIN,)
    layouts: OwnLayouts | None = None

    @property
    def executor(self) -> Any:
        """What runs the jobs; None for threads here."""
        return self.limits.executor

    @property
    def wants_facets(self) -> bool:
        return self.regions and self.facets

    @property
    def wants_vertices(self) -> bool:
        return self.regions and self.vertices

    def no_columns(self, restricted: RestrictedNetwork | None = None) -> Columns:
        """What is found if there is no region; patterns are of what can switch, if a network was restricted."""
        choices = self.network.choice_offsets[-1] if restricted is None else len(restricted.switching.choices)
        facets, vertices = self.wants_facets, self.wants_vertices
        return Columns.of_no_regions(
            int(choices), self.frame.dim, self.network.pattern_type, facets=facets, vertices=vertices
        )

    @property
    def begins(self) -> bool:
        """Whether nothing of the domain was walked before."""
        return self.open_work == (WHOLE_DOMAIN,)

    @property
    def needs(self) -> frozenset[Ability]:
        """What an engine must be able to do."""
        wanted = {
            Ability.REGIONS: self.regions,
            Ability.FACETS: self.wants_facets,
            Ability.VERTICES: self.wants_vertices,
            Ability.SELECTION: self.selection is not None,
            Ability.CONDITION: bool(self.condition),
            Ability.RESUME: not self.begins or self.executor is not None,
        }
        return frozenset(ability for ability, is_wanted in wanted.items() if is_wanted)
