"""Facts of a release and of a comparison: rich, realistic, and the same every time."""

import math
from dataclasses import replace
from functools import cache

from reports.catalogues.pages import SUSPICIONS
from reports.catalogues.synthesis import CONCLUSIONS, FIGURES
from reports.catalogues.training import CARD_TEXTS, DOUBTS
from reports.facts.copying import fact_of
from reports.facts.decoding import CandidateFact, DecodingFacts, EstimateFact, SuspicionFact
from reports.facts.exposure import (
    ClosureFact,
    ExposureFacts,
    GrowthFact,
    PartFact,
)
from reports.facts.exposure import PointFact as GrowthPoint
from reports.facts.frontier import (
    AttackedFact,
    AttacksFact,
    FiguresFact,
    FrontierDesignFact,
    FrontierFacts,
    FrontierPointFact,
)
from reports.facts.meaning import EpsilonFact, MeaningFacts
from reports.facts.mobility import GrainFact, MobilityFacts, ShareFact
from reports.facts.release import (
    AmountFact,
    AmountNoiseFact,
    AttackFact,
    CheckFact,
    ComparisonFacts,
    DesignFact,
    ExceptionFact,
    FileFact,
    FirstRowsFact,
    IndexFacts,
    MeasureFact,
    NoiseClassFact,
    NoiseFacts,
    NoiseShareFact,
    PosteriorFact,
    ReleaseFacts,
    ReproductionFacts,
    RiskFacts,
    ScenarioFacts,
    SetFact,
    SizeFact,
    TableFact,
    WorstFact,
)
from reports.facts.suppression import (
    PatternFact,
    PublicSuppressionFacts,
    SuppressedLevelFact,
    SuppressedMeasureFact,
    SuppressedTableFact,
    SuppressionFacts,
)
from reports.facts.synthesis import (
    GuaranteeFact,
    SpreadFact,
    SweptFigure,
    SynthesisFacts,
    SynthesisFigure,
    SynthesisFinding,
)
from reports.facts.training import (
    AuditFacts,
    CardFacts,
    ClaimFact,
    InversionFact,
    MembershipFact,
    ModelFact,
    OneRunFact,
    OutcomeFact,
    PlanFact,
    PointFact,
    PublishedRunFact,
    RateFact,
    SeriesFact,
    StudyFacts,
    SweepFacts,
    TuningFact,
)
from risk.reconstruction.attributes import FoundAttributes, FoundGroups
from risk.reconstruction.lattice import FoundZeros

LAW = {-5: 0.004, -4: 0.022, -3: 0.07, -2: 0.14, -1: 0.17, 0: 0.188}
LAW |= {-noise: share for noise, share in LAW.items()}


def digest(word: str) -> str:
    """Make something that looks like a SHA-256."""
    import hashlib

    return hashlib.sha256(word.encode()).hexdigest()


def file(name: str, size: int = 48211) -> FileFact:
    return FileFact(file=name, bytes=size, sha256=digest(name))


CHECKS = (
    CheckFact(
        name="noise-bound",
        outcome="passed",
        allowed={"least": -5.0, "most": 5.0},
        found={"least": -5.0, "most": 5.0},
    ),
    CheckFact(
        name="small-counts", outcome="passed", allowed={"small": 4.0}, found={"cells": 0.0}
    ),
    CheckFact(name="zeros-kept", outcome="passed", found={"cells": 0.0}),
    CheckFact(
        name="noise-mean",
        outcome="passed",
        allowed={"z": 3.29},
        found={"z": -0.84, "mean": -0.0023, "cells": 394871.0},
    ),
    CheckFact(
        name="noise-variance",
        outcome="passed",
        allowed={"z": 3.29},
        found={"z": 1.12, "ratio": 1.0026, "cells": 394871.0},
    ),
    CheckFact(
        name="noise-distribution",
        outcome="passed",
        allowed={"p": 1e-6 / 3},
        found={
            "bound": 1.0,
            "chi2": 148.2,
            "df": 146.0,
            "p": 0.4334,
            "rows": 11.0,
            "least": 0.0714,
            "cells": 394871.0,
        },
    ),
    CheckFact(
        name="same-records", outcome="passed", found={"repeats": 81220.0, "differing": 0.0}
    ),
    CheckFact(name="keys", outcome="passed"),
    CheckFact(
        name="certificate",
        outcome="passed",
        allowed={"residual": 1e-9},
        found={"residual": 2.4e-12},
    ),
    CheckFact(
        name="posterior",
        outcome="passed",
        allowed={"probability": 0.9},
        found={"probability": 0.5123},
        where="jobseekers_qpv_2024",
    ),
    CheckFact(
        name="posterior-set",
        outcome="failed",
        allowed={"probability": 0.9},
        found={"probability": 0.9997},
        where="jobseekers_commune_sex",
    ),
    CheckFact(name="attacks", outcome="passed", found={"over": 0.0}),
    CheckFact(name="utility", outcome="not computed"),
    CheckFact(name="public-scan", outcome="passed", found={"marks": 0.0}),
)


