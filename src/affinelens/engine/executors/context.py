"""What a worker needs to run jobs of a walk: the network, the domain, what is asked, and what restricting found out."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from affinelens.domain.frame_data import frame_from_data, frame_to_data
from affinelens.engine.choice import Choice, engine_named, require_known
from affinelens.engine.executors.message import Arrays, named, of_prefix, packed, unpacked
from affinelens.errors import AffineLensError
from affinelens.network.serial import network_from_data, network_to_data
from affinelens.restrict import Clauses
from affinelens.restrict.serial import restricted_from_data, restricted_to_data
from affinelens.version import __version__
from affinelens.walk import Job, Layouts, OwnLayouts, Request

# A worker keeps so many contexts: those of walks that were begun last.
_KEPT = 4
# And so many layouts, each of the network or of a subdomain, for all walks together.
_LAYOUTS_KEPT = 4
_ASKED = ("regions", "facets", "vertices")


@dataclass(frozen=True, eq=False)
class Identity:
    """What a job belongs to: it runs in no other version, and on no other network or domain."""

    version: str
    model: str
    context: str

    def to_json(self) -> dict[str, str]:
        return {"version": self.version, "model": self.model, "context": self.context}


@dataclass(frozen=True, eq=False)
class Context:
    """A walk as a worker knows it: a request without work, and the engine that runs its jobs."""

    request: Request
    choice: Choice
    identity: Identity


def context_to_bytes(request: Request, choice: Choice) -> bytes:
    """A context, written down."""
    if request.selection is not None:
        raise AffineLensError("a walk of selected regions cannot be sent to an executor; leave out the executor")
    network, network_arrays = network_to_data(request.network)
    frame, frame_arrays = frame_to_data(request.frame)
    structure: dict[str, Any] = {
        "version": __version__,
        "model": request.network.digest,
        "engine": choice.name,
        "network": network,
        "frame": frame,
        "condition": [[int(b) for b in clause] for clause in request.condition],
        "restricted": None,
        **{name: bool(getattr(request, name)) for name in _ASKED},
    }
    arrays: Arrays = named("network", network_arrays) | named("frame", frame_arrays)
    if choice.restricted is not None:
        structure["restricted"], restricted_arrays = restricted_to_data(choice.restricted)
        arrays |= named("restricted", restricted_arrays)
    return packed(structure, arrays)


def context_from_bytes(message: bytes) -> Context:
    """A context, read; one of another version is refused."""
    structure, arrays = unpacked(message)
    _require_own_version(structure.get("version"))
    try:
        return _read(structure, arrays, name_of(message))
    except AffineLensError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise AffineLensError("what is to be walked cannot be read") from error


def _read(structure: Mapping[str, Any], arrays: Mapping[str, Any], name: str) -> Context:
    network = network_from_data(structure["network"], of_prefix("network", arrays))
    if network.digest != structure["model"]:
        raise AffineLensError("the network that arrived is not the one that was sent")
    frame = frame_from_data(structure["frame"], of_prefix("frame", arrays))
    if frame.inputs != network.input_size:
        raise AffineLensError("the domain that arrived is one of other inputs than the network's")
    engine, restricted = str(structure["engine"]), None
    require_known(engine)
    if structure["restricted"] is not None:
        restricted = restricted_from_data(network, frame, structure["restricted"], of_prefix("restricted", arrays))
    condition: Clauses = tuple(tuple(int(b) for b in clause) for clause in structure["condition"])
    regions, facets, vertices = (bool(structure[name]) for name in _ASKED)
    request = Request(
        network, frame, engine, regions=regions, facets=facets, vertices=vertices, condition=condition, progress=None,
        layouts=OwnLayouts(name, _layouts),
    )  # fmt: skip
    choice = Choice(engine_named(engine), "asked for", restricted)
    return Context(request, choice, Identity(__version__, network.digest, name))


def name_of(context: bytes) -> str:
    """What a context is called: its hash."""
    return hashlib.sha256(context).hexdigest()


def _require_own_version(version: object) -> None:
    if version != __version__:
        raise AffineLensError(
            f"this worker has affinelens {__version__}, but the work is for {version}; install one version everywhere"
        )


_layouts = Layouts(_LAYOUTS_KEPT)
_known: OrderedDict[str, Context] = OrderedDict()
_lock = threading.Lock()


def known_context(name: str, message: bytes | None) -> Context | None:
    """The context of that name, read once in a process; None if it was neither sent now nor before."""
    with _lock:
        if name not in _known:
            if message is None:
                return None
            if name_of(message) != name:
                raise AffineLensError("the job belongs to another model, domain or request than what came with it")
            _known[name] = context_from_bytes(message)
        _known.move_to_end(name)
        while len(_known) > _KEPT:
            _known.popitem(last=False)
        return _known[name]


def job_to_bytes(identity: Identity, job: Job) -> bytes:
    """A job, written down with what it belongs to."""
    return packed({**identity.to_json(), "job": job.to_json()}, {})


def job_from_bytes(message: bytes) -> tuple[Identity, Job]:
    """A job and what it belongs to; one of another version is refused."""
    structure, _ = unpacked(message)
    _require_own_version(structure.get("version"))
    identity = Identity(*(str(structure.get(name)) for name in ("version", "model", "context")))
    return identity, Job.from_json(structure.get("job"))
