"""Lists of intervals as other tools print them."""

import pytest

from ptable import PTable, PTableError
from ptable.dialects.listings import write_frame, write_r_ptable, write_sas, write_tau_argus
from ptable.dialects.numbers import Writing


def table(noise, upper, **settings):
    return PTable(noise=noise, upper=upper, key_range=upper[0][-1], **settings)


@pytest.fixture
def small():
    return table([[0], [-1, 10]], [[8], [5, 8]])


@pytest.fixture
def halves():
    return table([[0], [-1, 2]], [[8], [5, 8]], step=2, anchors=(0, 12))


def test_r_ptable_has_seven_columns_of_full_decimals(small):
    assert write_r_ptable({"all": small}, Writing()).splitlines() == [
        "i,j,p,v,p_int_lb,p_int_ub,type",
        "0,0,1,0,0,1,all",
        "1,0,0.625,-1,0,0.625,all",
        "1,11,0.375,10,0.625,1,all",
    ]
    assert write_r_ptable({"all": small}, Writing()).endswith("all\n")


def test_r_ptable_rounds_to_the_digits_asked_for_or_twelve(small):
    lines = write_r_ptable({"all": small}, Writing(digits=1)).splitlines()
    assert lines[2:] == ["1,0,0.6,-1,0,0.6,all", "1,11,0.4,10,0.6,1,all"]
    thirds = table([[0], [-1, 1]], [[3], [1, 3]])
    line = write_r_ptable({"all": thirds}, Writing()).splitlines()[2]
    assert line == "1,0,0.333333333333,-1,0,0.333333333333,all"


def test_intervals_that_rounding_closes_are_not_written(small):
    fine = table([[0], [-1, 0, 1]], [[1000], [4, 500, 1000]])
    lines = write_r_ptable({"all": fine}, Writing(digits=2)).splitlines()
    assert lines[2:] == ["1,1,0.5,0,0,0.5,all", "1,2,0.5,1,0.5,1,all"]


def test_types_follow_each_other(small, halves):
    lines = write_r_ptable({"even": small, "odd": halves}, Writing()).splitlines()
    assert [line.rpartition(",")[2] for line in lines[1:]] == ["even"] * 3 + ["odd"] * 3
    assert lines[4:] == [
        "0,0,1,0,0,1,odd",
        "12,11.5,0.625,-0.5,0,0.625,odd",
        "12,13,0.375,1,0.625,1,odd",
    ]


def test_the_export_to_tau_argus_is_padded_to_columns_of_8_digits(small):
    assert write_tau_argus({"all": small}, Writing()) == (
        "i;j;p;v;p_int_ub\n"
        "0; 0;1.00000000; 0;1.00000000\n"
        "1; 0;0.62500000;-1;0.62500000\n"
        "1;11;0.37500000;10;1.00000000\n"
    )


def test_the_export_to_sas_has_lower_ends_too_and_the_digits_asked_for(small):
    assert write_sas({"all": small}, Writing(digits=3)) == (
        "i;j;p;v;p_int_lb;p_int_ub\n"
        "0; 0;1.000; 0;0.000;1.000\n"
        "1; 0;0.625;-1;0.000;0.625\n"
        "1;11;0.375;10;0.625;1.000\n"
    )


def test_magnitudes_and_several_types_are_exported_with_their_type(small, halves):
    assert write_tau_argus({"all": halves}, Writing(digits=2)).splitlines() == [
        "i;j;p;v;p_int_ub;type",
        " 0; 0.0;1.00; 0.0;1.00;all",
        "12;11.5;0.62;-0.5;0.62;all",
        "12;13.0;0.38; 1.0;1.00;all",
    ]
    both = write_tau_argus({"even": small, "odd": small}, Writing(digits=2)).splitlines()
    assert [line.rpartition(";")[2] for line in both] == ["type"] + ["even"] * 3 + ["odd"] * 3
    stepped = table([[0], [-1, 2]], [[8], [5, 8]], step=2)
    anchored = table([[0], [-1, 2]], [[8], [5, 8]], anchors=(0, 12))
    for magnitudes in (stepped, anchored):
        assert "type" in write_tau_argus({"all": magnitudes}, Writing())


@pytest.mark.parametrize(
    ("step", "noise"),
    [
        (1, "-1"),
        (2, "-0.5"),
        (4, "-0.25"),
        (8, "-0.125"),
        (3, "-0.33333333"),
        (128, "-0.0078125"),
    ],
)
def test_noise_is_exported_with_the_digits_it_needs(step, noise):
    fraction = table([[0], [-1, 1]], [[8], [4, 8]], step=step)
    line = write_sas({"all": fraction}, Writing()).splitlines()[2]
    assert line.split(";")[3].strip() == noise


def test_small_cells_are_exported_to_a_file_of_their_own(small):
    for write in (write_sas, write_tau_argus):
        assert write({"small_cells": small}, Writing())
        with pytest.raises(
            PTableError, match="type 'small_cells' is exported to a file of its"
        ):
            write({"small_cells": small, "odd": small}, Writing())


def test_our_own_list_is_in_whole_keys(small, halves):
    assert write_frame({"all": small}, Writing()) == (
        "i,j,v,p,lower,upper\n0,0,0,1,0,8\n1,0,-1,0.625,0,5\n1,11,10,0.375,5,8\n"
    )
    assert write_frame({"even": small, "odd": halves}, Writing()).splitlines()[3:6] == [
        "1,11,10,0.375,5,8,even",
        "0,0,0,1,0,8,odd",
        "12,11.5,-0.5,0.625,0,5,odd",
    ]
    thirds = table([[0], [-1, 1]], [[3], [1, 3]])
    assert "0.3333333333333333,0,1" in write_frame({"all": thirds}, Writing())
