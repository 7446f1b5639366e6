"""A fitted synthesizer: schema, noisy model, bill; records are drawn from it."""

import json
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from footing.arrays import Flags, Integers
from footing.files import new_file, write_whole
from footing.messages import Argument, Message, Name
from footing.progress import Progress
from footing.serialisation import digest_of, json_line, plain
from footing.text_files import read_text
from synth.errors import DomainError, RuleError, SynthError
from synth.frames import CONTAINERS, from_codes
from synth.marginals.spending import Call
from synth.methods import CodeModel, is_unprotected, reader_of
from synth.sampling import Drawn, draw_kept
from synth.schema.coding import draw_numbers, encode_column, grid_numbers
from synth.schema.columns import Numeric, Plain
from synth.schema.rules.constraints import (
    constraints_of,
    derive,
    identities_of,
    judge_records,
    modelled_sizes,
    possible_codes,
)
from synth.schema.rules.rules import EditRule, ParsedRule
from synth.schema.schema import Schema
from synth.tails import NumberLaw

Integers32 = NDArray[np.int32]

logger = logging.getLogger(__name__)

_FORMAT = "ckm-synth-fitted"
_PARTS = frozenset(
    {"format", "version", "schema", "asked", "method", "engine", "calls", "budget"}
    | {"adjacency", "noise", "priors", "container", "laws", "amounts"}
)
_UNREADABLE = (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError)


