"""The certificate beside a release: what was declared, asked, paid and found.

Anybody can check it without the records: prices are reckoned again from sensitivities and
scales, sums from prices, digests from files.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
import json
import math
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dp import epsilon_of_rho, gaussian_epsilon
from footing.files import write_whole
from footing.messages import Message, Name
from footing.serialisation import digest_of, document, plain
from footing.svg import html_table
from footing.text_files import read_text
from footing.version import engine_version
from synth.claims import words_of, wrong_account
from synth.errors import CertificateError
from synth.marginals.spending import Call
from synth.methods import METHODS, is_unprotected, origin_of
from synth.schema.discovery import is_unpaid
from synth.schema.nesting_count import COUNTED
from synth.schema.rules.constraints import modelled_sizes
from synth.schema.schema import Schema

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from synth.fitted import Model

_FORMAT = "ckm-synth-certificate"
_PACKAGES = ("numpy", "opendp", "pandas", "pyarrow")
_ROUNDING = 1 + 1e-9
_NEEDED = (
    "method",
    "schema",
    "domains",
    "unit",
    "adjacency",
    "noise",
    "priors",
    "calls",
    "total",
    "budget",
    "rules",
    "data",
)


@dataclass(frozen=True, eq=False)
class Certificate:
    """What was declared, asked, paid and found, as plain values.

    Parameters
    ----------
    facts
        All of it.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from synth import Budget, Category, SimulatedNoise, Synthesizer
    >>> schema = Schema(columns=[Category(name="sex", values=["F", "M"], declared_by="law")])
    >>> model = Synthesizer(schema=schema).fit(
    ...     pd.DataFrame({"sex": ["F", "M"] * 500}),
    ...     Budget(epsilon=1, delta=1e-6),
    ...     noise=SimulatedNoise(seed=1),
    ... )
    >>> Certificate.of(model).verify()
    ['The noise was simulated: nobody is protected.']
    """

    facts: dict[str, Any]

    @classmethod
    def of(
        cls,
        model: Model,
        *,
        data: str | os.PathLike[str] | None = None,
        data_name: str | None = None,
        violations: Mapping[str, int] | None = None,
        audit: Mapping[str, Any] | None = None,
        utility: Mapping[str, Any] | None = None,
    ) -> Certificate:
        """Return the certificate of a model, and of data drawn from it.

        Parameters
        ----------
        model
            The model.
        data
            The file of synthetic records.
        data_name
            What the file will be called, if not as now.
        violations
            How many synthetic records break each rule.
        audit, utility
            What an audit found, and how well the data serve; plain values.
        """
        account, unit = model.account, model.schema.unit
        origin = origin_of(model.method)
        warning = (
            {} if account is None else {"warning": words_of(account), "account": dict(account)}
        )
        facts = {
            "format": _FORMAT,
            "version": 2 if _is_gaussian(model.calls) else 1,
            **warning,
            "made": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
            "software": _versions(),
            "method": model.method,
            **({} if origin is None else {"mechanism": origin}),
            "schema": {
                "sha256": model.schema.digest,
                "given_sha256": model.asked,
                "declared": model.schema.to_dict(),
            },
            "domains": [
                {"column": one.name, "codes": one.size, "declared_by": one.declared_by}
                for one in model.schema.columns
            ],
            "unit": {
                "name": unit.name,
                "most_records": unit.most_records,
                "excess": unit.excess,
            },
            "adjacency": model.adjacency,
            "noise": model.noise,
            "seeds": "noise: none, from the operating system; sampling: free, protects nobody"
            if model.noise == "secure"
            else "noise: from a seed",
            "priors": [dict(prior) for prior in model.priors],
            "amounts": plain(model.amounts),
            "calls": plain(model.calls),
            "total": _total(model) if account is None else None,
            "budget": dict(model.budget) if account is None else None,
            "rules": [
                {
                    "rule": rule.text,
                    "kept_by": how,
                    "violations": None if violations is None else violations[rule.name],
                }
                for rule, how in model.kept_rules()
            ],
            **(
                {
                    "parents": [
                        {
                            "rule": one.label,
                            "declared_by": one.declared_by,
                            "kept_by": how,
                            "violations": None if violations is None else violations[one.label],
                        }
                        for one, how in model.kept_parents()
                    ]
                }
                if model.schema.parents
                else {}
            ),
            "data": None if data is None else _described(Path(data), data_name),
            "audit": None if audit is None else dict(audit),
            "utility": None if utility is None else dict(utility),
        }
        return cls({**facts, "digest": _digest(facts)})

    def write(self, path: str | os.PathLike[str], *, key: bytes | None = None) -> None:
        """Write the certificate.

        Parameters
        ----------
        path
            The file.
        key
            A secret of the office: with it, nobody else can change the certificate unseen.
        """
        facts = dict(self.facts)
        if key is not None:
            facts["seal"] = _seal(facts["digest"], key)
        write_whole(path, document(facts), error=CertificateError, is_private=False)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Certificate:
        """Read a certificate, whether it is right or wrong.

        Parameters
        ----------
        path
            The file.

        Raises
        ------
        CertificateError
            If it is none.
        """
        name = Path(path).name
        try:
            facts = json.loads(read_text(Path(path)))
        except (OSError, ValueError, RecursionError):
            raise CertificateError(
                Message("The certificate {name!r} cannot be read.", name=Name(name))
            ) from None
        if not isinstance(facts, dict) or facts.get("format") != _FORMAT:
            raise CertificateError(
                Message("{name!r} is no certificate of synthetic data.", name=Name(name))
            )
        if facts.get("version") not in (1, 2):
            raise CertificateError(Message("{name!r} is of a newer version.", name=Name(name)))
        missing = [part for part in _NEEDED if part not in facts]
        if missing:
            raise CertificateError(
                Message("{name!r} lacks {names}.", name=Name(name), names=Name.each(missing))
            )
        return cls(facts)

    def verify(
        self,
        *,
        data: str | os.PathLike[str] | None = None,
        schema: Schema | None = None,
        key: bytes | None = None,
    ) -> list[str]:
        """Check the certificate without the records; return everything that is wrong.

        Parameters
        ----------
        data
            The file of synthetic records, to see whether it is the one.
        schema
            The schema that should have been used.
        key
            The secret with which it was sealed.

        Returns
        -------
        list of str
            What is wrong; nothing if all is right.
        """
        facts = self.facts
        wrong = []
        if facts.get("digest") != _digest(facts):
            wrong.append("The certificate was changed after it was made.")
        if key is not None and not _is_sealed(facts, key):
            wrong.append("The seal is missing, or of another key.")
        try:
            wrong += _wrong_promise(facts)
            wrong += _wrong_declarations(facts, schema)
            wrong += _wrong_data(facts, data)
        except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
            problem = error.problem if isinstance(error, CertificateError) else ""
            wrong.append(f"A part of the certificate cannot be read. {problem}".rstrip())
        if facts["noise"] != "secure":
            wrong.append("The noise was simulated: nobody is protected.")
        return wrong

    def _repr_html_(self) -> str:
        wrong = self.verify()
        entries = {"method": self.facts["method"], "adjacency": self.facts["adjacency"]}
        entries |= {} if wrong else self.facts["total"]
        entries["what is wrong"] = " ".join(wrong) or "nothing"
        lines = ((name, str(value)) for name, value in entries.items())
        return html_table("Certificate of synthetic data", (), lines)

    @property
    def is_unprotected(self) -> bool:
        """Whether it is of a method that is not differentially private as claimed.

        Examples
        --------
        >>> Certificate({"method": "copula-shirley"}).is_unprotected
        True
        """
        return is_unprotected(self.facts["method"]) or self.facts.get("account") is not None

    def is_of(self, data: str | os.PathLike[str]) -> bool:
        """Tell whether it belongs to a file of synthetic records.

        Parameters
        ----------
        data
            The file.

        Examples
        --------
        >>> Certificate({"data": None}).is_of("synthetic.parquet")
        False
        """
        try:
            return not _wrong_data(self.facts, data)
        except (KeyError, TypeError):
            return False


def _total(model: Model) -> dict[str, float]:
    """Return the sum of the calls, rounded up, at the delta of the budget or at 1e-6."""
    rho = math.nextafter(math.fsum(call.rho for call in model.calls), math.inf)
    aside = math.fsum(call.delta for call in model.calls)
    aside = aside and math.nextafter(aside, math.inf)
    delta = model.budget["delta"] or 1e-6 + aside
    epsilon = _epsilon(rho, delta - aside, is_gaussian=_is_gaussian(model.calls))
    return {"rho": rho, "delta_aside": aside, "epsilon": epsilon, "delta": delta}


def _is_gaussian(calls: Sequence[Call]) -> bool:
    """Tell whether prices are in Gaussian privacy: those of older models were less."""
    return all(call.price()[0] <= call.rho * _ROUNDING for call in calls)


def _epsilon(rho: float, delta: float, *, is_gaussian: bool) -> float:
    if is_gaussian:
        return gaussian_epsilon(delta, mu=math.sqrt(2 * rho))
    return epsilon_of_rho(rho, delta=delta)


def _wrong_promise(facts: Mapping[str, Any]) -> list[str]:
    """Check the bill; a method that keeps to no budget is wrong whatever it states."""
    if facts["method"] not in METHODS and not isinstance(facts.get("mechanism"), dict):
        return ["Nothing is known of the method."]
    account = facts.get("account")
    if not is_unprotected(facts["method"]) and account is None:
        return _wrong_sums(facts)
    if account is None:
        return ["The method is NOT differentially private as claimed; no account says how far."]
    promised = any(facts[part] for part in ("calls", "total", "budget"))
    return [
        f"{words_of(account)}.",
        *wrong_account(account),
        *(["A method without a guarantee states one."] if promised else []),
    ]


def _wrong_sums(facts: Mapping[str, Any]) -> list[str]:
    calls = [Call.from_dict(record) for record in facts["calls"]]
    is_gaussian = facts["version"] >= 2
    prices = [call.price(is_gaussian=is_gaussian) for call in calls]
    wrong = []
    for number, (call, (rho, delta)) in enumerate(zip(calls, prices, strict=True), start=1):
        # Written so that what is no number fails.
        if not (rho <= call.rho * _ROUNDING and delta <= call.delta * _ROUNDING):
            wrong.append(f"Call {number} ({call.what}) costs more than it states.")
    total, budget = facts["total"], facts["budget"]
    rho, aside = (math.fsum(values) for values in zip(*prices, strict=True))
    fits = rho <= total["rho"] * _ROUNDING and aside <= total["delta_aside"] * _ROUNDING
    if not (calls and fits):
        wrong.append("The total is less than the sum of the calls.")
    delta = total["delta"] - total["delta_aside"]
    reckoned = _epsilon(total["rho"], delta, is_gaussian=is_gaussian)
    if not reckoned <= total["epsilon"] * _ROUNDING:
        wrong.append("The total epsilon is less than rho and delta give.")
    if not (
        total["rho"] <= budget["rho"] * _ROUNDING
        and total["delta_aside"] <= budget["delta_aside"] * _ROUNDING
    ):
        wrong.append("More was spent than the budget.")
    limit = budget["epsilon"]
    if limit is not None and not (
        total["epsilon"] <= limit * _ROUNDING and total["delta"] <= budget["delta"] * _ROUNDING
    ):
        wrong.append("More was spent than the budget in epsilon and delta.")
    wrong += _wrong_reach(facts, calls)
    return wrong


def _wrong_reach(facts: Mapping[str, Any], calls: list[Call]) -> list[str]:
    """Check that calls are reckoned for all records of a unit, and that none is missing."""
    rows = facts["unit"]["most_records"]
    distance = {"add-remove": 1, "replace": 2}.get(facts["adjacency"], math.inf)
    least = {
        "discrete Gaussian": rows * math.sqrt(distance),
        "fine discrete Gaussian": rows * math.sqrt(distance),
        "geometric above a threshold": rows * distance,
        "exponential": 0,
    }
    wrong = []
    if any(call.sensitivity < least[call.law] / _ROUNDING for call in calls):
        unit = facts["unit"]["name"]
        wrong.append(f"A call is reckoned for fewer records than a {unit} has.")
    # Networks of version 1 came from tables alone.
    is_older = (facts["version"], facts["method"]) == (1, "priv-bayes")
    is_counted = facts["method"] in METHODS and not is_older
    counting = ("margin",) if is_counted else ("margin", "table")
    names = {name for call in calls if call.what in counting for name in call.columns}
    names |= {name for prior in facts["priors"] for name in prior["columns"]}
    # Of a column that follows from others, or has one code, nothing is counted.
    schema = Schema.from_dict(facts["schema"]["declared"])
    sizes = zip(schema.names, modelled_sizes(schema), strict=True)
    names |= {name for name, size in sizes if size == 1}
    missing_columns = [one["column"] for one in facts["domains"] if one["column"] not in names]
    if missing_columns:
        wrong.append(
            Message(
                "No call tells how columns were counted: {columns!r}.",
                columns=Name.each(missing_columns),
            )
        )
    return wrong


def _wrong_declarations(facts: Mapping[str, Any], schema: Schema | None) -> list[str]:
    entry = facts["schema"]
    own_schema = Schema.from_dict(entry["declared"])
    wrong: list[str] = []
    if own_schema.digest != entry["sha256"]:
        wrong.append(Message("The schema is not the one of the digest."))
    if schema is not None and schema.digest != entry["given_sha256"]:
        wrong.append(Message("The model was fitted by another schema."))
    if not own_schema.is_declared:
        wrong.append(Message("A domain is not declared."))
    unit = facts["unit"]
    if (own_schema.unit.name, own_schema.unit.most_records) != (
        unit["name"],
        unit["most_records"],
    ):
        wrong.append(Message("The unit is not that of the schema."))
    if facts["adjacency"] not in ("add-remove", "replace"):
        wrong.append(Message("Nothing is known of these neighbours."))
    free = [
        column.name
        for column in own_schema.columns
        if is_unpaid(
            column, [one["what"] for one in facts["calls"] if column.name in one["columns"]]
        )
    ]
    if free:
        wrong.append(
            Message(
                "Domains were found, and not paid for: {columns!r}.", columns=Name.each(free)
            )
        )
    counted_nests = {
        tuple(one["columns"]) for one in facts["calls"] if one["what"] == "nesting"
    }
    unpaid = [
        one.label
        for one in own_schema.parents or ()
        if one.declared_by == COUNTED and (one.child, one.parent) not in counted_nests
    ]
    if unpaid:
        wrong.append(
            Message(
                "Codes that nest were counted, and not paid for: {names!r}.",
                names=Name.each(unpaid),
            )
        )
    wrong += [
        Message("Records break the rule {rule!r}.", rule=Name(rule["rule"]))
        for rule in [*facts["rules"], *facts.get("parents", ())]
        if rule["violations"]
    ]
    return wrong


def _wrong_data(facts: Mapping[str, Any], data: str | os.PathLike[str] | None) -> list[str]:
    if data is None:
        return []
    entry = facts["data"]
    if entry is None:
        return ["The certificate is of no data."]
    if entry["sha256"] != _described(Path(data))["sha256"]:
        return ["The data are not those of the certificate."]
    return []


def _described(file: Path, name: str | None = None) -> dict[str, Any]:
    try:
        with file.open("rb") as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()
    except OSError:
        raise CertificateError(
            Message("The file {file!r} cannot be read.", file=Name(file.name))
        ) from None
    return {"file": name or file.name, "sha256": digest}


def _digest(facts: Mapping[str, Any]) -> str:
    content = {name: value for name, value in facts.items() if name not in ("digest", "seal")}
    return digest_of(content)


def _seal(digest: str, key: bytes) -> str:
    if len(key) < 16:
        raise CertificateError(
            Message("A key has 16 bytes at least."), hint=Message("ckm keys secret")
        )
    return hmac.new(key, b"ckm-synth-certificate" + digest.encode(), hashlib.sha256).hexdigest()


def _is_sealed(facts: Mapping[str, Any], key: bytes) -> bool:
    return hmac.compare_digest(str(facts.get("seal", "")), _seal(_digest(facts), key))


def _versions() -> dict[str, str]:
    versions = {"ckm-engine": engine_version()}
    for package in _PACKAGES:
        with suppress(PackageNotFoundError):
            versions[package] = version(package)
    return versions
