"""A job is bytes: it runs wherever the version, the model and the domain are those it was made for, and says so where
they are not."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import affinelens as al
from affinelens.engine.choice import Choice, choose
from affinelens.engine.executors import context as contexts
from affinelens.engine.executors.context import Identity, context_from_bytes, context_to_bytes, job_to_bytes, name_of
from affinelens.engine.executors.job_run import read_reply, run_job
from affinelens.engine.executors.message import packed, unpacked
from affinelens.errors import AffineLensError
from affinelens.version import __version__
from affinelens.walk import WHOLE_DOMAIN, Job, Layouts, Request, Selection, Status
from support.random_networks import random_layers

NETWORK = al.network(random_layers([2, 6, 5, 1], 1))
REQUEST = Request(NETWORK, al.Box(-1, 1, dim=2).frame, "vertex", vertices=True)


@pytest.fixture(autouse=True)
def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that knows no walk yet."""
    monkeypatch.setattr(contexts, "_known", type(contexts._known)())
    monkeypatch.setattr(contexts, "_layouts", Layouts(4))


def _context(request: Request = REQUEST) -> bytes:
    return context_to_bytes(request, choose(request))


def _job(context: bytes, job: Job = WHOLE_DOMAIN, **otherwise: str) -> bytes:
    return job_to_bytes(replace(context_from_bytes(context).identity, **otherwise), job)


def test_a_job_is_run_from_its_bytes() -> None:
    context = _context()
    known = context_from_bytes(context)
    reply = read_reply(run_job(context, _job(context), 10.0), known)
    assert reply.outcome is not None
    assert reply.outcome.status is Status.COMPLETE
    assert reply.outcome.regions == al.count(NETWORK, al.Box(-1, 1, dim=2))
    assert reply.outcome.open_work == ()


def test_a_limit_of_regions_leaves_the_rest() -> None:
    context = _context()
    known = context_from_bytes(context)
    first = read_reply(run_job(context, _job(context), 10.0, 3), known).outcome
    assert first is not None
    assert (first.status, first.regions, len(first.chunks[0].made)) == (Status.REGION_LIMIT, 3, 3)
    whole = first
    for job in first.open_work or ():
        rest = read_reply(run_job(None, _job(context, job), 10.0), known).outcome
        assert rest is not None
        whole = whole.then(rest)
    assert whole.regions == al.count(NETWORK, al.Box(-1, 1, dim=2))


def test_a_worker_asks_for_what_it_does_not_know() -> None:
    context = _context()
    known = context_from_bytes(context)
    assert read_reply(run_job(None, _job(context), 10.0), known).is_missing
    assert read_reply(run_job(context, _job(context), 10.0), known).outcome is not None
    assert read_reply(run_job(None, _job(context), 10.0), known).outcome is not None


def test_a_worker_forgets_the_oldest_walks() -> None:
    all_contexts = [_context(replace(REQUEST, frame=al.Box(-1, 1 + k, dim=2).frame)) for k in range(6)]
    for context in all_contexts:
        run_job(context, _job(context), 10.0)
    assert len(contexts._known) == 4
    assert read_reply(run_job(None, _job(all_contexts[0]), 10.0), context_from_bytes(all_contexts[0])).is_missing


def _refusal(context: bytes, job: bytes) -> str:
    found = read_reply(run_job(context, job, 1.0), context_from_bytes(_context())).refusal
    assert found is not None
    return found


def test_a_job_of_something_else_is_refused() -> None:
    context, elsewhere = _context(), _context(replace(REQUEST, frame=al.Box(-1, 2, dim=2).frame))
    assert "another model, domain or request" in _refusal(elsewhere, _job(context))
    assert "another model" in _refusal(context, _job(context, model="0" * 64))
    assert f"has affinelens {__version__}, but the work is for 0.0.1" in _refusal(
        context, _job(context, version="0.0.1")
    )
    assert "of affinelens" in _refusal(context, b"nothing of ours")
    assert "of affinelens" in _refusal(b"nothing of ours", job_to_bytes(
        Identity(__version__, NETWORK.digest, name_of(b"nothing of ours")), WHOLE_DOMAIN
    ))  # fmt: skip
    assert _refusal(context, _job(context, Job("vertex", (0,), {"choices": "none"})))
    assert _refusal(context, packed({"version": __version__, "job": [1]}, {}))


def test_a_context_that_was_changed_is_refused() -> None:
    structure, arrays = unpacked(_context())
    for change in (
        {"model": "0" * 64}, {"engine": "none"}, {"network": {}}, {"frame": {}}, {"condition": 3}, {"version": "0"},
        {"restricted": {"sides": []}},
    ):  # fmt: skip
        with pytest.raises(AffineLensError):
            context_from_bytes(packed(structure | change, arrays))
    name = next(name for name in arrays if name.startswith("network") and arrays[name].dtype == np.float64)
    with pytest.raises(AffineLensError, match="not the one that was sent"):
        context_from_bytes(packed(structure, arrays | {name: arrays[name] + 1}))