@dataclass(frozen=True, kw_only=True, eq=False)
class Model:
    """What was learned from records, for a price. It holds nothing that was not paid for.

    Parameters
    ----------
    schema
        The schema, with every domain declared or paid for.
    asked
        The digest of the schema that was given.
    engine
        The distribution over codes.
    method
        Which engine it is.
    calls
        Every look at the records.
    budget
        What might be spent: rho, delta put aside, epsilon and delta where they were given.
    adjacency
        What the neighbours are.
    noise
        Where the noise came from.
    priors
        The published tables that were used.
    container
        Whether records came in a pandas, Arrow or polars frame, and go so.
    laws
        How numbers are drawn within wide cells, and beyond the last that stands out.
    amounts
        What is told of each amount: the noisy total, and what lies beyond.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from synth import Budget, Category, SimulatedNoise, Synthesizer
    >>> records = pd.DataFrame({"sex": ["F", "M"] * 500})
    >>> schema = Schema(columns=[Category(name="sex", values=["F", "M"])])
    >>> model = Synthesizer(schema=schema).fit(
    ...     records, Budget(epsilon=1, delta=1e-6), noise=SimulatedNoise(seed=1)
    ... )
    >>> model.sample(3, rng=np.random.default_rng(1), conditions={"sex": "F"})["sex"].tolist()
    ['F', 'F', 'F']
    """

    schema: Schema
    asked: str
    engine: CodeModel
    method: str
    calls: tuple[Call, ...]
    budget: dict[str, Any]
    adjacency: str
    noise: str
    priors: tuple[dict[str, Any], ...] = ()
    container: str = "pandas"
    laws: Mapping[str, NumberLaw] = field(default_factory=dict)
    amounts: tuple[dict[str, Any], ...] = ()

    @property
    def account(self) -> dict[str, Any] | None:
        """What a method really spends that is not private as claimed; None for the others.

        ``label``, ``claimed`` epsilon, ``epsilon`` in truth, and ``parts``; None where nothing
        bounds it.
        """
        account: dict[str, Any] | None = getattr(self.engine, "account", None)
        return account

    @property
    def is_private(self) -> bool:
        """Whether the method keeps to its budget, and its noise came from secure randomness."""
        is_within = not is_unprotected(self.method) and self.account is None
        return is_within and self.noise == "secure"

    def sample(
        self,
        number: int | np.integer,
        *,
        rng: np.random.Generator | None = None,
        conditions: Mapping[str, Plain | float] | None = None,
        where: str | None = None,
        progress: Progress | None = None,
    ) -> Any:
        """Draw synthetic records, none of which breaks a rule.

        Parameters
        ----------
        number
            How many.
        rng
            Randomness; it protects nobody, so it may have a seed. Without one it is from the
            operating system.
        conditions
            Values that some columns shall have; other columns are drawn given these.
        where
            What shall hold, in the language of rules: records are drawn from what the model
            says of those that fulfil it.
        progress
            Told the stage, how many are done, and of how many.

        Returns
        -------
        frame
            Of the kind that was fitted; its types follow from the schema.

        Raises
        ------
        RuleError
            If the model makes too few records that fulfil the condition and keep the rules.
        """
        records = self.draw(
            number, rng=rng, conditions=conditions, where=where, progress=progress
        )
        return from_codes(
            records.codes, numbers=records.numbers, schema=self.schema, container=self.container
        )

    def draw(
        self,
        number: int | np.integer,
        *,
        rng: np.random.Generator | None = None,
        conditions: Mapping[str, Plain | float] | None = None,
        where: str | None = None,
        progress: Progress | None = None,
    ) -> Drawn:
        """Draw synthetic records as codes and numbers, as `sample` does.

        Parameters
        ----------
        number, rng, conditions, where, progress
            See `sample`.
        """
        if np.asarray(number).dtype.kind not in "iu" or np.ndim(number) or number < 0:
            raise SynthError(Message("The number of records is a whole number from 0."))
        allowed, fixed = self._conditions(conditions or {})
        rules, names = self._rules(), self.schema.names
        derived = identities_of(self.schema)
        condition = self._wish(where)
        self._narrow(allowed, condition)
        source = np.random.default_rng(rng)
        drawn_from = {
            place: flags for place, flags in allowed.items() if names[place] not in derived
        }

        def draw(size: int) -> Drawn:
            with np.errstate(invalid="ignore", divide="ignore"):
                sample = self.engine.sample(size, rng=source, allowed=drawn_from)
            numbers = {
                column.name: draw_numbers(
                    sample[:, place],
                    column,
                    rng=source,
                    law=None if place in allowed else self.laws.get(column.name),
                )
                for place, column in enumerate(self.schema.columns)
                if isinstance(column, Numeric)
            }
            for name in fixed.keys() - derived.keys():
                numbers[name][:] = fixed[name]
            codes = self._recoded(np.asarray(sample, np.int32), numbers)
            for one in derived.values():
                derive(one, codes, numbers=numbers, columns=self.schema.columns)
            return Drawn(codes, numbers)

        def is_kept(records: Drawn) -> Flags:
            mask = np.ones(len(records.codes), bool)
            for place, flags in allowed.items():
                mask &= flags[records.codes[:, place]]
            for name in fixed.keys() & derived.keys():
                mask &= records.numbers[name] == fixed[name]
            for verdict in self._judged(rules, records):
                mask &= ~verdict.false
            for verdict in self._judged(condition, records):
                mask &= verdict.true
            return mask

        return draw_kept(int(number), draw=draw, is_kept=is_kept, progress=progress)

    def _recoded(self, codes: Integers32, numbers: Mapping[str, Integers]) -> Integers32:
        """Give what was drawn beyond its cell the code of its number."""
        for name, law in self.laws.items():
            place, column = self.schema.names.index(name), self.schema.column(name)
            if isinstance(column, Numeric) and (law.upper or law.lower):
                is_moved = np.append(law.beyond[0] | law.beyond[1], False)
                is_moved = is_moved[np.minimum(codes[:, place], len(is_moved) - 1)]
                codes[is_moved, place] = column.grid.cell_of(numbers[name][is_moved])
        return codes

    def violations(self, records: Drawn) -> dict[str, int]:
        """Count the records that break each rule; from `draw` there are none.

        Parameters
        ----------
        records
            Drawn records.
        """
        verdicts = self._judged(self._rules(), records)
        together = zip(self.schema.rules, verdicts, strict=True)
        return {rule.name: int(verdict.false.sum()) for rule, verdict in together}

    def kept_rules(self) -> list[tuple[EditRule, str]]:
        """Return each rule with how it is kept: by construction, by redrawing, or by both."""
        return [(one.rule, one.how) for one in constraints_of(self.schema, method=self.method)]

    def report(self) -> dict[str, Any]:
        """Return facts about the fit, all of them public: bill, domains, rules, noise."""
        by_kind: dict[str, float] = {}
        for call in self.calls:
            by_kind[call.what] = by_kind.get(call.what, 0.0) + call.rho
        return {
            "method": self.method,
            "is_private": self.is_private,
            "budget": dict(self.budget) or None,
            "spent": None
            if self.account is not None
            else {
                "rho": sum(call.rho for call in self.calls),
                "delta": sum(call.delta for call in self.calls),
                "by_kind": by_kind,
            },
            "account": self.account,
            "columns": [
                {
                    "name": column.name,
                    "kind": column.kind,
                    "codes": column.size,
                    "declared_by": column.declared_by,
                }
                for column in self.schema.columns
            ],
            "tables": [list(call.columns) for call in self.calls if call.what == "table"],
            "rules": {rule.name: how for rule, how in self.kept_rules()},
            "priors": [dict(prior) for prior in self.priors],
            "amounts": [dict(one) for one in self.amounts],
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a JSON or Parquet file: numbers and text, nothing that runs.

        The file appears when it is complete; an older one stays until then.

        Parameters
        ----------
        path
            The file.
        """
        file = Path(path)
        if file.suffix.lower() == ".parquet":
            import pyarrow as pa
            import pyarrow.parquet as pq

            parts = {name: json_line(part) for name, part in _sealed(self._content()).items()}
            table = pa.table({"part": list(parts), "content": list(parts.values())})
            with new_file(file, error=SynthError, overwrite=True) as draft:
                pq.write_table(table, draft, compression="zstd")
        else:
            write_whole(file, json_line(_sealed(self._content())), error=SynthError)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that `save` wrote.

        Parameters
        ----------
        path
            The file.

        Raises
        ------
        SynthError
            If it is something else, or is damaged.
        """
        import pyarrow as pa

        file = Path(path)
        try:
            if file.suffix.lower() == ".parquet":
                import pyarrow.parquet as pq

                rows = pq.read_table(file, columns=["part", "content"]).to_pylist()
                content = {row["part"]: json.loads(row["content"]) for row in rows}
            else:
                content = json.loads(read_text(file))
            _require_whole(content, file.name)
            return cls._of_content(content)
        except SynthError:
            raise
        except (pa.ArrowException, *_UNREADABLE):
            raise SynthError(
                Message("{file!r} is no model.", file=Name(file.name)),
                hint=Message("give what save wrote"),
            ) from None

    def _content(self) -> dict[str, Any]:
        return {
            "format": _FORMAT,
            "version": 1,
            "schema": self.schema.to_dict(),
            "asked": self.asked,
            "method": self.method,
            "engine": self.engine.to_dict(),
            "calls": plain(self.calls),
            "budget": self.budget,
            "adjacency": self.adjacency,
            "noise": self.noise,
            "priors": list(self.priors),
            "container": self.container,
            "laws": {name: law.to_dict() for name, law in self.laws.items()},
            "amounts": plain(self.amounts),
        }

    @classmethod
    def _of_content(cls, content: dict[str, Any]) -> Self:
        if content["format"] != _FORMAT or content["version"] != 1:
            raise SynthError(Message("The file is of another format, or of a newer version."))
        schema = Schema.from_dict(content["schema"])
        engine = reader_of(content["method"])(content["engine"])
        if engine.sizes != modelled_sizes(schema):
            raise SynthError(Message("The model does not fit its schema."))
        if is_unprotected(content["method"]) != (getattr(engine, "account", None) is not None):
            raise SynthError(Message("The model does not say what it cost."))
        # Files of earlier versions hold types besides, which one record may have set: not read.
        container = str(
            content["shape"]["container"] if "shape" in content else content["container"]
        )
        if container not in CONTAINERS:
            raise SynthError(Message("The model does not say what its records come in."))
        return cls(
            schema=schema,
            asked=str(content["asked"]),
            engine=engine,
            method=str(content["method"]),
            calls=tuple(Call.from_dict(call) for call in content["calls"]),
            budget=dict(content["budget"]),
            adjacency=str(content["adjacency"]),
            noise=str(content["noise"]),
            priors=tuple(dict(prior) for prior in content["priors"]),
            container=container,
            laws=_laws(content.get("laws", {}), schema),
            amounts=tuple(dict(one) for one in content.get("amounts", ())),
        )

    def _wish(self, where: str | None) -> list[ParsedRule]:
        if where is None:
            return []
        rule = EditRule(text=where)
        unknown = sorted({*rule.columns} - {*self.schema.names})
        if unknown:
            odd = [_written(name) for name in self.schema.names if not name.isidentifier()]
            raise RuleError(
                Message(
                    "The condition names columns that are not declared: {names}.",
                    names=Argument(unknown),
                ),
                hint=Message(
                    "names that are no words stand in backticks: {odd}", odd=Name(odd[0])
                )
                if odd
                else None,
            )
        return [self.schema.parsed(rule)]

    def _narrow(self, allowed: dict[int, Flags], condition: Sequence[ParsedRule]) -> None:
        """Allow only codes with which a record can fulfil what shall hold."""
        for one in condition:
            for place, flags in possible_codes(one, self.schema).items():
                allowed[place] = allowed.get(place, True) & flags
        if not all(flags.any() for flags in allowed.values()):
            raise RuleError(Message("No record can fulfil the conditions together."))

    def _rules(self) -> list[ParsedRule]:
        return [self.schema.parsed(rule) for rule in self.schema.rules]

    def _judged(self, parsed: Sequence[ParsedRule], records: Drawn) -> list[Any]:
        return judge_records(
            parsed, records.codes, numbers=records.numbers, columns=self.schema.columns
        )

    def _conditions(
        self, conditions: Mapping[str, Plain | float]
    ) -> tuple[dict[int, Flags], dict[str, int]]:
        """Return which codes fit conditions, and the exact numbers behind them."""
        import pandas as pd

        allowed: dict[int, Flags] = {}
        fixed: dict[str, int] = {}
        for name, value in conditions.items():
            column = self.schema.column(name)
            if isinstance(value, (list, tuple, set, dict)):
                raise DomainError(
                    Message("The condition on {name!r} is not one value.", name=Argument(name)),
                    hint=Message(
                        'say it as a rule: where="{written} in (…)"',
                        written=Name(_written(name)),
                    ),
                )
            one = pd.Series([value], dtype=object)
            code = int(encode_column(one, column)[0])
            allowed[self.schema.names.index(name)] = np.arange(column.size) == code
            if isinstance(column, Numeric) and code < column.domain_size:
                low, high = column.bounds
                fixed[name] = int(np.clip(grid_numbers(one, column)[0], low, high))
        return allowed, fixed


def _laws(content: Mapping[str, Any], schema: Schema) -> dict[str, NumberLaw]:
    """Return how numbers are drawn; files of earlier versions say nothing of it."""
    laws = {}
    for name, one in content.items():
        column = schema.column(name)
        if not isinstance(column, Numeric):
            raise SynthError(Message("The model does not fit its schema."))
        laws[name] = NumberLaw.from_dict(one, column.grid)
    return laws


def _written(name: str) -> str:
    """Write the name of a column as a rule has it."""
    return name if name.isidentifier() else f"`{name}`"


def _sealed(record: dict[str, Any]) -> dict[str, Any]:
    """Add a digest of what a file is to hold."""
    return record | {"digest": digest_of(record)}


def _require_whole(content: dict[str, Any], name: str) -> None:
    """Raise if a file does not hold what was saved; warn of one without digest."""
    rest = dict(content)
    digest = rest.pop("digest", None)
    if digest != digest_of(rest) if "digest" in content else not _PARTS.issuperset(content):
        raise SynthError(
            Message(
                "The model {name!r} is damaged: it does not hold what was saved.",
                name=Name(name),
            ),
            hint=Message("take a copy of it, or fit it again"),
        )
    if "digest" in content:
        return
    logger.warning(
        Message(
            "The model {name!r} has no digest, as in older versions: damage cannot be told. "
            "Load it and save it again to give it one.",
            name=Name(name),
        ),
        extra={"event": "model without digest"},
    )