def tables(number: int = 6) -> tuple[TableFact, ...]:
    shapes = [
        ("jobseekers_commune_sex", ("geo", "sex")),
        ("jobseekers_qpv_2015", ("qpv_2015", "sex", "category")),
        ("jobseekers_qpv_2024", ("qpv_2024", "sex", "category")),
        ("jobseekers_age", ("geo", "age")),
        ("jobseekers_duration", ("geo", "category", "duration")),
        ("jobseekers_small", ("region", "sex")),
    ]
    return tuple(
        TableFact(
            name=name if place < len(shapes) else f"{name}_{place}",
            title=f"Jobseekers by {', '.join(dimensions)}",
            dimensions=dimensions,
            measures=("count",),
            where="age >= 15" if place % 2 else "",
            published=90211 + 1000 * place,
            records=5_912_004 - place,
            cells=65811 + 97 * place,
            empty=24400 + 903 * place,
            margins=1204 + place,
            files=(file(f"{name}_{place}.csv", 3_402_118), file(f"{name}_{place}.parquet")),
        )
        for place in range(number)
        for name, dimensions in [shapes[place % len(shapes)]]
    )


def transition() -> tuple[tuple[float, ...], ...]:
    rows = []
    for count in range(13):
        row = [0.0] * 19
        for noise, share in LAW.items():
            published = count + noise
            if count == 0:
                published = 0
            elif published < 5:
                published = 0 if published < 3 else 5
            row[min(published, 18)] += share
        rows.append(tuple(row))
    return tuple(rows)


def noise() -> NoiseFacts:
    classes = [(0, 0), (1, 4), (5, 9), (10, 20), (21, 50), (51, None)]
    return NoiseFacts(
        parameters={
            "max_noise": "5",
            "variance": "3.0",
            "small": "4",
            "p_stay": "not set",
            "variance_rule": "nearest",
        },
        ptable_id=digest("ptable"),
        certificate={"rows": 2.2e-16, "mean": 2.4e-12, "variance": 8.1e-11, "bounds": 0.0},
        transition=transition(),
        classes=tuple(
            NoiseClassFact(
                low=low,
                high=high,
                cells=0 if low == 21 else 120411 - 1000 * low,
                mean_designed=0.0,
                mean_drawn=None if low == 21 else 0.0021 * (low - 6),
                variance_designed=0.0 if low == 0 else 3.0,
                variance_drawn=None if low == 21 else 2.991 if low else 0.0,
                stay_designed=1.0 if low == 0 else 0.188,
                stay_drawn=None if low == 21 else 1.0 if low == 0 else 0.1876,
                least_designed=0 if low == 0 else -5,
                least_drawn=None if low == 21 else -5 if low else 0,
                most_designed=0 if low == 0 else 5,
                most_drawn=None if low == 21 else 5 if low else 0,
            )
            for low, high in classes
        ),
        shares=tuple(
            NoiseShareFact(
                noise=noise, designed=share, drawn=share * (1 + 0.01 * math.sin(noise))
            )
            for noise, share in sorted(LAW.items())
        ),
        sizes=tuple(
            SizeFact(
                low=low,
                high=high,
                cells=120411 - 80 * low,
                half=1,
                most=3,
                half_share=1 / low,
                most_share=3 / low,
            )
            for low, high in ((1, 4), (5, 9), (10, 19), (20, 49), (50, 999), (1000, None))
        ),
        amounts=(AmountNoiseFact(variable="income", base="top", deviation=0.2, largest=0.66),),
    )


def measures(place: tuple[str, str, str, str], scale: float, base: int):
    table, group, value, cells = place
    numbers = {
        "aad": 1.41 * scale,
        "rmse": 1.73 * scale,
        "max_abs": 5.0,
        "bias_mean": -0.0021 * scale,
        "bias_z": -0.84,
        "rmad_pct": 12.4 / scale,
        "changed_pct": 72.3,
        "changed_nonzero_pct": 81.9,
        "false_zeros": 20411.0,
        "hellinger_raw": 61.22 * scale,
        "hd_utility": 0.9921,
        "hellinger_probability": 0.00131,
        "spearman": 0.9987,
        "decile_changes_pct": 1.92,
        "rv_pct": 0.0004,
    }
    for kind, unit in (("d1", 1.0), ("d2", 0.11)):
        quantiles = {
            "min": 0, "q10": 0, "median": 1, "q90": 3, "q95": 3, "q99": 4, "max": 5, "mean": 1.4
        }  # fmt: skip
        numbers |= {f"{kind}_{q}": number * unit for q, number in quantiles.items()}
    for name, number in numbers.items():
        yield MeasureFact(
            table=table,
            group=group,
            value=value,
            cells=cells,
            name=name,
            number=number,
            base=base - 100 if name in {"rmad_pct", "changed_nonzero_pct"} else base,
        )


