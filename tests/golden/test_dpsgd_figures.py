"""Figures of the source that need no data: the calculator, memory, multiples of chance."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from ckm.cli import app
from dpsgd.accounting.budget import compute_dp_sgd_privacy
from dpsgd.networks import image_network
from dpsgd.sweeps.sweep import Sweep, outcomes, run_sweep
from dpsgd.training.memory import flowers_estimate

# batch, side divisor, bytes that images and labels added, as the spreadsheet prints them
IMAGES = [
    (1, 2, 151_040), (64, 2, 9_634_304), (128, 2, 19_268_608), (256, 2, 38_537_216),
    (512, 2, 77_598_720),
]  # fmt: skip


@pytest.mark.slow
def test_the_command_prints_the_reference_run():
    found = CliRunner().invoke(
        app, ["dpsgd", "budget", "-s", "60000", "-b", "64", "-n", "1.0", "-e", "15"]
    )
    assert found.exit_code == 0
    lines = [" ".join(line.split()) for line in found.output.splitlines()]
    for words in ("sampling rate 0.107 %", "steps 14,070", "epsilon 0.6", "delta 1e-05",
                  "promise add-remove 1.166 Rényi orders, classic formula"):  # fmt: skip
        assert any(line.startswith(words) for line in lines), words
    assert "add-remove" in found.output
    assert "poisson" in found.output


def test_a_tenth_of_the_delta_costs_ten_to_twelve_per_cent():
    for batch, noise, epochs, more in ((64, 1.0, 150, 0.104), (32, 0.9, 60, 0.117)):
        large, small = (
            compute_dp_sgd_privacy(
                6552, batch_size=batch, noise_multiplier=noise, epochs=epochs, delta=delta
            )[0]
            for delta in (1e-4, 1e-5)
        )
        assert small / large - 1 == pytest.approx(more, abs=1e-3)


@pytest.mark.parametrize(("batch", "factor", "held"), IMAGES)
def test_images_and_labels_take_what_the_spreadsheet_prints(batch, factor, held):
    found = flowers_estimate(
        hidden_units=26, batch_size=batch, image_factor=factor, is_private=False
    )
    assert found["batch"] == held


def test_a_sum_of_the_spreadsheet_is_misprinted():
    assert 472_932_864 + IMAGES[3][2] == 511_470_080  # printed as 511,470,680


@pytest.mark.parametrize(
    ("units", "batch", "more"),
    [(512, 64, 6_150_000), (500, 64, 6_150_000), (128, 64, 25_000_000), (240, 4, 11_971_000),
     (64, 100, 14_950_000)],
)  # fmt: skip
def test_going_back_costs_private_training_6_to_25_megabytes_more(units, batch, more):
    private, plain = (
        flowers_estimate(hidden_units=units, batch_size=batch, is_private=is_private)
        for is_private in (True, False)
    )
    assert private["backward"] - plain["backward"] == more


def test_a_step_keeps_a_gradient_for_each_record():
    def more(batch):
        private, plain = (
            flowers_estimate(hidden_units=512, batch_size=batch, is_private=is_private)
            for is_private in (True, False)
        )
        return private["step"] - plain["step"]

    assert more(17) - more(16) == 108_500 * 512 == 55_552_000
    assert pytest.approx(889e6, rel=1e-3) == 108_500 * 512 * 16


@pytest.mark.parametrize(
    ("accuracy", "classes", "times"), [(0.55, 102, 56.1), (0.912, 10, 9.12)]
)
def test_accuracies_are_told_as_multiples_of_chance(tmp_path, accuracy, classes, times):
    file = tmp_path / "runs.csv"
    run_sweep(Sweep(values={"epochs": [1]}), lambda *_: iter([(accuracy, 1.0)]), file=file)
    assert outcomes(file, classes=classes)[0].times_chance == pytest.approx(times, abs=0.05)


def test_the_drop_of_the_printed_means_is_7_9_per_cent():
    assert pytest.approx(0.079, abs=5e-4) == (99.0 - 91.2) / 99.0  # printed as 8.1


def test_the_network_for_digits_has_the_parameters_of_the_source():
    assert sum(p.numel() for p in image_network(10).parameters()) == 26_010