@pytest.mark.parametrize("place", range(0, 2000, 97))
def test_a_message_that_was_damaged_is_refused_or_the_same(place: int) -> None:
    message = bytearray(_context())
    place = place * len(message) // 2000
    message[place] ^= 1
    with contextlib.suppress(AffineLensError):
        assert json.dumps(unpacked(bytes(message))[0]) == json.dumps(unpacked(_context())[0])


def test_a_condition_travels_and_a_selection_does_not() -> None:
    asked = replace(REQUEST, condition=((0, 1), (2,)))
    assert tuple(context_from_bytes(_context(asked)).request.condition) == ((0, 1), (2,))
    found = al.enumerate(NETWORK, al.Box(-1, 1, dim=2)).outcome
    selected = replace(REQUEST, selection=Selection(found, 2))
    with pytest.raises(AffineLensError, match="leave out the executor"):
        context_to_bytes(selected, Choice(choose(REQUEST).engine, "asked for"))


def test_a_reply_of_another_request_is_refused() -> None:
    context = _context()
    reply = run_job(context, _job(context), 10.0)
    for other in (replace(REQUEST, vertices=False), replace(REQUEST, facets=False)):
        with pytest.raises(AffineLensError, match="cannot be read"):
            read_reply(reply, context_from_bytes(_context(other)))
    structure, arrays = unpacked(reply)
    for name in ("0.points", "0.facet_offsets", "0.vertex_points"):
        with pytest.raises(AffineLensError):
            read_reply(packed(structure, arrays | {name: arrays[name][:-1]}), context_from_bytes(context))


def test_a_worker_lays_a_network_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many jobs of a walk it runs, and once more for another walk."""
    from affinelens.engine.vertex.driver import task

    laid_out, compile_program = [], task.compile_program
    monkeypatch.setattr(task, "compile_program", lambda *given: laid_out.append(0) or compile_program(*given))
    for walks, asked in enumerate((REQUEST, replace(REQUEST, frame=al.Box(-1, 3, dim=2).frame)), start=1):
        context = _context(asked)
        jobs, regions = [_job(context)], 0
        while jobs:
            found = read_reply(run_job(context, jobs.pop(), 10.0, 4), context_from_bytes(context)).outcome
            assert found is not None
            jobs += [_job(context, job) for job in found.open_work or ()]
            regions += found.regions
        assert regions == al.count(NETWORK, al.Box(-1, 1 if walks == 1 else 3, dim=2), engine="linear_program")
        assert len(laid_out) == walks


_ELSEWHERE = """
import sys
from pathlib import Path
from affinelens.engine.executors.job_run import run_job
context, *jobs = [Path(name).read_bytes() for name in sys.argv[2:]]
for number, job in enumerate(jobs):
    Path(sys.argv[1], f"reply{number}").write_bytes(run_job(context, job, 60.0))
"""


def test_a_job_that_was_written_here_runs_on_another_machine(tmp_path: Path) -> None:
    """As far as hashes and threads make another one: its columns are the same bytes."""
    network = al.network(random_layers([3, 20, 20, 2], 1))
    asked = Request(network, al.Box(-1, 1, dim=3).frame, "vertex", vertices=True)
    context = _context(asked)
    known = context_from_bytes(context)
    first = read_reply(run_job(context, _job(context), 10.0, 100, 2), known).outcome
    assert first is not None
    jobs = [_job(context, job) for job in first.open_work or ()]
    assert jobs
    files = [tmp_path / name for name in ("context", *(f"job{number}" for number in range(len(jobs))))]
    for file, content in zip(files, (context, *jobs), strict=True):
        file.write_bytes(content)
    threads = "1" if (os.cpu_count() or 1) > 1 else "2"
    elsewhere = {"PYTHONHASHSEED": "12345", "NUMBA_NUM_THREADS": threads, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run(
        [sys.executable, "-c", _ELSEWHERE, tmp_path, *files], env={**os.environ, **elsewhere}, check=True, timeout=300
    )
    for number, job in enumerate(jobs):
        here, there = run_job(context, job, 60.0), (tmp_path / f"reply{number}").read_bytes()
        (structure, arrays), (_, others) = unpacked(here), unpacked(there)
        assert structure["status"] == "COMPLETE"
        assert {name: a.tobytes() for name, a in arrays.items()} == {name: a.tobytes() for name, a in others.items()}
        assert len(arrays) > 4