def utility() -> tuple[MeasureFact, ...]:
    facts = []
    for cells, scale, base in (
        ("all", 1.0, 394871),
        ("small", 0.98, 240122),
        ("medium", 1.01, 90412),
        ("large", 1.0, 64337),
    ):
        facts += measures(("", "all", "all", cells), scale, base)
    for place, table in enumerate(tables()):
        facts += measures((table.name, "all", "all", "all"), 1 + 0.01 * place, table.cells)
        for name, number in (
            ("cramers_v_original", 0.2214),
            ("cramers_v_published", 0.2209),
            ("rcv_pct", -0.226),
        ):
            facts.append(
                MeasureFact(
                    table=table.name, group="all", value="all", cells="all", name=name,
                    number=None if place == 5 else number, base=table.cells,
                    reason="a dimension has one category" if place == 5 else "",
                )
            )  # fmt: skip
    for level in ("geo", "geo × sex", "sex"):
        facts += measures(("", "margin", level, "all"), 1.0, 3412)
    for group, value in (
        ("sex", "women"),
        ("sex", "men"),
        ("category", "A"),
        ("category", "B"),
        ("category", "C"),
    ):
        facts += measures(("", group, value, "all"), 1.0, 81200)
    for dimension in ("geo", "sex"):
        for name, number in (
            ("gap_mean", 0.012), ("gap_max_abs", 31.0), ("gap_nonzero_pct", 91.2),
            ("gap_mean_square", 12.1), ("gap_expected", 12.0), ("gap_ratio", 1.008),
        ):  # fmt: skip
            facts.append(
                MeasureFact(
                    table="", group="parent", value=dimension, cells="all", name=name,
                    number=number, base=20112,
                )
            )  # fmt: skip
    return tuple(facts)


def posteriors(shift: float = 0.0) -> tuple[PosteriorFact, ...]:
    return tuple(
        PosteriorFact(
            published=j,
            share=0.41 if j == 0 else 0.09 / (1 + j),
            originals={j: 0.31, j + 1: 0.22, max(0, j - 1): 0.19} if j else {0: 0.83, 1: 0.1},
            sensitive=max(0.0002, min(0.9997, 0.62 - 0.07 * (j - 5) + shift)) if j else 0.17,
        )
        for j in (0, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14)
    )


def risk() -> RiskFacts:
    return RiskFacts(
        sensitive=(1, 2, 3, 4),
        prior="table-counts",
        posteriors=posteriors(),
        worst=tuple(
            WorstFact(
                table=table,
                original=4,
                published=5,
                probability=0.5123 - 0.01 * place,
                set_published=5,
                set_probability=0.9997 - 0.02 * place,
                small=120411 - place,
                sure=9014 - 31 * place,
            )
            for place, table in enumerate(
                ["", "jobseekers_commune_sex", "jobseekers_qpv_2024", "jobseekers_qpv_2015"]
            )
        ),
        attacks=(
            AttackFact(
                name="differencing", settings={}, closed_form=0.8512, successes=1688,
                trials=2000, low=0.8274, high=0.8592, queries=2, allowed=0.9,
            ),
            AttackFact(
                name="two-partition", settings={"n_categories": 7.0}, closed_form=0.8953,
                successes=180, trials=200, low=0.8506, high=0.9343, queries=126, allowed=0.9,
            ),
            AttackFact(
                name="small-cell", settings={"n_categories": 7.0}, closed_form=0.889,
                successes=0, trials=200, low=0.0, high=0.0188, queries=126,
            ),
            AttackFact(
                name="margin-bounds", settings={"max_noise": 5.0}, closed_form=1.1e-7,
                successes=0, trials=64337, low=0.0, high=0.00006, queries=3, allowed=0.001,
            ),
            AttackFact(name="means-beside-counts", settings={}, closed_form=None),
            AttackFact(name="linkage", settings={"own_setting": 0.25}, closed_form=None),
        ),
    )  # fmt: skip


def designs(number: int = 8) -> tuple[DesignFact, ...]:
    return tuple(
        DesignFact(
            name=f"D = {3 + place % 5}, V = {1 + place / 2:g}"
            + (", nothing in 1–4" if place % 2 else ""),
            figures={
                "q_worst": 0.95 - 0.05 * place,
                "q_worst_set": 0.99 - 0.04 * place,
                "differencing": 0.78 + 0.01 * place,
                "averaging_queries": 62.0 + 31 * place,
                "aad": 0.7 + 0.2 * place,
                "changed_pct": 61.0 + place,
                "false_zeros_pct": 3.1 + place,
                "hellinger_raw": 41.0 + 9 * place + 20 * (place == 3),
                "spearman": None if place == 2 else 0.998,
            },
            front=place != 3,
            chosen=place == 5,
        )
        for place in range(number)
    )


def scenarios(number: int = 8) -> ScenarioFacts:
    return ScenarioFacts(
        designs=designs(number),
        refused={"D = 2, V = 6": "No p-table has max_noise 2 and variance 6."},
    )


@cache
def release() -> ReleaseFacts:
    return ReleaseFacts(
        id="2027-03",
        title="Jobseekers in priority neighbourhoods",
        date="2027-03-15",
        contact="Methods unit, methods@office.example",
        ptable_label="PT-2027-A",
        version="0.1.0",
        checks=CHECKS,
        tables=tables(),
        noise=noise(),
        utility=utility(),
        risk=risk(),
        scenarios=scenarios(),
        exceptions=(
            ExceptionFact(
                what="The table jobseekers_small has margins below the threshold",
                who="Head of methods",
                when="2027-03-10",
                why="required by regulation",
            ),
        ),
        warnings=("Row 1 reaches a variance of 2.4 instead of 3; see the certificate.",),
        reproduction=ReproductionFacts(
            command="ckm release job.toml --out out/2027-03",
            job=file("job.toml", 1931),
            inputs=(file("people.parquet", 190_442_017), file("pt.parquet", 9120)),
            secret="secret.key",  # noqa: S106
            versions={"ckm": "0.1.0", "Python": "3.12.4", "system": "Linux x86-64"},
            started="2027-03-15T09:30:00+00:00",
            finished="2027-03-15T09:31:12+00:00",
            seconds={"cells": 41.2, "noise": 1.902, "assessment": 4.1},
        ),
        amounts=tuple(
            AmountFact(
                table="jobseekers_age",
                variable=name,
                cells=3391,
                bias=-0.0011,
                median=0.021,
                most=0.141,
                within=0.77,
                exposed=12,
                expected=0.31,
                found=0.25,
            )
            for name in ("income", "")
        ),
    )


