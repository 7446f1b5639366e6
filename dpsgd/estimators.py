"""Private classifiers and regressors for a table, in the manner of scikit-learn."""

import inspect
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from dpsgd.accounting.cost import Cost
from dpsgd.card import PrivacyCard, card_of
from dpsgd.cuts import FoundCuts
from dpsgd.encoding import column_of, features, targets
from dpsgd.errors import DPSGDError, PlanError, TrainingDataError
from dpsgd.features.images import ImageForm
from dpsgd.files.model_file import read_model, write_model
from dpsgd.networks import image_network, linear_network, started
from dpsgd.plan import Plan
from dpsgd.schema import Category, Number
from dpsgd.training.callbacks import Callbacks
from dpsgd.training.sampler import check_size
from dpsgd.training.training import PrivateTraining
from footing.arrays import Floats
from footing.messages import Message, Name, Shape
from footing.serialisation import plain

_LARGEST = float(torch.finfo(torch.float32).max)
_BOOKKEEPING = ("ledger", "who", "what", "checkpoint", "is_resumed", "progress")


@dataclass(eq=False, repr=False)
class _Estimator:
    """What both share."""

    plan: Plan
    _: KW_ONLY
    model: str = "linear"
    hidden: Sequence[int] = ()
    learning_rate: float = 1.0
    momentum: float = 0.9
    average: float = 0.0
    device: str = "cpu"
    engine: str = "ckm"
    images: ImageForm | Mapping[str, Any] | None = None
    network_: nn.Module = field(init=False)
    inputs_: int = field(init=False)
    steps_taken_: int = field(init=False)
    checkpoint_: Path | None = field(init=False, default=None)
    feature_names_in_: NDArray[Any] = field(init=False)
    _is_copy: ClassVar[bool] = False

    @property
    def n_features_in_(self) -> int:
        """How many features the records have that the model was trained on."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError(Message("The model is not trained."))
        schema = self.plan.schema
        return self.inputs_ if schema is None else len(schema.columns)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what the estimator is."""
        from sklearn.utils import ClassifierTags, RegressorTags, Tags, TargetTags

        is_classifier = isinstance(self, DPClassifier)
        tags = Tags(
            estimator_type="classifier" if is_classifier else "regressor",
            target_tags=TargetTags(required=self.plan.schema is None),
            classifier_tags=ClassifierTags() if is_classifier else None,
            regressor_tags=None if is_classifier else RegressorTags(),
        )
        tags.non_deterministic = self.plan.seed is None
        tags.input_tags.string = tags.input_tags.allow_nan = self.plan.schema is not None
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        """Tell scikit-learn whether the model is trained."""
        return hasattr(self, "network_")

    def __sklearn_clone__(self) -> Self:
        """Return an untrained copy: another run, which somebody pays for."""
        copy = type(self)(**self.get_params())
        vars(copy)["_is_copy"] = True
        return copy

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002, FBT001, FBT002
        """Return the settings by name."""
        names = list(inspect.signature(type(self)).parameters)
        return {name: getattr(self, name) for name in names}

    def set_params(self, **settings: Any) -> Self:
        """Change settings."""
        _check_names(settings, self.get_params())
        for name, value in settings.items():
            setattr(self, name, value)
        return self

    def cost(self) -> Cost:
        """Return what the model cost."""
        return self.plan.cost(self._fitted().steps_taken_)

    def fit(self, table: Any, y: Any = None, **bookkeeping: Any) -> Self:
        """Train, once; every step of the plan is taken.

        ``ledger``, a budget or the path to it, pays; ``who`` and ``what`` name the charge.
        ``checkpoint`` is the path of a file with which an interrupted run goes on,
        ``is_resumed``; ``progress`` is called with steps taken and all steps.

        Copies that scikit-learn makes, and a model that is trained, train again where a ledger
        pays: each time costs as much.
        """
        _check_names(bookkeeping, _BOOKKEEPING)
        is_again = self._is_copy or self.__sklearn_is_fitted__()
        if is_again and bookkeeping.get("ledger") is None and not self.plan.is_demonstration:
            raise PlanError(
                Message(
                    "A copy, or a second training, looks at the records again, and nobody pays."
                ),
                hint=Message(
                    "fit(…, ledger=ledger, who='…') pays; for each copy of cross_val_score "
                    "params={'ledger': ledger, 'who': '…'} does"
                ),
            )
        callbacks = Callbacks(**bookkeeping)
        x, goal = self.check(table, y)
        self._fit(x, goal, callbacks=callbacks)
        return self

    def check(self, table: Any, y: Any = None) -> tuple[Tensor, Tensor]:
        """Refuse what cannot be trained on; return the numbers that training reads."""
        self._check()
        goal = targets(self._target(table, y), column=self._column())
        self.__dict__.pop("feature_names_in_", None)
        x = self._inputs(table)
        if (names := self._names(table)) is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        if len(x) != len(goal):
            raise TrainingDataError(Message("Records and targets must be equally many."))
        check_size(self.plan, len(x))
        return x, torch.from_numpy(goal)

    def card(
        self, *, data: str = "", touches: Sequence[str] = (), trials: int = 1
    ) -> PrivacyCard:
        """Return the privacy card of the model."""
        self._fitted()
        return card_of(self.plan, data=data, touches=tuple(touches), trials=trials)

    def save(self, path: str | Path, *, card: PrivacyCard | None = None) -> None:
        """Write the model, its plan and its privacy card into a file without code in it."""
        write_model(path, self, card=card)
        if self.checkpoint_ is not None:
            self.checkpoint_.unlink(missing_ok=True)
            self.checkpoint_ = None

    @classmethod
    def load(cls, path: str | Path, *, device: str = "cpu") -> Self:
        """Read a model that `save` wrote."""
        model = read_model(path, device=device)
        if not isinstance(model, cls):
            raise DPSGDError(
                Message("The file holds no {name}.", name=Shape(cls)),
                hint=Message("it holds a {name}", name=Shape(type(model))),
            )
        return model

    def _fit(self, x: Tensor, y: Tensor, *, callbacks: Callbacks) -> None:
        training = self._begun(x)
        network = training.model
        callbacks.take(
            training, x, y, criterion=self._losses, settings=self._settings(),
            prepare=lambda: self._find_cuts(training, x),
        )  # fmt: skip
        if self.average:
            training.use_average()
        training.close()
        self.checkpoint_ = None if callbacks.checkpoint is None else Path(callbacks.checkpoint)
        if not all(bool(torch.isfinite(p).all()) for p in network.parameters()):
            if self.checkpoint_ is not None:
                self.checkpoint_.unlink(missing_ok=True)
            raise DPSGDError(
                Message("Training ended without a finite model; its budget is spent."),
                hint=Message("lower learning_rate"),
            )
        self.steps_taken_ = training.steps_taken
        self.network_ = network.eval()

    def _begun(self, x: Tensor) -> PrivateTraining:
        """Return a new network, its optimizer and the plan, joined."""
        self.inputs_ = int(x.shape[1])
        network = started(lambda: self._build(self.inputs_), self.plan.seed).to(self.device)
        optimizer = torch.optim.SGD(
            network.parameters(), lr=self.learning_rate, momentum=self.momentum
        )
        return PrivateTraining(
            self.plan,
            model=network,
            optimizer=optimizer,
            average=self.average,
            engine=self.engine,
        )

    def _find_cuts(self, training: PrivateTraining, x: Tensor) -> None:
        schema, layer = self.plan.schema, next(iter(training.model.children()))
        if schema is not None and isinstance(layer, FoundCuts):
            scale = self.plan.cuts_noise * len(schema.uncut) ** 0.5
            layer.find(x, schema=schema, scale=scale, noise=training.randomness.noise)

    def _settings(self) -> dict[str, Any]:
        """Return the settings of the model, as plain values."""
        others = {"plan", "device", "engine"}
        settings = {n: v for n, v in self.get_params().items() if n not in others}
        return {name: plain(value) for name, value in settings.items()}

    def _check(self) -> None:
        """Refuse settings before anything is paid."""
        if self.plan.noise_multiplier:
            card_of(self.plan)  # a model whose card cannot be written is not begun
        if self.plan.augmentations > 1:
            raise PlanError(
                Message("A table has no altered copies of its records."),
                hint=Message("plan without augmentations, or train with dpsgd.PrivateTraining"),
            )
        if not 0 < self.learning_rate < _LARGEST or not 0 <= self.momentum < 1:
            raise PlanError(
                Message(
                    "learning_rate must be positive and finite, and momentum lie from 0 to 1."
                ),
                hint=Message("1 and 0.9 suit a linear model on a table"),
            )
        if (form := self._form) is not None:
            self._check_images(form)
        if any(not hasattr(width, "__index__") or width < 1 for width in self.hidden):
            raise PlanError(
                Message("hidden lists the widths of layers, from 1."),
                hint=Message("hidden=[32]"),
            )

    @property
    def _form(self) -> ImageForm | None:
        return None if self.images is None else ImageForm.of(self.images)

    def _check_images(self, form: ImageForm) -> None:
        if self.plan.schema is not None:
            raise PlanError(
                Message("A plan has columns, or its records are images."),
                hint=Message("plan without a schema, and give classes=…"),
            )
        form.build(form.channels, 2, hidden=self.hidden)

    def _build(self, inputs: int) -> nn.Module:
        outputs = self._outputs()
        schema = self.plan.schema
        if (form := self._form) is not None:
            return form.build(inputs, outputs, hidden=self.hidden)
        if self.model == "images" and schema is not None:
            raise PlanError(
                Message(
                    "Images are arrays without columns, for which no cuts are found or paid "
                    "for."
                ),
                hint=Message("plan without a schema, and give classes=…"),
            )
        if self.model == "images":
            return image_network(outputs)
        if self.model == "linear" and schema is not None and schema.uncut:
            cuts = FoundCuts(schema)
            network = linear_network(
                inputs + cuts.width, outputs, hidden=self.hidden, has_constant=True
            )
            return nn.Sequential(cuts, *network)
        if self.model == "linear":
            return linear_network(
                inputs, outputs, hidden=self.hidden, has_constant=schema is not None
            )
        raise PlanError(
            Message("Unknown model {model!r}.", model=Name(self.model)),
            hint=Message("known: 'linear' (with hidden layers), 'images'"),
        )

    def _names(self, table: Any) -> list[str] | None:
        """Return the names of features: those of the schema, or of a data frame."""
        if self.plan.schema is not None:
            return [column.name for column in self.plan.schema.columns]
        names = list(getattr(table, "columns", ()))
        return names if names and all(isinstance(name, str) for name in names) else None

    def _inputs(self, table: Any) -> Tensor:
        if (form := self._form) is not None:
            return form.prepared(table)
        schema, names = self.plan.schema, self._names(table)
        if schema is not None:
            if isinstance(table, np.ndarray) and table.ndim == 2:
                self._require_features(table.shape[1], len(schema.columns))
                table = dict(zip(names or (), table.T, strict=True))
            return torch.from_numpy(features(table, schema=schema))
        model_names = getattr(self, "feature_names_in_", None)
        if names is not None and model_names is not None and names != model_names.tolist():
            raise TrainingDataError(
                Message("The feature names should match those that were passed during fit."),
                hint=Message(
                    "the model has {names}, in this order", names=Name.each(model_names)
                ),
            )
        array = np.asarray(table)
        if array.dtype.kind not in "fiub" or array.ndim < 2:
            raise TrainingDataError(
                Message("Without a schema in the plan the data must be an array of numbers."),
                hint=Message("declare a schema: columns, bounds and codes"),
            )
        if self.__sklearn_is_fitted__():
            self._require_features(array.shape[1], self.inputs_)
        return torch.from_numpy(np.ascontiguousarray(array, dtype=np.float32))

    def _require_features(self, number: int, n_features: int) -> None:
        if number != n_features:
            raise TrainingDataError(
                Message(
                    "X has {value} features, but {name} is expecting {names} features as "
                    "input.",
                    value=number,
                    name=Shape(type(self)),
                    names=n_features,
                )
            )

    def _raw(self, table: Any) -> NDArray[np.float32]:
        inputs, network = self._inputs(table), self._fitted().network_
        with torch.no_grad():
            outputs = [network(piece.to(self.device)).cpu() for piece in inputs.split(4096)]
        return torch.cat(outputs).numpy()

    def _target(self, table: Any, y: Any) -> Any:
        schema = self.plan.schema
        if y is not None:
            return y
        if schema is None:
            raise TrainingDataError(
                Message("Without a schema the target is given apart from the features."),
                hint=Message("give y"),
            )
        return column_of(table, schema.target.name)

    def _fitted(self) -> Self:
        if not hasattr(self, "network_"):
            raise DPSGDError(
                Message("The model is not trained."), hint=Message("call fit first")
            )
        return self

    def _column(self) -> Number | Category:
        raise NotImplementedError

    def _losses(self, outputs: Tensor, y: Tensor) -> Tensor:
        raise NotImplementedError

    def _outputs(self) -> int:
        raise NotImplementedError


