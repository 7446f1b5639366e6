"""All that the reports of a release say, from what was observed and from the job."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ckm.assessment.amounts import amount_noises
from ckm.assessment.attacks import attack_facts
from ckm.assessment.checks import limit_checks, made_checks, noise_checks, proof_checks
from ckm.assessment.exposure import posteriors, worst
from ckm.assessment.noise.classes import noise_classes, noise_shares, noise_sizes, transition
from ckm.assessment.observed import ObservedCells, independent
from ckm.assessment.risk_utility_scenarios import map_scenarios
from ckm.config.section import one_text
from ckm.formats.words import LANGUAGES, MISSING, say
from footing.version import engine_version
from ptable.lookup import margin_of_error
from reports.facts.copying import fact_of
from reports.facts.release import (
    CheckFact,
    DecisionFact,
    ExceptionFact,
    LevelFact,
    MarginFact,
    NoiseFacts,
    ReleaseFacts,
    RiskFacts,
    TableFact,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ckm.assessment.assessor import Assessor
    from ckm.config.job.job import Job
    from ckm.release.files.manifest import TableRecord
    from ptable import PTable
    from reports.facts.frontier import FrontierFacts
    from reports.facts.release import MeasureFact, ReproductionFacts, ScenarioFacts, Text
    from risk.risk_map.designs import MapDesign
    from tables.quality import KeyQuality

_LEAST_BIAS = 1e-3  # less may come from probabilities in whole units
#: The counts whose margin of error is told, where it is.
_SHOWN_SIZES = (10, 20, 50, 100, 500, 1000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """The numbers of a release: what its checks decide, and what its reports show."""

    checks: tuple[CheckFact, ...]
    noise: NoiseFacts
    utility: tuple[MeasureFact, ...]
    risk: RiskFacts
    scenarios: ScenarioFacts | None
    frontier: FrontierFacts | None = None


def findings(
    assessor: Assessor,
    job: Job,
    *,
    quality: KeyQuality | None,
    designs: Mapping[str, MapDesign] | None = None,
) -> Findings:
    """Compute every number of the reports from what was observed."""
    limits, design = job.report.limits, assessor.design
    cells = _drawn(assessor, quality)
    utility = assessor.utility()
    risk = _risk(assessor, limits.attacks)
    checks = (
        *made_checks(assessor),
        *noise_checks(cells, design),
        *proof_checks(assessor.ptable, quality),
        *limit_checks(limits, worst=risk.worst, attacks=risk.attacks, utility=utility),
        CheckFact(name="public-scan", outcome="passed", found={"marks": 0.0}),
    )
    noise = NoiseFacts(
        parameters=_parameters(assessor.ptable),
        ptable_id=assessor.ptable.id,
        certificate=_certificate(assessor.ptable),
        transition=transition(design),
        cycle=design.cycle,
        classes=noise_classes(cells, design),
        shares=noise_shares(cells, design),
        sizes=noise_sizes(assessor.distinct),
        amounts=amount_noises(assessor.noises),
        keeps_positive=not job.output.additive and keeps_positive(transition(design)),
    )
    scenarios = None
    if designs and assessor.tables:
        scenarios = map_scenarios(
            designs,
            assessor.count_histogram,
            own=design.table,
            name=job.report.ptable_label or "release",
            sensitive=assessor.sensitive,
        ).facts()
    return Findings(checks=checks, noise=noise, utility=utility, risk=risk, scenarios=scenarios)


def _drawn(assessor: Assessor, quality: KeyQuality | None) -> ObservedCells:
    """Take the cells whose noise is a draw; without a mix, poor keys draw nothing."""
    is_mixed = assessor.is_mixed
    if not is_mixed and (quality is None or not quality.is_sound):
        return ObservedCells.together([])
    tables = [table.cells for table in assessor.tables.values()]
    return independent(tables, is_mixed=is_mixed)


def _risk(assessor: Assessor, limits: Mapping[str, float]) -> RiskFacts:
    table, sensitive = assessor.design.table, assessor.sensitive
    count_histogram, tables = assessor.count_histogram, list(assessor.tables.values())
    prior, small = posteriors(table, count_histogram, tables, sensitive=sensitive)
    return RiskFacts(
        sensitive=sensitive,
        prior=prior,
        posteriors=small,
        worst=worst(table, count_histogram, tables, sensitive=sensitive),
        attacks=attack_facts(table, is_mixed=assessor.is_mixed, limits=limits),
    )


def _parameters(ptable: PTable) -> dict[str, str]:
    if ptable.spec is None:
        return {}
    fields: dict[str, Any] = {k: v for k, v in ptable.spec.to_dict().items() if k != "kind"}
    if isinstance(limits := fields.get("limits"), dict):  # priors stem from records
        fields["limits"] = {k: v for k, v in limits.items() if k != "priors"}
    fields.pop("target", None)  # a whole table
    return {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in fields.items()
    }


def _certificate(ptable: PTable) -> dict[str, float]:
    proof = ptable.certificate
    if proof is None:
        return {}
    residuals = {
        "bias": proof.largest_bias,
        "variance_drift": proof.largest_drift,
        "entropy_gap": proof.largest_gap,
        "residual": proof.largest_residual,
    }
    return {name: value for name, value in residuals.items() if math.isfinite(value)}


def release_facts(
    findings: Findings,
    assessor: Assessor,
    job: Job,
    *,
    tables: Sequence[TableRecord],
    warnings: Sequence[str],
    reproduction: ReproductionFacts,
    is_of_parts: bool = False,
) -> ReleaseFacts:
    """Put the numbers of a release, or of parts of its tables, beside what the office says."""
    report = job.report
    return fact_of(
        ReleaseFacts,
        findings,
        report,
        title=job.title_of(),
        version=engine_version(),
        tables=tuple(_table(record, assessor, job) for record in tables),
        amounts=tuple(assessor.amounts),
        dominated=assessor.dominated(),
        cautions=_cautions(job, is_of_parts=is_of_parts),
        adds_up=bool(job.output.additive),
        margin=_margin(assessor) if job.output.publish_noise else None,
        levels=level_facts(job, _levels(findings.utility)),
        exceptions=tuple(fact_of(ExceptionFact, entry) for entry in report.exceptions),
        has_limits=report.limits.is_set,
        decided=fact_of(DecisionFact, decided) if (decided := report.limits.decided) else None,
        warnings=tuple(warnings),
        reproduction=reproduction,
    )


def _margin(assessor: Assessor) -> MarginFact:
    """Say how far counts may lie from true ones, as the files of the tables do."""
    margin = margin_of_error(assessor.ptable)
    return fact_of(
        MarginFact,
        margin,
        variance=round(float(assessor.design.variance.max()), 4),
        shares={size: round(100 * margin.count / size, 1) for size in _SHOWN_SIZES},
    )


def keeps_positive(rows: Sequence[Sequence[float]]) -> bool:
    """Whether no row takes a count to 0, and some row is too high on average."""
    means = [sum(j * p for j, p in enumerate(row)) - i for i, row in enumerate(rows)]
    return max(means[1:], default=0) > _LEAST_BIAS and not any(row[0] for row in rows[1:])


def _cautions(job: Job, *, is_of_parts: bool) -> dict[str, str]:
    """Return what the public page says of what it does not hold for."""
    if not (job.output.additive or is_of_parts):
        return {}
    word = "additive_page" if job.output.additive else "streamed_page"  # never both
    return {language: say(word, language) for language in LANGUAGES}


def _beside(labels: Mapping[str, str], name: str) -> Text:
    """Give a label with the name that the files have in brackets."""
    return (
        one_text(
            {
                code: name if label == name else f"{label} ({name})"
                for code, label in labels.items()
            }
        )
        or name
    )


def _dimension(name: str, job: Job) -> Text:
    """Name a dimension as readers know it."""
    return _beside(job.variables[name].labels if name in job.variables else {}, name)


def _levels(utility: Sequence[MeasureFact]) -> dict[str, list[str]]:
    """Give the levels that are measured by category, and the categories."""
    categories: dict[str, dict[str, None]] = {}
    for fact in utility:
        categories.setdefault(fact.group, {})[fact.value] = None
    return {level: list(codes) for level, codes in categories.items()}


def level_facts(job: Job, levels: Mapping[str, Iterable[str]]) -> dict[str, LevelFact]:
    """Give the job's words for levels and their categories, where it has some."""
    nested = {n: h for n, h in job.hierarchies.items() if isinstance(h, list)}
    above = {column: name for name, columns in nested.items() for column in columns}
    facts = {}
    for level, codes in levels.items():
        tree, _, depth = level.rpartition(" ")
        column = tree if depth.isdigit() and tree in job.hierarchies else level
        names = dict.fromkeys([above.get(column, column), column])
        variables = [job.variables[name] for name in names if name in job.variables]
        texts = {c: _beside(t, c) for v in variables for c, t in v.categories.items()}
        if job.output.missing_label == MISSING:  # else the office's own word
            texts = {MISSING: one_text({c: say(MISSING, c) for c in LANGUAGES})} | texts
        categories = {code: texts[code] for code in codes if code in texts}
        own = [v.labels if v.name == column else v.levels.get(column, {}) for v in variables]
        label = _beside(next(filter(None, reversed(own)), {}), level)
        if categories or label != level:
            facts[level] = LevelFact(label=label, categories=categories)
    return facts


def _table(record: TableRecord, assessor: Assessor, job: Job) -> TableFact:
    request, table = job.tables[record.name], assessor.tables[record.name]
    return fact_of(
        TableFact,
        table,
        name=record.name,
        title=job.title_of(record.name),
        dimensions=tuple(_dimension(name, job) for name in request.dimensions),
        measures=tuple(request.measures),
        where=request.where or "",
        published=record.rows,
        records=int(table.cells.count[table.cells.is_finest].sum()),
        cells=len(table.cells),
        files=record.files,
        first_rows=record.first_rows,
        population=job.population_of(record.name),
    )