def comparison() -> ComparisonFacts:
    some = designs()
    return ComparisonFacts(
        title="Jobseekers in priority neighbourhoods",
        version="0.1.0",
        tables={table.name: table.published for table in tables()},
        sensitive=(1, 2, 3, 4),
        scenarios=scenarios(),
        by_table={table.name: some for table in tables(2)},
        sets=tuple(
            SetFact(
                design=design.name,
                count=count,
                deviation=tuple(range(max(0, count - 3), count + 4)),
                possible=() if place % 2 and 0 < count < 5 else tuple(range(count, count + 3)),
            )
            for place, design in enumerate(some)
            for count in range(7)
        ),
        posteriors={
            design.name: posteriors(-0.1 * place)[: 11 - place]
            for place, design in enumerate(some)
        },
        utility={
            design.name: tuple(f for f in utility() if f.group in {"sex", "category"})
            for design in some[:3]
        },
        conclusion={
            "conclusion-forbidding": {
                "design": some[5].name, "loss": 86.0, "risk": 0.7
            },
            "least-loss": {
                "designs": 8, "design": some[0].name, "loss": 41.0, "risk": 0.99
            },
            "cells": {"tables": 6, "listed": 410246, "distinct": 394871},
        },
    )  # fmt: skip


def frontier(**changes) -> FrontierFacts:
    """A frontier with every part of a page: designs far off and biased, attacks, a gap."""

    def figures(posterior: float, loss: float) -> FiguresFact:
        return FiguresFact(
            posterior=posterior,
            posterior_set=min(1.0, posterior + 0.15),
            loss=loss,
            neighbours=0.0544,
            p_stay=0.39,
            least_variance=min(2.0, loss),
            largest_variance=3.0,
        )

    def attacked(floor: float | None, share: float) -> AttackedFact:
        return AttackedFact(
            floor=floor,
            full_floor=None if floor is None else 3.0,
            loss=3.0 if floor is None else floor,
            audit=share,
            together=share - 0.01,
            alone=share / 2,
            error=0.004,
            differencing=0.88,
            averaging=0.93,
            is_as_safe=share <= 0.356,
        )

    facts = FrontierFacts(
        title="Jobseekers in priority neighbourhoods",
        version="0.1.0",
        has_records=True,
        against="posterior",
        objective="least-variance",
        priors=("tables", "textbook"),
        max_noise=5,
        small=2,
        sensitive=(1, 2),
        limits={"variance_floor": 2.0, "variance_ceiling": None, "epsilon": 1.0, "delta": 0.05},
        points=tuple(
            FrontierPointFact(
                limit=0.78 + 0.003 * k,
                bound=2.4 - 0.02 * k,
                figures=figures(0.779 + 0.003 * k, 2.42 - 0.02 * k),
            )
            for k in range(12)
        ),
        designs=(
            FrontierDesignFact(
                name="",
                figures=figures(0.803, 3.0),
                is_own=True,
                least=2.2,
                alike=2.3,
                safer=0.779,
                cheaper=2.25,
            ),
            FrontierDesignFact(
                name="ons-10-5",
                figures=figures(0.556, 7.19),
                is_own=False,
                exceeds=("max_noise", "bias", "p_stay"),
            ),
            FrontierDesignFact(
                name="<b>insee</b>",
                figures=figures(0.84, 3.0),
                is_own=False,
                exceeds=("neighbours",),
                least=2.19,
                alike=2.7,
                safer=0.779,
                cheaper=2.2,
            ),
        ),
        least_posterior=0.7788,
        planned=14,
        gaps=(0.7789,),
        attacks=AttacksFact(
            small=2,
            n_secrets=3,
            allowed={
                "audit": 0.353,
                "together": 0.343,
                "differencing": 0.88,
                "averaging": 0.93,
            },
            is_stated=False,
            is_entropy=True,
            designs=(attacked(None, 0.353), attacked(2.2, 0.351), attacked(1.5, 0.41)),
            chosen=1,
        ),
    )
    return replace(facts, **changes)


def comparison_with_frontier() -> ComparisonFacts:
    return replace(comparison(), frontier=frontier())


def index() -> IndexFacts:
    """The first page of a release with files of several kinds, and first rows."""
    public = release().public()
    names = ("people.csv", "people.en.labels.csv", "people.fr.labels.csv", "people.xlsx")
    files = tuple(FileFact(file=name, bytes=9, sha256="ab" * 32) for name in names)
    rows = FirstRowsFact(
        dimensions=({"en": "Sex", "fr": "Sexe"},),
        measures=("count",),
        categories=(("Total",), ("F",)),
        numbers=(("1234",), ("",)),
    )
    table = replace(public.tables[0], name="people", files=files, first_rows=rows)
    page = FileFact(file="report.en.html", bytes=9, sha256="cd" * 32)
    return fact_of(IndexFacts, public, tables=(table, *public.tables[1:]), pages=(page,))


def release_with_frontier() -> ReleaseFacts:
    return replace(release(), frontier=frontier(attacks=None))