@dataclass(eq=False, repr=False)
class DPClassifier(_Estimator):
    """A classifier whose whole training keeps the plan.

    Parameters
    ----------
    plan
        The plan; its schema lists the columns and the codes of the target.
    model
        ``"linear"`` for logistic regression and layered networks, ``"images"`` for 28 x 28 with
        a channel; for others see ``images``.
    hidden
        Widths of hidden layers; none is logistic regression.
    learning_rate, momentum
        Of stochastic gradient descent.
    average
        Weight of the past in a moving average of the parameters.
    device
        ``"cpu"`` or ``"cuda"``.
    engine
        Who finds gradients of records: ``"ckm"``, ``"opacus"`` or ``"one-by-one"``.
    images
        The form of images, where the records are arrays of them, in place of ``model``.
    classes
        The list of labels, where the plan has no schema.
    class_weights
        Public weights of the classes, in their order.

    Examples
    --------
    >>> from dpsgd import Category, Number, Plan, Schema
    >>> schema = Schema(
    ...     columns=[Number(name="age", low=0, high=100)],
    ...     target=Category(name="retired", values=["no", "yes"]),
    ... )
    >>> plan = Plan.for_budget(
    ...     1, delta=1e-4, dataset_size=2000, batch_size=200, steps=50, schema=schema, seed=1
    ... )
    >>> ages = [20 + 60 * i / 2000 for i in range(2000)]
    >>> table = {"age": ages, "retired": ["yes" if age > 62 else "no" for age in ages]}
    >>> model = DPClassifier(plan).fit(table)
    >>> model.predict({"age": [25, 95]}).tolist()
    ['no', 'yes']
    >>> print(model.cost().adjacency, round(model.cost().epsilon, 2))
    add-remove 1.0
    """

    _: KW_ONLY
    classes: Sequence[Any] | None = None
    class_weights: Sequence[float] | None = None

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, in their order."""
        return np.array(self._column().values)

    def _check(self) -> None:
        super()._check()
        weights = self.class_weights
        if weights is None:
            return
        if len(weights) != self._outputs():
            raise PlanError(Message("class_weights needs a weight for each class."))
        if not all(0 <= weight < math.inf for weight in weights):
            raise PlanError(Message("class_weights must be numbers from 0."))

    def predict_proba(self, table: Any) -> NDArray[np.float32]:
        """Return the probability of each class.

        Parameters
        ----------
        table
            Records.
        """
        raw = torch.from_numpy(self._raw(table))
        probabilities: NDArray[np.float32] = torch.softmax(raw, 1).numpy()
        return probabilities

    def predict(self, table: Any) -> NDArray[Any]:
        """Return the most likely class.

        Parameters
        ----------
        table
            Records.
        """
        classes: NDArray[Any] = self.classes_[self._raw(table).argmax(1)]
        return classes

    def score(self, table: Any, y: Any = None) -> float:
        """Return the share of records that are classified rightly: not protected by noise.

        Parameters
        ----------
        table
            Records that were not trained on.
        y
            The labels, where they are not a column of the table.
        """
        labels = targets(self._target(table, y), column=self._column())
        return float((self._raw(table).argmax(1) == labels).mean())

    def _column(self) -> Category:
        schema = self.plan.schema
        if schema is None:
            if self.classes is None:
                raise PlanError(
                    Message("A classifier needs its classes."),
                    hint=Message("classes=range(10)"),
                )
            return Category(name="target", values=tuple(self.classes))
        if not isinstance(schema.target, Category):
            raise PlanError(
                Message("A classifier needs a Category as target."),
                hint=Message("use DPRegressor for numbers"),
            )
        return schema.target

    def _outputs(self) -> int:
        return len(self._column().values)

    def _losses(self, outputs: Tensor, y: Tensor) -> Tensor:
        weight = None
        if self.class_weights is not None:
            weight = torch.tensor([*self.class_weights], dtype=outputs.dtype).to(outputs)
        return functional.cross_entropy(outputs, y, weight=weight, reduction="none")


@dataclass(eq=False, repr=False)
class DPRegressor(_Estimator):
    """A regressor whose whole training keeps the plan; predictions stay in the public bounds.

    Parameters
    ----------
    plan
        The plan; the target of its schema is a `Number`.
    model, hidden, learning_rate, momentum, average, device, engine, images
        As for `DPClassifier`.
    bounds
        Public bounds of the target, where the plan has no schema.

    Examples
    --------
    >>> from dpsgd import Number, Plan, Schema
    >>> schema = Schema(
    ...     columns=[Number(name="age", low=0, high=100)],
    ...     target=Number(name="income", low=0, high=50),
    ... )
    >>> plan = Plan.for_budget(
    ...     1, delta=1e-4, dataset_size=2000, batch_size=200, steps=100, schema=schema, seed=1
    ... )
    >>> ages = [20 + 60 * i / 2000 for i in range(2000)]
    >>> table = {"age": ages, "income": [age / 2 for age in ages]}
    >>> found = DPRegressor(plan).fit(table).predict({"age": [40, 60]})
    >>> bool(abs(found[0] - 20) < 2 and abs(found[1] - 30) < 2)
    True
    """

    _: KW_ONLY
    bounds: tuple[float, float] | None = None

    def predict(self, table: Any) -> Floats:
        """Return the expected value, within the bounds of the target.

        Parameters
        ----------
        table
            Records.
        """
        column = self._column()
        middle, half = (column.low + column.high) / 2, (column.high - column.low) / 2
        return middle + half * self._raw(table)[:, 0].clip(-1, 1).astype(np.float64)

    def score(self, table: Any, y: Any = None) -> float:
        """Return the share of variance explained: not protected by noise.

        Parameters
        ----------
        table
            Records that were not trained on.
        y
            The targets, where they are not a column of the table.
        """
        values = np.asarray(self._target(table, y), dtype=np.float64)
        residual = ((values - self.predict(table)) ** 2).sum()
        return float(1 - residual / ((values - values.mean()) ** 2).sum())

    def _column(self) -> Number:
        schema = self.plan.schema
        if schema is None and self.bounds is not None and np.shape(self.bounds) == (2,):
            return Number(name="target", low=self.bounds[0], high=self.bounds[1])
        if self.bounds is not None or schema is None or not isinstance(schema.target, Number):
            raise PlanError(
                Message("A regressor needs a Number as target, or bounds=(low, high).")
            )
        return schema.target

    def _outputs(self) -> int:
        return 1

    def _losses(self, outputs: Tensor, y: Tensor) -> Tensor:
        # Half the square: features have length 1, so that a learning rate of 1 is stable.
        return (outputs[:, 0] - y.to(outputs)).square() / 2


def _check_names(names: Iterable[str], choices: Collection[str]) -> None:
    """Refuse a name that nobody knows."""
    for name in names:
        if name not in choices:
            raise PlanError(
                Message("There is no setting {name!r}.", name=Name(name)),
                hint=Message("known: {names}", names=Name.each(choices)),
            )
