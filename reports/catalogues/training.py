"""The words of private training: samplers, neighbours, accounts, choices, attacks, doubts."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from reports.i18n.languages import mark

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reports.catalogues.wording import Kind

__all__ = [
    "ACCOUNTS",
    "ADJACENCIES",
    "ATTACKS",
    "CARD_TEXTS",
    "CHOICES",
    "DOUBTS",
    "ERRATA",
    "INVERSIONS",
    "NEIGHBOURS",
    "SAMPLINGS",
    "TUNING",
    "UNITS",
    "WAYS",
    "WORTHS",
    "ChoiceWords",
]


@dataclass(frozen=True, slots=True)
class ChoiceWords:
    """A choice: its name, what follows from it, how it is written, whether by powers of ten."""

    name: str
    meaning: str = ""
    kind: Kind = "plain"
    is_log: bool = True


#: How batches are drawn → its words in a table.
SAMPLINGS: Mapping[str, str] = MappingProxyType(
    {
        "poisson": mark("Poisson batches"),
        "fixed": mark("batches of fixed size"),
        "shuffled": mark("shuffled batches"),
    }
)
#: How batches are drawn → what that is.
WAYS: Mapping[str, str] = MappingProxyType(
    {
        "poisson": mark(
            "Each record is in a batch by a coin of its own; batches differ in size. This is "
            "the way that the usual formula is about."
        ),
        "fixed": mark(
            "Each batch is drawn afresh, always as many records. The size says how many "
            "records there are, so that it must be public."
        ),
        "shuffled": mark(
            "The file is shuffled once a pass and cut into batches, as most programs do. No "
            "proof lets the shuffling hide anything: what counts is the noise alone."
        ),
    }
)
#: Neighbours → their words in a table.
ADJACENCIES: Mapping[str, str] = MappingProxyType(
    {
        "add-remove": mark("one unit more or less"),
        "zero-out": mark("one unit blanked"),
        "replace": mark("one unit replaced"),
        "local": mark("any two answers of a person"),
        "distance": mark("two places"),
    }
)
#: Neighbours → what they are.
NEIGHBOURS: Mapping[str, str] = MappingProxyType(
    {
        "add-remove": mark(
            "Compared are data with and without the unit. How many there are stays hidden."
        ),
        "zero-out": mark(
            "Compared are data with the unit and with its values blank; the number is public."
        ),
        "replace": mark(
            "Compared are data with the unit and with another in its place; the number is "
            "public. The sum of gradients then moves twice as far."
        ),
    }
)
#: Account → its words. Cards of other programs bring their own.
ACCOUNTS: Mapping[str, str] = MappingProxyType(
    {
        "renyi-classic": mark("Rényi orders, classic conversion"),
        "renyi": mark("Rényi orders, tight conversion"),
        "Rényi orders": mark("Rényi orders"),
        "loss distribution": mark("distribution of the privacy loss"),
        "Gaussian curve": mark("curve of the Gaussian noise alone"),
        "strong composition": mark("strong composition"),
        "lower bound": mark("lower bound for shuffled batches"),
    }
)
#: What a figure is worth → its words.
WORTHS: Mapping[str, str] = MappingProxyType(
    {
        "promise": mark("promise"),
        "customary": mark("in use, but no promise for these batches"),
        "floor": mark("no promise can be below"),
        "history": mark("to compare with old figures"),
    }
)
#: Choice → its words. The first is no choice: the least over it counts.
CHOICES: Mapping[str, ChoiceWords] = MappingProxyType(
    {
        "order": ChoiceWords(
            mark("order α"),
            mark(
                "Each order gives an ε of its own that holds; the least counts. Low orders pay "
                "for δ, high ones for the rare large losses. A least at the end of the list "
                "says that a longer list could give less."
            ),
        ),
        "dataset_size": ChoiceWords(
            mark("number of records"),
            mark(
                "More records hide each one better, up to a point: beyond it they help little. "
                "Turned or shifted copies of a record are no further records: they belong to "
                "the same person."
            ),
            "count",
        ),
        "batch_size": ChoiceWords(
            mark("batch size"),
            mark(
                "In a small batch a record is seldom met, which hides it; large batches cost "
                "more, and often learn better for the same ε with more noise. Sizes that "
                "divide the number of records waste no step."
            ),
            "count",
        ),
        "noise_multiplier": ChoiceWords(
            mark("noise multiplier σ"),
            mark(
                "The first bit of noise helps most. Later each further bit saves little ε and "
                "costs accuracy all the same."
            ),
            is_log=False,
        ),
        "epochs": ChoiceWords(
            mark("passes over the data"),
            mark(
                "The first pass costs most of all; later ones add less each, nearly the same "
                "amount in the end."
            ),
            "count",
            is_log=False,
        ),
        "delta": ChoiceWords(
            mark("δ"),
            mark(
                "A δ above one over the number of records protects nobody: publishing a record "
                "at random would keep it. A smaller δ costs ε, about the same for each power "
                "of ten."
            ),
            "tiny",
        ),
        "clipping_norm": ChoiceWords(mark("clipping norm C")),
        "learning_rate": ChoiceWords(mark("learning rate")),
        "hidden_units": ChoiceWords(mark("hidden units"), kind="count"),
        "image_factor": ChoiceWords(mark("image sides divided by")),
    }
)
#: Way to keep the best of several runs → its words.
TUNING: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "one": (
            mark("One run, chosen beforehand"),
            mark(
                "As if the setting had been fixed before anybody looked, or chosen on public "
                "data."
            ),
        ),
        "geometric": (
            mark("Number of runs drawn at random, geometric law"),
            mark(
                "The number is drawn before the first run and kept secret; each run draws its "
                "setting; only the best leaves."
            ),
        ),
        "logarithmic": (
            mark("Number of runs drawn at random, logarithmic law"),
            mark("Likewise; costs less, and the number varies more."),
        ),
        "sum": (
            mark("Every run counted"),
            mark("All private runs of this sweep, whichever is kept."),
        ),
        "basic": (
            mark("Every run counted, plain sum"),
            mark(
                "The sum of all ε and of all δ: holds always. Noise, batch, passes and number "
                "of records would give a lower figure."
            ),
        ),
    }
)
#: Attack on membership → its words. Names of the office stay as they are.
ATTACKS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "loss": (
            mark("Loss threshold"),
            mark("Records with a small loss are taken for members (Yeom 2018)."),
        ),
        "shadow": (
            mark("Shadow models"),
            mark(
                "One rule for all records, learned from models of the same kind (Shokri 2017)."
            ),
        ),
        "lira": (
            mark("Likelihood ratio (LiRA)"),
            mark("Each record against models with and without it (Carlini 2022)."),
        ),
        "lira-offline": (
            mark("Likelihood ratio, offline"),
            mark("Each record against models without it alone (Carlini 2022)."),
        ),
        "rmia": (
            mark("Relative attack (RMIA)"),
            mark("Each record against records of a population (Zarifzadeh 2024)."),
        ),
        "scores": (
            mark("Scores from a file"),
            mark("Scores of an attack made elsewhere, higher for a likelier member."),
        ),
    }
)
#: Way to invert → its words.
INVERSIONS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "attribute": (
            mark("A hidden attribute is guessed"),
            mark(
                "From the other attributes, the outcome and the model (Fredrikson 2014). What "
                "is guessed right of others follows from the population; no guarantee forbids "
                "it."
            ),
        ),
        "gradient": (
            mark("A record is rebuilt from a gradient"),
            mark(
                "From what one step of training shows to whoever sees gradients. Others are "
                "records that were not in the batch but happen to fit as well."
            ),
        ),
    }
)
#: What contradicts a card → its words.
DOUBTS: Mapping[str, str] = MappingProxyType(
    {
        "sampling": mark(
            "Batches were drawn otherwise than the account assumes: the ε stated does not hold."
        ),
        "trials": mark("Several settings were tried, and their cost is not in the ε stated."),
        "seed": mark(
            "The noise came from a seed: whoever knows it can take the noise off. This is a "
            "demonstration, not a release."
        ),
        "touches": mark(
            "The data were used beside training, see below; that is not in the ε stated."
        ),
        "no-noise": mark("No noise was added: nothing is hidden."),
    }
)
#: Who is protected → the word in a sentence. Units of an office stay as they are.
UNITS: Mapping[str, str] = MappingProxyType(
    {
        "record": mark("record"),
        "person": mark("person"),
        "household": mark("household"),
        "enterprise": mark("enterprise"),
    }
)
#: Texts of a card that programs write → their words. Any other text stays as it is.
CARD_TEXTS: Mapping[str, str] = MappingProxyType(
    {
        "flat": mark("flat: one norm for all parameters of the model"),
        "per layer": mark("per layer"),
        "adaptive": mark("adaptive: the norm follows a quantile, paid for out of the noise"),
        "the last model": mark("the last model"),
        "none": mark("none"),
        "operating system": mark("operating system"),
        "a seed: a demonstration, not a release": mark(
            "a seed: a demonstration, not a release"
        ),
        "all trials count": mark("all trials count"),
        **{
            text: text
            for text in (
                mark(
                    "the plan and the schema are taken to be decided without looking at these "
                    "data"
                ),
                mark(
                    "several records of one unit are protected as a group, with a larger "
                    "epsilon"
                ),
                mark("scores on any records are statistics without noise"),
                mark(
                    "noise is drawn in 32-bit floats: attacks on their last digits are not "
                    "excluded"
                ),
            )
        },
    }
)
#: Where the source errs, what it prints, and what is right.
ERRATA: tuple[tuple[str, str, str], ...] = (
    (
        mark("Moment A(α) at whole orders"),
        mark("without the binomial coefficients"),
        mark(
            "with them: Σ C(α, k) (1 − q)ᵅ⁻ᵏ qᵏ exp((k² − k) / (2σ²)); without them the "
            "reference run has a negative loss"
        ),
    ),
    (
        mark("Fractional orders, where the integral is split"),
        mark("left of the place, (1 − q) < q μ₁/μ₀"),
        mark("left of the place, (1 − q) > q μ₁/μ₀; the series converges for |y| < |x|"),
    ),
    (
        mark("Fractional orders, second half"),
        mark("exponent k"),
        mark("exponent α − k"),
    ),
    (
        mark("Gaussian noise without sampling"),
        mark("α / (2 (Cσ)²)"),
        mark("α / (2σ²): the clipping norm C drops out"),
    ),
    (
        mark("Arguments of the account"),
        mark("Cσ and passes"),
        mark("σ and steps"),
    ),
    (
        mark("Copies of records, turned or shifted"),
        mark("enlarge the number of records"),
        mark("do not: all copies are of one person"),
    ),
    (
        mark("Published table, 120 and 105 passes"),
        mark("σ = 1"),
        mark("σ = 1.1, the only noise that gives both ε"),
    ),
)