def decoding() -> DecodingFacts:
    """Decoded reports with every part of a page: weak candidates, collisions, doubts."""

    def amount(estimate: float) -> EstimateFact:
        return EstimateFact(
            estimate=estimate, sd=310.0, low=estimate - 608, high=estimate + 608
        )

    candidates = tuple(
        CandidateFact(
            name=f"town of number {place}" if place else "",
            amount=amount(4_000.0 / (place + 1) - 100) if place != 7 else None,
            adjusted=min(1.0, 1e-9 * 10.0**place),
            is_detected=place < 6,
        )
        for place in range(12)
    )
    return DecodingFacts(
        title="Towns of the panel",
        version="0.1.0",
        reports=20_000,
        parameters={"k": 64, "h": 2, "m": 8, "f": 0.5, "p": 0.25, "q": 0.75, "hash": "mmh3"},
        fingerprint="74cfdfc5a0351c01",
        epsilon_one=2.0433,
        epsilon_permanent=4.3944,
        candidates=candidates,
        is_ordered=False,
        collisions=(("first of the same bits", "second of the same bits"),),
        fitted_together=5,
        correction="benjamini-hochberg",
        alpha=0.05,
        confidence=0.95,
        limit=812.0,
        unknown=None,
        rest=amount(900.0),
        mass=amount(19_800.0),
        freedom=507,
        dispersion=1.31,
        misfit=2e-6,
        mass_misfit=0.52,
        suspicions=tuple(
            SuspicionFact(name=name, found=3, cohort=1, bit=4) for name in SUSPICIONS
        ),
    )


def ordered_decoding() -> DecodingFacts:
    """One report a person of an ordered value, once; nothing bounds what it tells."""
    return replace(
        decoding(),
        title="",
        parameters={"k": 12, "hash": "index"},
        epsilon_one=None,
        epsilon_permanent=None,
        is_ordered=True,
        collisions=(),
        fitted_together=12,
        correction="none",
        limit=None,
        rest=None,
        mass=None,
        dispersion=None,
        misfit=None,
        mass_misfit=None,
        suspicions=(),
    )


def synthesis(sets: int = 2) -> SynthesisFacts:
    controls = {"train": 0.001, "bootstrap": 0.012, "holdout": 0.014, "independent": 0.088}
    figures = tuple(
        SynthesisFigure(
            name=name,
            value=None if name == "nndr_train" else 0.5 + place / 100,
            controls=controls,
            subject="occupation" if name.startswith(("class", "inferred")) else "",
            reason="there is no holdout" if name == "nndr_train" else "",
            low=0.5 if name == "domias" else None,
            high=0.62 if name == "domias" else None,
            real=1200.0 if name.startswith("amount") else None,
            made=1290.0 if name.startswith("amount") else None,
            sampling=0.031 if name.startswith("amount") else None,
        )
        for place, name in enumerate(FIGURES)
    )
    parts = [
        replace(one, subject="pay, sex = F", part="sex = F")
        for one in figures
        if one.name.startswith("amount")
    ]
    figures = (
        *(replace(one, subject="pay") if one.real else one for one in figures),
        *parts,
    )
    values = {
        "value": 0.6, "columns": 0.3, "independent": 0.088, "bootstrap": 0.012, "holdout": 0.5,
        "train": 0.9, "share_pct": 12.5, "subject": "age, occupation", "epsilon": 1.0,
        "line": "tables", "largest": 8.0, "share": 0.872, "figure": "tvd2",
        "number": 78, "good": 70, "size": 100, "last": 999, "error": 0.112,
        "off": 0.204, "sampling": 0.031,
    }  # fmt: skip
    findings = tuple(SynthesisFinding(name=name, values=values) for name in CONCLUSIONS)
    names = [f"census-eps{place}" for place in range(1, sets + 1)]
    return SynthesisFacts(
        title="Census, synthetic",
        version="0.1.0",
        train=32561,
        holdout=16281,
        synthetic=dict.fromkeys(names, 32561),
        columns=("age", "occupation"),
        learner="HistGradientBoostingClassifier",
        figures=dict.fromkeys(names, figures),
        findings=dict.fromkeys(names, findings),
        guarantees={
            name: GuaranteeFact(
                name=promised,
                values={
                    "epsilon": 1.0,
                    "delta": 1e-6,
                    "unit": "household",
                    "most": 6,
                    "claimed": 1.0,
                    "spent": 14.0,
                },
            )
            for name, promised in zip(names, ("replace", "unbounded"), strict=False)
        },
    )


def swept() -> SynthesisFacts:
    """Three ways over three folds; one states no epsilon."""
    spreads = tuple(
        SpreadFact(
            line=line,
            epsilon=epsilon,
            values=(mean - 0.02, mean, mean + 0.05),
            mean=mean + 0.01,
            low=mean - 0.02,
            high=mean + 0.05,
        )
        for line, start in (("tables", 0.3), ("copula (NOT DP as claimed)", 0.35))
        for epsilon, mean in ((0.1, start), (1.0, start - 0.1), (8.0, start - 0.25))
    )
    apart = SpreadFact(line="exact", mean=0.06, low=0.05, high=0.07, values=(0.05, 0.06, 0.07))
    values = {"line": "tables", "epsilon": 1.0, "largest": 8.0, "share": 0.872}
    return replace(
        synthesis(),
        title="",
        synthetic={},
        figures={},
        guarantees={},
        findings={
            "": (
                SynthesisFinding(name="kept", values=values),
                SynthesisFinding(name="judged-by", values={"figure": "tvd2"}),
            )
        },
        measures=tuple(
            SweptFigure(
                name=name,
                subject="occupation" if name == "class_auc" else "",
                spreads=(*spreads, apart),
                controls={"train": 0.0, "bootstrap": 0.04, "independent": 0.22},
                leads=(("tables", 0.1, 8.0),),
            )
            for name in FIGURES
            if name != "nndr_train"
        ),
        folds=3,
    )


