import pytest

from ckm.config import JobError, read_designs, read_job
from ckm.config.lines import Lines
from ptable import InfeasibleError

TEXT = r'''# [data] and key = 1 in a comment
schema = 1
title = """
[data]
path = "no" """
"odd [key" = { inner = [1,
  { deep = 2 }] }
report.id = "x"
[data]
path = 'a"#[' # path = 3
[[table]]
name = "a" # "]
dimensions = [
  "sex", # [
  "region",
]
[[report.exceptions]]
what = "x"
[[table]]
where = "agee > 3"
[table.more]
key = 1
[[report.exceptions]]
who = ["sum:income"]
'''


@pytest.mark.parametrize(
    ("place", "line"),
    [
        (("schema",), 2),
        (("data",), 9),
        (("data", "path"), 10),
        (("data", "none"), 9),
        (("odd [key", "inner", 1, "deep"), 6),
        (("report", "id"), 8),
        (("table", 0), 11),
        (("table", 0, "dimensions", 1, "list[str]"), 13),
        (("table", 1, "name"), 19),
        (("table", 1, "more", "key"), 22),
        (("report", "exceptions", 1, "why"), 23),
        (("report", "exceptions"), 17),
        (("nowhere",), None),
    ],
)
def test_a_place_has_the_line_of_what_stands_there_or_above(place, line):
    assert Lines(TEXT).at(place)[1] == line


@pytest.mark.parametrize(
    ("place", "line"),
    [
        (("table", "a"), 11),
        (("table", "a", "name"), 12),
        (("table", "a", "dimensions"), 13),
        (("table", "a", "dimensions", "region"), 13),
        (("table", "a", "dimensions", "sex"), 13),
        (("table", "a", "dimensions", "age"), 13),
        (("table", "b"), None),
        (("table", 1, "where"), 20),
        (("report", "exceptions", 1, "who", "income"), 24),
        (("data", "path", "x"), 10),
    ],
)
def test_an_entry_of_a_list_is_found_by_its_name_or_its_text(place, line):
    assert Lines(TEXT).at(place)[1] == line


def test_windows_line_ends_count_once():
    assert Lines(TEXT.replace("\n", "\r\n")).at(("table", 1, "where"))[1] == 20


def test_an_unknown_key_beside_the_secret_is_no_part_of_its_place(tmp_path):
    (tmp_path / "job.toml").write_text("schema = 1\n[keys]\n5ec2e7 = 1\n")
    with pytest.raises(JobError) as caught:
        read_job(tmp_path / "job.toml")
    (found,) = (p for p in caught.value.problems if p.where == "[keys]")
    assert (found.at, found.number) == (("keys",), 2)


def test_problems_of_designs_have_their_lines(tmp_path):
    file = tmp_path / "designs.toml"
    file.write_text('[designs."D=1.5"]\nbase = 3\n\n[grid]\nmax_noise = [true]\n')
    with pytest.raises(JobError) as caught:
        read_designs(file)
    assert [p.number for p in caught.value.problems] == [1, 5]


def test_a_design_of_noise_of_differential_privacy_has_its_bound(tmp_path):
    file = tmp_path / "designs.toml"
    file.write_text(
        '[designs.d]\nmechanism = "discrete-laplace"\nepsilon = 1.0\nmax_noise = 9\n'
    )
    assert read_designs(file)["d"].max_noise == 9


def test_noise_that_cannot_be_keeps_its_exit_code_and_has_its_line(tmp_path):
    (tmp_path / "people.csv").write_text("rkey,sex\n17,F\n")
    file = tmp_path / "job.toml"
    file.write_text(
        'schema = 1\n[data]\npath = "people.csv"\nrecord_key = "rkey"\n[ptable]\n'
        'max_noise = 2\nvariance = 99.0\n[[table]]\nname = "a"\ndimensions = ["sex"]\n'
    )
    with pytest.raises(InfeasibleError, match=r"^job\.toml:6: \[ptable\] No p-table"):
        read_job(file)
