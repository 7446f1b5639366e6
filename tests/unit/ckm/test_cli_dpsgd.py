"""``ckm dpsgd budget``: the calculator of the source, and what weakens its figure."""

import pytest
from click.testing import CliRunner

from ckm.cli import app

RUN = ("-s", 60000, "-b", 64, "-n", "1.0", "-e", 15)


def run(*args):
    runner = CliRunner(env={"CKM_LOG_FORMAT": "text"})
    return runner.invoke(app, ["dpsgd", "budget", *map(str, args)])


def test_the_example_of_the_source_comes_out_as_printed_there():
    found = run(*RUN)
    assert found.exit_code == 0
    assert "0.107 %" in found.stdout
    assert "14,070" in found.stdout
    assert "epsilon             1.17 " in found.stdout
    assert "best order (alpha)  13\n" in found.stdout


def test_orders_can_be_chosen_and_an_edge_is_told():
    found = run(*RUN, "-a", "2 4", "-a", "8,16")
    assert "best order (alpha)  8\n" in found.stdout
    assert "do not divide 60000 records" in found.stderr
    assert "first or the last of those tried" in run(*RUN, "-a", "20 30").stderr


@pytest.mark.parametrize("orders", ["one", "2 x"])
def test_orders_that_are_no_numbers_are_refused(orders):
    found = run(*RUN, "-a", orders)
    assert found.exit_code == 2
    assert "--alphas are numbers above 1" in found.stderr