def quiet() -> ReleaseFacts:
    """A release of which hardly anything was computed."""
    return replace(
        release(),
        id="",
        title="",
        date="",
        contact="",
        ptable_label="",
        checks=(CheckFact(name="utility", outcome="not computed"),),
        noise=NoiseFacts(
            parameters={}, ptable_id="", certificate={}, transition=(), classes=(), shares=(),
            sizes=(),
        ),
        utility=(),
        amounts=(),
        risk=RiskFacts(sensitive=(), prior="flat", posteriors=(), worst=(), attacks=()),
        scenarios=None,
        exceptions=(),
        warnings=(),
    )  # fmt: skip


def study() -> StudyFacts:
    """A run of 25,000 steps, as its source has it."""
    names = {
        "order": (2.0, 9.4, 9.5, 9.6, 40.0),
        "dataset_size": (500, 10_000, 500_000),
        "batch_size": (1, 4, 256),
        "noise_multiplier": (0.6, 0.8, 2.6),
        "epochs": (1, 10, 100),
        "delta": (1e-7, 1e-5, 1e-3),
    }
    least = (4.1, 1.4656, 1.4701, 1.4822, 120_500.0)
    return StudyFacts(
        title="",
        version="0.1.0",
        dataset_size=10_000,
        batch_size=4,
        noise_multiplier=0.8,
        epochs=10,
        delta=1e-5,
        steps=25_000,
        sampling_rate=0.0004,
        epsilon=1.4656,
        order=9.4,
        series=tuple(
            SeriesFact(
                name=name,
                points=tuple(
                    PointFact(
                        value=value,
                        epsilon=least[place],
                        order=63.0 if value == 2.6 else 9.4,
                        is_at_edge=value == 2.6,
                    )
                    for place, value in enumerate(values)
                ),
            )
            for name, values in names.items()
        ),
        batches=(4, 64),
        noises=(0.7, 0.8, 2.0),
        surface=((2.0395, 1.4656, 0.2261), (5.0899, 3.5123, 0.681)),
        claims=(
            *(
                ClaimFact(
                    epsilon=0.4 + place,
                    sampling=sampling,
                    adjacency=adjacency,
                    account=account,
                    worth=worth,
                    times=0.31,
                )
                for place, (sampling, adjacency, account, worth) in enumerate(
                    (
                        ("poisson", "add-remove", "loss distribution", "promise"),
                        ("poisson", "add-remove", "renyi-classic", "promise"),
                        ("poisson", "add-remove", "strong composition", "history"),
                        ("fixed", "replace", "Rényi orders", "promise"),
                        ("shuffled", "zero-out", "Gaussian curve", "promise"),
                        ("shuffled", "zero-out", "lower bound", "floor"),
                    )
                )
            ),
            ClaimFact(
                epsilon=None,
                sampling="shuffled",
                adjacency="replace",
                account="Gaussian curve",
                worth="promise",
            ),
        ),
        published=(
            PublishedRunFact(
                batch_size=64,
                noise_multiplier=1.0,
                epochs=120,
                printed=6.2,
                accuracy=0.561,
                epsilon=7.3291,
                corrected_noise=1.1,
                corrected=6.1889,
            ),
        ),
        plan=PlanFact(
            epsilon=0.997,
            delta=1e-5,
            sampling="poisson",
            adjacency="add-remove",
            unit="person",
            account="loss distribution",
            steps=24_990,
            sampling_rate=0.0004,
            is_demonstration=True,
        ),
    )


def sweep() -> SweepFacts:
    """Private settings on the frontier and off it, and a plain one."""
    outcomes = tuple(
        OutcomeFact(
            choices={"batch_size": 1024, "noise_multiplier": noise, "learning_rate": 0.25},
            is_private=noise > 0,
            runs=3 if noise != 20.0 else 1,
            mean=mean,
            sd=None if noise == 20.0 else 0.0012,
            low=None if noise == 20.0 else mean - 0.003,
            high=None if noise == 20.0 else mean + 0.003,
            epsilon=epsilon,
            times_chance=2 * mean,
            is_front=noise in {20.0, 4.0},
        )
        for noise, mean, epsilon in (
            (0.0, 0.852, None),
            (4.0, 0.846, 0.7472),
            (2.0, 0.844, 1.7271),
            (20.0, 0.802, 0.1203),
        )
    )
    return SweepFacts(
        title="Income",
        version="0.1.0",
        delta=1e-5,
        sampling="poisson",
        adjacency="add-remove",
        classes=2,
        outcomes=outcomes,
        tuning=tuple(
            TuningFact(name=name, runs=runs, epsilon=epsilon, delta=1e-5)
            for name, runs, epsilon in (
                ("one", 1, 0.7472),
                ("logarithmic", 7, 3.1125),
                ("geometric", 7, 4.2018),
                ("sum", 7, 4.9213),
                ("basic", 7, 7.5432),
            )
        ),
    )


