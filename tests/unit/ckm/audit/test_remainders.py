"""Sets of records that no table shows, but that two tables differ by."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
from click.testing import CliRunner

from ckm.audit.audit import open_space, summed
from ckm.audit.query_space import QuerySpace
from ckm.audit.remainders import remainders
from ckm.cli import app
from ckm.config.service.service import read_service
from risk.reconstruction.joint_cells import JointCells
from risk.reconstruction.lattice import Lattice, Shown
from tests.unit.ckm.audit.test_audit import HEAD, write_keys

PLACE = [np.arange(4), np.array([0, 0, 1, 1]), np.zeros(4, int)]
SEX = [np.arange(2), np.zeros(2, int)]
GROUP = [np.arange(3), *np.array([[0, 1, 1], [0, 0, 1], [1, 0, 0], [0, 0, 0]])]
ZONE = [np.arange(3), np.zeros(3, int)]


def space_of(groups, joint, is_shown):
    """Show of all tables the cells that `is_shown` tells, by table and place."""
    lattice = Lattice(groups, list(itertools.product(*(range(len(of)) for of in groups))))
    shown = {}
    for table, true in lattice.sums(joint).items():
        known = np.array([is_shown(table, at) for at in np.ndindex(true.shape)])
        if known.any():
            shown[table] = Shown(published=true, is_shown=known.reshape(true.shape))
    return QuerySpace(
        variables=("a", "b", "c")[: len(groups)],
        level_names=tuple(("w", "x", "y", "z")[: len(of) - 1] for of in groups),
        lattice=Lattice(groups, list(shown)),
        shown=shown,
        parents={},
        mandatory=frozenset(),
        attributes=(),
        joint=JointCells.of(joint),
        n_areas=1,
        n_areas_drawn=1,
    )


def sums_of_each(space):
    """Give all tables of each joint cell alone."""
    for at in np.ndindex(space.lattice.shape):
        one = np.zeros(space.lattice.shape, int)
        one[at] = 1
        yield at, space.lattice.sums(one)


def found_in(space):
    """List the joint cells of each remainder."""
    tables, inside = list(remainders(space)), []
    for at, sums in sums_of_each(space):
        of_all = [one.less(sums[one.above], sums[one.below]) for one in tables]
        inside.append((at, np.concatenate([np.zeros(0, int), *of_all])))
    n = len(inside[0][1])
    return [frozenset(at for at, of in inside if of[place]) for place in range(n)]


def by_enumeration(space):
    """List what a cell holds beyond those inside it of a table that differs in one variable."""
    told = {}
    for table, one in space.shown.items():
        inside = [(at, sums[table][one.is_shown]) for at, sums in sums_of_each(space)]
        n = int(one.is_shown.sum())
        told[table] = [frozenset(at for at, of in inside if of[p]) for p in range(n)]
    shown, found = {one for of in told.values() for one in of}, set()
    for above, below in itertools.permutations(told, 2):
        if sum(a != b for a, b in zip(above, below, strict=True)) == 1:
            for cell in told[above]:
                parts = [one for one in told[below] if one <= cell]
                rest = cell.difference(*parts)
                if parts and rest:
                    found.add(rest)
    return found - shown


def test_they_are_those_of_an_enumeration_of_all_pairs_of_tables():
    """Areas are withheld, groups overlap, and the others of one are one that has few tables."""
    rng = np.random.default_rng(3)

    def is_shown(table, at):
        place, sex, group = table
        is_member = group == 4 or (group > 0 and at[2] == 1)
        is_withheld = place == 0 and at[0] == 1 and at[1] == 0
        return is_member and not is_withheld and not (group == 3 and sex == 0 and at[1] == 1)

    space = space_of([PLACE, SEX, GROUP], rng.poisson(1, (4, 2, 3)), is_shown)
    found = found_in(space)
    assert len(found) == len(set(found)) > 20
    assert set(found) == by_enumeration(space)


def test_of_two_zonings_that_no_table_shows_together_slivers_are_what_is_left():
    """Zone 0 is place 0 and a part of place 1; zone 1 the rest of it and place 2; 2 is 3."""
    joint = np.array([[5, 0, 0], [1, 6, 0], [0, 4, 0], [0, 0, 7]])
    place = [np.arange(4), np.zeros(4, int)]

    space = space_of([place, ZONE], joint, lambda table, _: 1 in table)
    sums = space.lattice.sums(joint)
    rests = [one.less(sums[one.above], sums[one.below]) for one in remainders(space)]
    assert [one.tolist() for one in rests] == [[1, 6]]
    assert not list(remainders(space_of([place, ZONE], joint, lambda *_: True)))


POPULATION = """
[[variable]]
name = "place"
is_area = true
[[population]]
name = "adults"
title = "Adults"
where = "age > 17"
[rules]
sparsity_a = false
sparsity_b = false
mean_cell_size = false
"""


def test_one_person_outside_a_population_is_named_and_counts_for_the_limit(tmp_path):
    """In 30 of 60 places; each place has 40 people, so that nothing published is small."""
    people = pd.DataFrame(
        {"id": range(2400), "place": np.repeat(np.arange(60), 40).astype(str)}
    )
    people["age"] = np.where(people["id"] % 80 == 0, 17, 30)
    people.to_parquet(tmp_path / "people.parquet")
    write_keys(tmp_path)
    file = tmp_path / "service.toml"
    file.write_text(HEAD + POPULATION)
    space, auditor = open_space(read_service(file))
    found = auditor.audit(space)
    (by_place,) = [one for one in found.remainders if one.n_cells == 60]
    assert by_place.name == "place \N{MINUS SIGN} place, population (adults)"
    unlike = [
        shown.published.sum(axis=-1) for table, shown in space.shown.items() if not table[0]
    ]
    n_unlike = int((unlike[0] != unlike[1]).sum())
    assert by_place.together.n_small == 30
    assert by_place.together.right == n_unlike > 15 > by_place.alone.right
    assert by_place.together.guessed == n_unlike
    assert found.whole.together.n_small == 0
    assert found.largest_share == summed(found.remainders).together.share > 0.5
    done = CliRunner().invoke(app, ["audit", str(file), "--limit", "0.5"])
    assert done.exit_code == 1
    assert "Of 30 sets of 1 to 2 records that no table shows" in done.stdout
