"""Every way to say a domain on the command line, and what is refused of each."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import affinelens as al
from support.command_line import report, run, write_domain, write_network

PROPERTY = """(declare-const X_0 Real) (declare-const X_1 Real) (declare-const X_2 Real) (declare-const Y_0 Real)
(assert (and (>= X_1 -1) (<= X_1 1) (= X_2 0.1)))
(assert (or (and (>= X_0 -1) (<= X_0 0)) (and (>= X_0 0) (<= X_0 1))))
(assert (<= Y_0 0))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A network of three inputs, points of its input space in several formats, and a property."""
    write_network(tmp_path / "net.npz", 3, 8, 6, 1, seed=0)
    write_domain(tmp_path / "cube.npz", np.vstack([np.eye(3), -np.eye(3)]), np.ones(6))
    points = {"a": [0.0, 0.0, 0.5], "b": [1.0, 0.5, 0.0], "c": [-0.5, 1.0, 0.25]}
    np.save(tmp_path / "a.npy", np.array([points["a"]]))
    np.savez(tmp_path / "b.npz", x=np.array([points["b"]]))
    (tmp_path / "c.csv").write_text("-0.5, 1.0,\n0.25\n")
    np.save(tmp_path / "c.npy", np.array(points["c"]))
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    np.savez(tmp_path / "two.npz", x=np.zeros(3), y=np.zeros(3))
    np.save(tmp_path / "complex.npy", np.array([1j, 2, 3]))
    (tmp_path / "words.txt").write_text("one two")
    huge = (tmp_path / "a.npy").read_bytes().replace(b"(1, 3), }      ", b"(999999999, 9),")
    assert huge != (tmp_path / "a.npy").read_bytes()
    (tmp_path / "huge.npy").write_bytes(huge)
    (tmp_path / "p.vnnlib").write_text(PROPERTY)
    (tmp_path / "q.vnnlib").write_text("\n(assert (<= X_0 1))")
    return tmp_path


def counted(folder: Path, *arguments: str) -> int:
    done = run("count", "net.npz", *arguments, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    return int(json.loads(done.stdout)["regions"])


@pytest.mark.parametrize(
    ("box", "regions"),
    [
        (["-1", "1"], 4),
        (["0", "1"], 1),
        (["-1,-1", "1,1"], 4),
        (["-1,0", "1,1"], 2),
        (["-1,0.5", "1,0.5"], 2),
        (["-1,-1", "1"], 4),
        (["-1e-3,-2", ".5,3"], 4),
        (["-.5", "+2.5e-1"], 4),
    ],
)
def test_box_takes_a_number_or_one_per_input(box: list[str], regions: int, cross: Path) -> None:
    assert report("count", cross, "--box", *box)["regions"] == regions


def test_domain_from_a_file(cross: Path, tmp_path: Path) -> None:
    triangle = write_domain(tmp_path / "triangle.npz", [[1, 0], [0, 1], [-1, -1]], [1, 0, 0.5])
    assert report("count", cross, "--domain", triangle)["regions"] == 2
    assert report("inspect", cross, "--domain", triangle)["dimension"] == 2


def test_domain_that_fixes_an_input(cross: Path, tmp_path: Path) -> None:
    edge = write_domain(tmp_path / "edge.npz", [[1, 0], [-1, 0], [0, 1], [0, -1]], [1, 1, -1, 1])
    assert report("inspect", cross, "--domain", edge)["dimension"] == 1
    assert report("count", cross, "--domain", edge)["regions"] == 2


def test_a_slice_along_axes(folder: Path) -> None:
    expected = al.count(folder / "net.npz", al.Slice.axes([0.0, 0.0, 0.5], (0, 2), [-1, -2], 3))
    assert counted(folder, "--slice-axes", "0,2", "--at", "a.npy", "--window", "-1,-2", "3") == expected
    line = al.count(folder / "net.npz", al.Slice.axes([-0.5, 1.0, 0.25], 1, -4, 4))
    assert counted(folder, "--slice-axes", "1", "--at", "c.csv", "--window", "-4", "4") == line


def test_a_slice_through_points(folder: Path) -> None:
    points = [[0.0, 0.0, 0.5], [1.0, 0.5, 0.0], [-0.5, 1.0, 0.25]]
    through = ("--through", "a.npy", "--through", "b.npz", "--through", "c.npy")
    with_row = [[point] for point in points]
    assert counted(folder, *through[:4]) == al.count(folder / "net.npz", al.Slice.through(*with_row[:2]))
    text = ("--through", "c.csv", "--through", "c2.csv")
    (folder / "c2.csv").write_text("1 2 3")
    assert counted(folder, *text) == al.count(folder / "net.npz", al.Slice.through(points[2], [1, 2, 3]))
    done = run("count", "net.npz", *through, cwd=folder)
    assert done.returncode == 2
    assert "must have one shape" in done.stderr
    np.save(folder / "c.npy", np.array([points[2]]))
    window = al.Box(-2, 2, dim=2)
    expected = al.count(folder / "net.npz", al.Slice.through(*with_row, window=window))
    assert counted(folder, *through, "--window", "-2", "2") == expected


def test_the_input_domains_of_a_property(folder: Path) -> None:
    cases = al.read_vnnlib(folder / "p.vnnlib").cases
    for number, case in enumerate(cases, start=1):
        found = counted(folder, "--vnnlib", "p.vnnlib", "--case", str(number))
        assert found == al.count(folder / "net.npz", case.domain)


def test_inspect_shows_the_slice(folder: Path) -> None:
    done = run("inspect", "net.npz", "--slice-axes", "0,2", "--at", "a.npy", "--window", "0", "1", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "Slice(dimension 2 in 3 inputs, window Box([0, 0], [1, 1])), dimension 2" in " ".join(done.stdout.split())


def test_a_slice_is_saved_and_loaded(folder: Path) -> None:
    arguments = ("--slice-axes", "0,2", "--at", "a.npy", "--window", "-1", "1", "-o", "run")
    assert run("enumerate", "net.npz", *arguments, cwd=folder).returncode == 0
    assert isinstance(al.load(folder / "run").domain, al.Slice)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ("", "no domain is given; add --box, --domain"),
        ("--box 0 1 --vnnlib p.vnnlib", "given by --box and by --vnnlib; keep one"),
        ("--at a.npy", "--at goes with --slice-axes, but no domain is given"),
        ("--box 0 1 --window 0 1", "--window goes with --slice-axes or --through, but the domain is given by --box"),
        ("--domain cube.npz --case 1", "--case goes with --vnnlib, but the domain is given by --domain"),
        ("--through a.npy --through b.npz --at a.npy", "--at goes with --slice-axes"),
        ("--slice-axes 0,2", "add --at and --window"),
        ("--slice-axes 0,2 --at a.npy", "add --window"),
        ("--slice-axes 0,x --at a.npy --window 0 1", "takes the numbers of inputs"),
        ("--slice-axes 0,0 --at a.npy --window 0 1", "different inputs"),
        ("--slice-axes 3 --at a.npy --window 0 1", "from 0 to 2"),
        ("--slice-axes 0 --at a.npy --window 0 b", "--window takes numbers"),
        ("--slice-axes 0 --at a.npy --window 0,1 1,2", "--slice-axes 0 names 1"),
        ("--slice-axes 0 --at none.npy --window 0 1", "none.npy: no such file"),
        ("--slice-axes 0 --at objects.npy --window 0 1", "objects.npy: not a readable .npy file"),
        ("--slice-axes 0 --at huge.npy --window 0 1", "huge.npy: not a readable .npy file"),
        ("--slice-axes 0 --at complex.npy --window 0 1", "an input is real numbers"),
        ("--slice-axes 0 --at two.npz --window 0 1", "holds 2"),
        ("--slice-axes 0 --at words.txt --window 0 1", "separated by commas or spaces"),
        ("--through a.npy", "two inputs"),
        ("--through a.npy --through a.npy", "2 points lie on a flat of dimension 0"),
        ("--through a.npy --through c.npy", "must have one shape"),
        ("--vnnlib none.vnnlib", "none.vnnlib: no such file"),
        ("--vnnlib q.vnnlib", "q.vnnlib: line 2: X_0 is not declared"),
        ("--vnnlib p.vnnlib", "p.vnnlib: the property has 2 input domains; choose one with --case 1 to --case 2"),
        ("--vnnlib p.vnnlib --case 3", "no case 3"),
        ("--vnnlib p.vnnlib --case 0", "--case"),
    ],
)
def test_what_says_no_domain_is_refused(folder: Path, arguments: str, problem: str) -> None:
    done = run("count", "net.npz", *arguments.split(), cwd=folder)
    assert done.returncode == 2
    assert problem in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_a_property_of_another_network_is_refused(folder: Path) -> None:
    write_network(folder / "other.npz", 2, 4, 1, seed=0)
    done = run("count", "other.npz", "--vnnlib", "p.vnnlib", cwd=folder)
    assert done.returncode == 2
    assert "p.vnnlib: the property speaks of 3 inputs but the network has 2" in done.stderr