def audits() -> AuditFacts:
    """A private model within its promise, one above it, and a plain one."""

    def attack(
        name: str, auc: float, *, ceiling: float | None, is_above: bool
    ) -> MembershipFact:
        return MembershipFact(
            name=name,
            members=1000,
            others=1000,
            auc=auc,
            advantage=0.0512,
            rates=tuple(
                RateFact(
                    false_positive_rate=rate,
                    true_positive_rate=2 * rate,
                    low=rate,
                    high=3 * rate,
                    ceiling=ceiling,
                )
                for rate in (0.001, 0.01)
            ),
            curve=((0.001, 0.0), (0.01, 0.02), (0.1, 0.14), (1.0, 1.0)),
            advantage_ceiling=ceiling,
            is_above=is_above,
        )

    def inversion(name: str, *, ceiling: float | None) -> InversionFact:
        return InversionFact(
            name=name,
            members=0.651,
            members_low=0.612,
            members_high=0.693,
            others=0.624,
            others_low=0.583,
            others_high=0.664,
            baseline=0.613 if name == "attribute" else None,
            ceiling=ceiling,
        )

    names = ("loss", "shadow", "lira", "lira-offline", "rmia", "own attack")
    models = [
        ModelFact(
            name=f"model of number {place}",
            epsilon=None if place == 2 else 1.0,
            delta=None if place == 2 else 1e-5,
            sampling="" if place == 2 else "poisson",
            adjacency="" if place == 2 else "replace",
            unit="" if place == 2 else "household",
            shadows=8 * place,
            attacks=tuple(
                attack(
                    name,
                    0.5 + 0.01 * number,
                    ceiling=None if place == 2 else 0.4621,
                    is_above=place == 1 and number == 4,
                )
                for number, name in enumerate(names)
            ),
            one_run=OneRunFact(
                epsilon=0.3 + place, canaries=500, guesses=150, right=106, error=0.05
            ),
            inversions=tuple(
                inversion(name, ceiling=None if place == 2 else 0.95)
                for name in ("attribute", "gradient")
            ),
            ceiling=() if place == 2 else ((0.001, 0.0027), (0.1, 0.27), (1.0, 1.0)),
            is_refuted=place == 1,
        )
        for place in range(3)
    ]
    return AuditFacts(title="", version="0.1.0", models=tuple(models))


def card() -> CardFacts:
    """A card with every doubt and a text of every kind."""
    return CardFacts(
        title="",
        version="0.1.0",
        epsilon=0.9987,
        delta=1e-6,
        unit="household",
        records_per_unit=6,
        adjacency="add-remove",
        sampling="shuffled",
        accounted_sampling="poisson",
        accountant="loss distribution, dp-accounting 0.6.0",
        sampling_rate=0.0314,
        noise_multiplier=3.1134,
        clipping_norm=0.5,
        steps=640,
        expected_batch=1024.0,
        clipping="adaptive",
        released="the last model",
        data="census of 1994",
        touches=("histogram of ages",),
        trials=12.0,
        tuning="none",
        randomness="a seed: a demonstration, not a release",
        limits=tuple(CARD_TEXTS)[-2:],
        doubts=tuple(DOUBTS),
        odds=(5.4297, 14.741),
        chances=(2.4e-5, 7.6e-5),
        beliefs=((0.01, 0.0019, 0.052, 0.0007, 0.1296), (0.5, 0.1555, 0.8445, 0.0635, 0.9365)),
        rates=((0.001, 0.0027), (0.01, 0.0271)),
        advantage=0.4616,
    )


def beliefs(epsilon: float, priors=(0.1, 0.5)) -> EpsilonFact:
    """Give bounds by Bayes' rule, for neighbours with a unit more."""

    def ends(loss):
        odds = [(p, p * math.exp(-loss), p * math.exp(loss)) for p in priors]
        return tuple((p, low / (low + 1 - p), high / (high + 1 - p)) for p, low, high in odds)

    return EpsilonFact(
        epsilon=epsilon, member=ends(epsilon), value=ends(2 * epsilon), error=3 / epsilon
    )


@cache
def meaning() -> MeaningFacts:
    """Give the meaning of epsilon 1."""
    several = tuple(beliefs(epsilon) for epsilon in (0.1, 0.5, 1.0, 2.0))
    return MeaningFacts(
        version="0.1.0",
        delta=1e-6,
        adjacency="add-remove",
        unit="person",
        sentences=("epsilon: 1", "rate: 0,1"),
        asked=beliefs(1.0),
        curve=beliefs(1.0, [n / 10 for n in range(11)]),
        others=several,
        ranges=several,
        table=several,
    )


def exposure(**changes) -> ExposureFacts:
    """An audit of some areas, above its limit, with advice and a picture."""

    names = ("n_tables", "n_cells", "n_small", "alone", "together")

    def part(name, *numbers):
        return PartFact(name=name, **dict(zip(names, numbers, strict=True)))

    points = [(1, 20, None), (4, 90, 60), (12, 300, 80), (20, 630, 75)]
    facts = ExposureFacts(
        title={"en": "Job seekers", "fr": "Demandeurs d'emploi"},
        version="0.1.0",
        finished="2027-03-01T10:00:00+00:00",
        digests={"data": "d" * 64, "rules": "e" * 64, "ptable": "f" * 64, "secret": "none"},
        small=2,
        confidence=0.95,
        n_areas=1234,
        n_areas_drawn=50,
        seed=7,
        limit=0.2,
        largest_share=0.3968,
        zeros=FoundZeros(n=8477, n_occupied=1527, named=1182, right=872, sure=66),
        largest_zeros_share=0.571,
        groups=FoundGroups(n=249, right=205),
        attribute_share=0.823,
        zeros_limit=0.5,
        interval=(0.3, 0.5),
        whole=part("", 41, 18_891, 2256, 77, 630),
        guessed=1678,
        sure=12,
        sure_wrong=1,
        certain=3,
        remaining=part("", 2, 3330, 107, 13, 55),
        differences=(part("geo \N{MINUS SIGN} geo, population (adults)", 2, 180, 107, 13, 55),),
        persons=FoundAttributes(n=146, by_frequency=50, alone=80, together=88),
        sizes=(part("2", 15, 1459, 63, 0, 25), part("3", 26, 17_432, 2193, 77, 605)),
        variables=(part("geo", 16, 13_620, 1735, 31, 462),),
        areas=(part("D06", 16, 681, 106, 3, 34), part("D07", 16, 681, 0, 0, 0)),
        tables=(part("geo (region), age10", 1, 2600, 381, 0, 110), part("", 1, 1, 0, 0, 0)),
        growth=GrowthFact(
            n_first=4,
            n_small_first=570,
            seed=7,
            points=tuple(
                GrowthPoint(n_tables=n, found=found, found_first=first)
                for n, found, first in points
            ),
        ),
        advice=(
            ClosureFact(
                what='exclusive = [["geo", "race"]]',
                n_tables=37,
                n_cells=13_012,
                n_small=1379,
                share=0.19,
            ),
        ),
    )
    return replace(facts, **changes)


def mobility() -> MobilityFacts:
    """Trips at two grains, and nobody whose work shows at the coarser one."""

    def share(n, base=200):
        return ShareFact(n=n, base=base, low=max(0, n / base - 0.05), high=n / base)

    none = ShareFact(n=0, base=0)
    fine = GrainFact(
        metres=250.0,
        alone={
            hours: {known: share(min(200, 30 * known // place)) for known in range(2, 9)}
            for place, hours in enumerate((1.0, 6.5), start=1)
        },
        home=ShareFact(n=31, base=900),
        work=ShareFact(n=12, base=900),
        both=ShareFact(n=700, base=900),
        usual_crowd=1,
        foretold=share(150),
        usual=share(90),
        met=tuple(share(n) for n in (190, 60, 12, 4, 0)),
        met_by_chance=tuple(share(n) for n in (170, 20, 2, 0, 0)),
    )
    coarse = replace(
        fine,
        metres=4000.0,
        home=none,
        work=none,
        both=none,
        usual_crowd=None,
        foretold=none,
        usual=none,
        met_by_chance=(),
    )
    return MobilityFacts(
        title="Trips",
        version="0.1.0",
        rows=10_000,
        without=12,
        outside=3,
        repeated=85,
        points=9900,
        persons=1100,
        persons_once=41,
        days=28,
        sampled=200,
        seed=1,
        confidence=0.95,
        grains=(fine, coarse),
    )


def suppression() -> SuppressionFacts:
    """A suppression of two dimensions and of three, by every rule there is."""
    flat = tuple(
        (r, c, 1, int(r == c == 1), int(r > 0 < c)) for r in range(3) for c in range(3)
    )
    deep = tuple((r, c, 4, min(r, 1), min(r + c, 4)) for r in range(3) for c in range(3))
    labels = {"rows": ("Total", "N", "S"), "columns": ("Total", "steel", "paper")}
    return SuppressionFacts(
        title="",
        version="0.1.0",
        rules=(
            ("threshold", (3,)),
            ("dominance", (2, 85.0)),
            ("p_percent", (10.0,)),
            ("prior_posterior", (10.0, 50.0)),
            ("request", (50.0,)),
            ("zero_margin", (5.0,)),
        ),
        coalition=2,
        has_holdings=True,
        prior=(50.0, 100.0),
        is_audited=True,
        measures=(
            SuppressedMeasureFact(
                measure="count",
                cells=9,
                unsafe=1,
                hidden=4,
                lost=0.21,
                method="exact",
                gap=0.0,
                exact=1,
            ),
            SuppressedMeasureFact(
                measure="sum:turnover",
                cells=36,
                unsafe=2,
                hidden=9,
                lost=0.105,
                method="sequential",
                gap=None,
                exact=0,
            ),
        ),
        levels=(
            SuppressedLevelFact(
                table="work", columns=("region", "branch"), cells=4, primary=1, secondary=3
            ),
            SuppressedLevelFact(table="work", columns=(), cells=1, primary=0, secondary=0),
        ),
        patterns=(
            PatternFact(table="work", down="region", across="branch", cells=flat, **labels),
            PatternFact(table="sizes", down="region", across="branch", cells=deep, **labels),
        ),
    )


def public_suppression() -> PublicSuppressionFacts:
    """What anybody may know of it."""
    return PublicSuppressionFacts(
        title="",
        contact="sdc@example.org",
        version="0.1.0",
        tables=(SuppressedTableFact(table="work", cells=9, hidden=4),),
    )
