"""Noisy steps on clipped sums, as many as the plan has, for a loop of one's own."""

from __future__ import annotations

import math
from dataclasses import replace
from types import MethodType
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from dpsgd.card import PrivacyCard, card_of
from dpsgd.errors import BudgetEndedError, DPSGDError, PlanError
from dpsgd.training.gradients import RecordGradients
from dpsgd.training.guard import Guard, check_criterion
from dpsgd.training.losses import codes_of, does_not_fit, losses_of
from dpsgd.training.of_opacus import check_unmade
from dpsgd.training.processes import Processes, check_unwrapped
from dpsgd.training.randomness import Randomness
from dpsgd.training.records import Records, mapped
from dpsgd.training.sampler import draws
from dpsgd.training.self_test import ROWS, self_test
from dpsgd.training.single_gradients import SingleGradients
from footing.checks import require_number
from footing.messages import Argument, Message, Name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from torch.optim import Optimizer

    from dpsgd.accounting.cost import Cost
    from dpsgd.plan import Plan

OPACUS, ONE_BY_ONE = "opacus", "one-by-one"
_ENGINES = ("ckm", OPACUS, ONE_BY_ONE)
_PRECISIONS = ("float32", "bfloat16")
_MICRO_BATCH, _MOST = 256, 2048
_HALF = 0.5
_ROOM = 2**27  # bytes that a piece may write on a processor


class PrivateTraining:
    """A model, its optimizer and the plan, joined for the length of a run.

    The optimizer sees noisy sums and nothing else, so that any of the first order will do.

    Parameters
    ----------
    plan
        The plan.
    model, optimizer
        What is trained, and how.
    micro_batch
        Rows that go through the model at once; it changes memory, not the result. None takes
        what the self-test finds to fit: at most 2048 that write 128 MB together, on a
        graphics card a quarter of what is free; 256 without a self-test.
    average
        Weight of the past in a moving average of the parameters; 0 keeps none. It costs
        nothing.
    precision
        ``"bfloat16"`` lets `run` pass records through the model in 16 bits where that is
        safe. Parameters, norms, sums and noise keep 32.
    is_per_layer
        Clip each layer to an equal share of the norm, and not all of them as one.
    self_test
        Whether `run` and `privatise` try first, on random records of the data's shape, that
        each record counts for itself alone; or five public records to try it on. ``"opacus"``
        compares the gradients with those of Opacus too. The privacy card tells where nothing
        was tried.
    engine
        Who finds gradients of records: ``"ckm"``, by products of layers; ``"opacus"``, whose
        samplers of layers, also of one's own, write them out; or ``"one-by-one"``, which passes
        each record by itself, so that any model will do, in many times the time. Noise, batches
        and account are the plan's in all.

    Examples
    --------
    >>> import torch
    >>> from dpsgd import Plan
    >>> plan = Plan(
    ...     dataset_size=100, sampling_rate=0.1, steps=5, noise_multiplier=2, delta=1e-3, seed=1
    ... )
    >>> model = torch.nn.Linear(3, 2)
    >>> training = PrivateTraining(
    ...     plan, model=model, optimizer=torch.optim.SGD(model.parameters(), lr=0.1)
    ... )
    >>> x, y = torch.randn(100, 3), torch.randint(0, 2, (100,))
    >>> training.run(x, y, criterion=torch.nn.CrossEntropyLoss(reduction="none"))
    >>> training.steps_taken, training.cost() == plan.cost()
    (5, True)
    """

    def __init__(
        self,
        plan: Plan,
        *,
        model: nn.Module,
        optimizer: Optimizer,
        micro_batch: int | None = None,
        average: float = 0.0,
        precision: str = "float32",
        is_per_layer: bool = False,
        self_test: bool | str | Sequence[Tensor] = True,
        engine: str = "ckm",
    ) -> None:
        plan.check_budget()
        check_unwrapped(model)
        check_unmade(model, optimizer)
        _check_optimizer(model, optimizer)
        if hasattr(optimizer.step, "is_private"):
            raise PlanError(
                Message("The optimizer belongs to another private training."),
                hint=Message(
                    "make model and optimizer anew, or end the other: loader.training.close()"
                ),
            )
        self._is_to_fit = micro_batch is None
        if micro_batch is None:
            micro_batch = max(_MICRO_BATCH, plan.augmentations)
        if micro_batch < plan.augmentations:
            raise PlanError(
                Message(
                    "micro_batch must hold all copies of a record, {augmentations}, not "
                    "{micro_batch}.",
                    augmentations=plan.augmentations,
                    micro_batch=Argument(micro_batch),
                )
            )
        require_number(average, "average", error=PlanError, minimum=0, below=1)
        self.plan, self.model, self.optimizer = plan, model, optimizer
        if precision not in _PRECISIONS:
            raise PlanError(
                Message("Unknown precision {precision!r}.", precision=Name(precision)),
                hint=Message("known: {precisions}", precisions=Name.each(_PRECISIONS)),
            )
        self.micro_batch, self.average, self.precision = micro_batch, average, precision
        if isinstance(self_test, str) and self_test != OPACUS:
            raise PlanError(
                Message("Unknown self_test {self_test!r}.", self_test=Name(self_test)),
                hint=Message("known: True, False, 'opacus', or five public records"),
            )
        self.self_test = self_test
        self._tried: tuple[Any, ...] | None = None
        self._is_trial = False
        self._n_codes: int | None = (
            None  # that the outputs have, where the loss is one of codes
        )
        #: How often a record was left out, since its gradient was not finite or its target did
        #: not fit: a statistic without noise, for whoever may see the records, and in no file.
        self.left_out = 0
        self.steps_taken = 0
        self.clipping_norm = plan.clipping_norm
        self.processes = Processes()
        self._join(is_per_layer=is_per_layer)
        self.engine = engine
        self._record_gradients = gradients_of(model, engine=engine, is_per_layer=is_per_layer)
        self._sums: dict[str, Tensor] = {}
        self._within = 0.0
        self._rows_due: int | None = None  # of the batch drawn last
        self._rows_seen, self._drawn, self._is_counted = 0, 0, True
        self.averages: dict[str, Tensor] | None = None
        self._is_closed = False
        self._on_step: Callable[[], None] | None = None  # of a loop with a loader
        self.scheduler: Any = None  # of a loop, for the file of the run
        #: What a loop does besides: when a batch is done with, and within a step.
        self.before_batch: Callable[[PrivateTraining], None] | None = None
        self.after_step: Callable[[PrivateTraining], None] | None = None
        try:
            self.guard = Guard(model, optimizer, parameters=self._record_gradients.parameters)
        except BaseException:
            self._record_gradients.close()
            raise
        self._held = vars(optimizer).get("step")  # a scheduler's, that was there before
        self._apply = optimizer.step
        setattr(optimizer, "step", MethodType(_private_step(self), optimizer))  # noqa: B010

    @property
    def is_tested(self) -> bool:
        """Whether the self-test came before the first step."""
        return self._tried is not None

    def cost(self) -> Cost:
        """Return what the steps taken so far cost."""
        return self.plan.cost(self.steps_taken)

    def card(
        self, *, data: str = "", touches: Sequence[str] = (), trials: int = 1
    ) -> PrivacyCard:
        """Return the privacy card of the model.

        Parameters
        ----------
        data, touches, trials
            As for `card_of`.
        """
        card = card_of(
            self.plan,
            data=data,
            touches=tuple(touches),
            trials=trials,
            is_tested=self.is_tested,
        )
        return (
            replace(card, clipping="per layer") if self._record_gradients.is_per_layer else card
        )

    def check(
        self,
        *data: Any,
        losses_of: Callable[[Any], Tensor],
        augment: Callable[[Any], Any] | None = None,
        criterion: Any = None,
    ) -> None:
        """Try on random records, once for a criterion, that each counts for itself alone.

        Parameters
        ----------
        data
            Inputs and targets, of which shapes and kinds are looked at.
        losses_of
            Gives the losses of a batch of them.
        augment
            Alters the inputs at random.
        criterion
            What is tried once; None for ``losses_of``.

        Raises
        ------
        UnsupportedLayerError
            If a record's loss depends on others, a pass changes what the model keeps, or the
            gradients are not those of the losses.
        """
        records = Records.of(data)
        if self.processes.size > 1:
            self.processes.agree({"the records": records.some()})
        trial = (criterion or losses_of, augment)
        if self.self_test is False or self._tried == trial:
            return
        device = next(self.model.parameters()).device
        if self.self_test is True or isinstance(self.self_test, str):
            sizes = [n for m in self.model.modules() if (n := getattr(m, "num_embeddings", 0))]
            codes = min(sizes, default=0)
            rows = records.made_up(ROWS, codes=codes, device=device)
        else:
            rows = Records(self.self_test).batch(np.arange(ROWS), device=device)
        self._is_trial = True
        try:
            size = self_test(
                self._record_gradients,
                lambda batch: losses_of(_altered(batch, augment)),
                rows,
                second=self._second_opinion() if self.self_test == OPACUS else None,
            )
        finally:
            self._is_trial = False
        # Beside nobody's record: what half of them decide is a mistake of whoever coded them.
        if self._codes is not None and records.share_of_targets(self._codes.fit) < _HALF:
            raise does_not_fit()
        self._tried = trial
        if self._is_to_fit:
            on_card = device.type == "cuda"
            room = torch.cuda.mem_get_info(device)[0] // 4 if on_card else _ROOM
            most = int(room / max(1.0, size))
            self.micro_batch = max(
                self.plan.augmentations, most if on_card else min(_MOST, most)
            )

    def _second_opinion(self) -> Callable[[], RecordGradients]:
        other = "ckm" if self.engine == OPACUS else OPACUS
        return lambda: gradients_of(self.model, engine=other)

    def accumulate(self, losses: Tensor) -> None:
        """Add the clipped gradients of some rows to the batch.

        Parameters
        ----------
        losses
            One for each row of the model's last pass.
        """
        part = self._record_gradients.clipped_sum(
            losses, norm=self.clipping_norm, copies=self.plan.augmentations
        )
        if not self._is_counted:
            return
        self._rows_seen += len(losses)
        self.left_out += part.left_out
        for name, value in part.gradients.items():
            total = self._sums.get(name)
            self._sums[name] = value if total is None else total.add_(value)
        if self.plan.adaptive is not None:
            self._within += float(part.within.sum()) - len(part.within) / 2

    def step(self) -> None:
        """Add noise to the batch, however many records it has, and take one step.

        Raises
        ------
        BudgetEndedError
            If all steps of the plan are taken.
        DPSGDError
            If the rows are not those of the batch that was drawn.
        """
        self._check_open()
        if self.steps_taken >= self.plan.steps:
            raise BudgetEndedError(
                Message("All {steps} steps of the plan are taken.", steps=self.plan.steps),
                hint=Message("keep the model as it is, or make a new plan and charge it anew"),
            )
        if self._rows_seen != (self._rows_due or 0):
            raise DPSGDError(
                Message("A step takes the batch that the plan drew, whole and once."),
                hint=Message(
                    "take batches from training.draws and training.pieces, or from the loader"
                ),
            )
        self.guard.check()
        self.steps_taken += 1  # first, so that no failure can hide a step
        self._add_up()
        if self.processes.is_first:
            self._set_gradients()
            self._adapt()
        self._forget()
        self.guard.apply(self._apply)
        self._share_step()
        self.guard.note()
        if self.steps_taken == self.plan.steps:
            self.guard.end()
        self._keep_average()
        if self.after_step is not None:
            self.after_step(self)

    def run(
        self,
        *data: Any,
        criterion: Callable[..., Tensor],
        augment: Callable[[Tensor], Tensor] | None = None,
        until: int | None = None,
    ) -> None:
        """Take the steps of the plan.

        Parameters
        ----------
        data
            Inputs and targets, a row for each record: tensors or arrays; or one Dataset or
            DataLoader that gives them.
        criterion
            Gives a loss for each row of outputs and targets.
        augment
            Alters the copies of inputs at random.
        until
            Stop at this many steps; None for all.
        """
        self.model.train()
        device = next(self.model.parameters()).device.type
        is_short = self.precision == "bfloat16"
        last = self.plan.steps if until is None else min(until, self.plan.steps)
        check_criterion(criterion)
        records = Records.of(data)
        losses = self.losses_with(criterion)
        self.check(records, losses_of=losses, augment=augment, criterion=criterion)
        for rows in self.draws(len(records), until=last):
            for batch in self.pieces(rows, records, augment=augment):
                with torch.autocast(device, dtype=torch.bfloat16, enabled=is_short):
                    values = losses(batch)
                self.accumulate(values)
            self.step()

    def losses_with(self, criterion: Callable[..., Tensor]) -> Callable[[Any], Tensor]:
        """Return what gives the losses of a batch: inputs for the model, then targets."""
        return lambda batch: self.losses_of(criterion, self.model(batch[0]), *batch[1:])

    def losses_of(self, criterion: Callable[..., Tensor], *values: Tensor) -> Tensor:
        """Return the losses; a record whose target does not fit is left out."""
        if self._is_trial:
            self._codes = codes_of(criterion, *values)
        return losses_of(criterion, *values, is_trial=self._is_trial, is_tested=self.is_tested)

    def draws(self, size: int, *, until: int | None = None) -> Iterator[Any]:
        """Yield the records of each batch that is still to come.

        Parameters
        ----------
        size
            Number of records.
        until
            Stop at this many steps; None for all.
        """
        last = self.plan.steps if until is None else until
        generator = self.randomness.draws
        self.processes.agree({"the number of records": size})
        batches = draws(self.plan, size=size, generator=generator, done=self.steps_taken)
        for _ in range(max(0, last - self.steps_taken)):
            self.guard.begin()
            if self.before_batch is not None:
                self.before_batch(self)
            rows = self.processes.own(next(batches))
            self._forget()  # what a loop that broke off left behind
            self._rows_due, self._drawn = len(rows) * self.plan.augmentations, self._drawn + 1
            yield rows

    def _check_open(self) -> None:
        if self._is_closed:
            raise DPSGDError(
                Message("This training was closed."),
                hint=Message("make model, optimizer and training anew"),
            )

    def _forget(self) -> None:
        self._sums, self._within = {}, 0.0
        self._rows_due, self._rows_seen, self._is_counted = None, 0, True

    def pieces(
        self,
        rows: Any,
        *data: Any,
        augment: Callable[[Any], Any] | None = None,
        number: int | None = None,
    ) -> Iterator[Any]:
        """Yield the rows of a batch in pieces that fit into memory.

        A piece without rows is one record that does not count, so that loops always go round.

        Parameters
        ----------
        rows
            The records of the batch.
        data
            Inputs and targets, as for `run`.
        augment
            Alters the copies of inputs at random.
        number
            How many pieces; by default as many as `micro_batch` makes.
        """
        copies, records = self.plan.augmentations, Records.of(data)
        if copies > 1 and augment is None:
            raise PlanError(
                Message("The plan makes {copies} copies of a record.", copies=copies),
                hint=Message("say how: augment=…"),
            )
        device = next(self.model.parameters()).device
        count = self.piece_count(len(rows), number)
        for piece in np.array_split(rows, count) if len(records) else ():
            self._is_counted = len(piece) > 0
            batch = records.batch(piece if len(piece) else np.zeros(1, int), device=device)
            if copies > 1:
                batch = mapped(lambda v: v.repeat_interleave(copies, 0), batch)
            yield _altered(batch, augment)

    def piece_count(self, size: int, number: int | None = None) -> int:
        """Return in how many pieces so many records come."""
        return number or max(1, -(-size // (self.micro_batch // self.plan.augmentations)))

    def use_average(self) -> None:
        """Give the model the moving average of its parameters, for good."""
        if self.averages is None:
            raise DPSGDError(
                Message("No average was kept."), hint=Message("give average=0.99, for instance")
            )
        self.guard.check_written()
        with torch.no_grad():
            for name, parameter in self._record_gradients.parameters.items():
                parameter.copy_(self.averages[name])
        self.guard.note()

    def close(self) -> None:
        """Give model and optimizer back as they came; what they do then is not private."""
        if self._is_closed:
            return
        self._is_closed = True
        self._record_gradients.close()
        self.guard.close()
        if self._held is None:
            vars(self.optimizer).pop("step", None)
        else:
            setattr(self.optimizer, "step", self._held)  # noqa: B010 (its type forbids it)

    def share_model(self) -> None:
        """Give all processes the model of the first."""
        self.processes.share([*self.model.parameters(), *self.model.buffers()])

    def _join(self, *, is_per_layer: bool) -> None:
        """Make sure that all processes train one model by one plan, from one start."""
        processes, kind = self.processes, type(self.optimizer).__name__
        state = dict([*self.model.named_parameters(), *self.model.named_buffers()])
        groups = [{**g, "params": len(g["params"])} for g in self.optimizer.param_groups]
        processes.agree(
            {
                "the plan": self.plan.to_json(),
                "the model": [(n, v.shape, v.dtype, v.requires_grad) for n, v in state.items()],
                "the optimizer": (kind, groups),
                "other settings": (self.average, self.precision, is_per_layer),
            }
        )
        self.share_model()
        is_shared = processes.size > 1 and self.plan.seed is None
        key = processes.shared_key() if is_shared else None
        self.randomness = Randomness(self.plan.seed, shared_key=key)

    def _add_up(self) -> None:
        """Give the first process the sums of all, of one and the same batch."""
        if self.processes.size == 1:
            return
        sums = [
            self._sums.setdefault(name, torch.zeros_like(p))
            for name, p in self._record_gradients.parameters.items()
        ]
        counts = torch.zeros(1 + self.processes.size)
        counts[0], counts[1 + self.processes.rank] = self._within, self._drawn
        self.processes.add_up([*sums, counts])
        self._within = float(counts[0])
        if self.processes.is_first and bool((counts[1:] != counts[1]).any()):
            raise DPSGDError(
                Message("The processes are not at the same batch."),
                hint=Message(
                    "each takes a step for each batch; a loop ends for all or for none"
                ),
            )

    def _share_step(self) -> None:
        """Give all processes what the first one's step made of the parameters."""
        if self.processes.size == 1:
            return
        norm = torch.tensor([self.clipping_norm], dtype=torch.float64)
        self.processes.share([*self._record_gradients.parameters.values(), norm])
        self.clipping_norm = float(norm)

    def _set_gradients(self) -> None:
        parameters, batch = self._record_gradients.parameters, self.plan.expected_batch
        sizes = [parameter.numel() for parameter in parameters.values()]
        if self.plan.noise_multiplier:
            scale = self.plan.gradient_noise * self.clipping_norm
            flat = torch.from_numpy(self.randomness.noise(sum(sizes))).mul_(scale / batch)
        else:
            flat = torch.zeros(sum(sizes))
        flat = flat.to(next(iter(parameters.values())).device)
        for (name, parameter), part in zip(parameters.items(), flat.split(sizes), strict=True):
            noise, total = part.view_as(parameter).to(parameter), self._sums.get(name)
            parameter.grad = noise if total is None else noise.add_(total, alpha=1 / batch)

    def _adapt(self) -> None:
        adaptive = self.plan.adaptive
        if adaptive is None:
            return
        noise = adaptive.count_noise if self.plan.noise_multiplier else 0.0
        count = self._within + noise * float(self.randomness.noise(1)[0])
        share = count / self.plan.expected_batch + 0.5
        change = adaptive.rate * (min(2.0, max(-1.0, share)) - adaptive.quantile)
        self.clipping_norm *= math.exp(-change)

    def _keep_average(self) -> None:
        if not self.average:
            return
        now = {n: p.detach() for n, p in self._record_gradients.parameters.items()}
        if self.averages is None:
            self.averages = {n: p.clone() for n, p in now.items()}
            return
        for name, value in self.averages.items():
            value.lerp_(now[name], 1 - self.average)


def _private_step(training: PrivateTraining) -> Callable[..., Any]:
    """Return what stands in for the step of an optimizer: none is taken beside the plan."""

    def step(_optimizer: Optimizer, closure: Callable[[], Any] | None = None) -> Any:
        if training._on_step is None:  # noqa: SLF001 (two halves of one thing)
            raise DPSGDError(
                Message("The optimizer takes its steps through the plan alone."),
                hint=Message("training.step(), or training.run(…)"),
            )
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        training._on_step()  # noqa: SLF001
        return loss

    # What schedulers look for, to know that their own steps come after those of the optimizer.
    vars(step).update(vars(getattr(training._apply, "__func__", training._apply)))  # noqa: SLF001
    step.is_private = True  # type: ignore[attr-defined]
    return step


def gradients_of(
    model: nn.Module, *, engine: str = "ckm", is_per_layer: bool = False
) -> RecordGradients:
    """Return what turns losses into clipped sums."""
    if engine == "ckm":
        return RecordGradients(model, is_per_layer=is_per_layer)
    if engine == ONE_BY_ONE:
        return SingleGradients(model, is_per_layer=is_per_layer)
    if engine != OPACUS:
        raise PlanError(
            Message("Unknown engine {engine!r}.", engine=Name(engine)),
            hint=Message("known: {engines}", engines=Name.each(_ENGINES)),
        )
    from dpsgd.training.opacus_gradients import OpacusGradients

    return OpacusGradients(model, is_per_layer=is_per_layer)


def _altered(batch: Any, augment: Callable[[Any], Any] | None) -> Any:
    if augment is None:
        return batch
    return (augment(batch[0]), *batch[1:]) if isinstance(batch, tuple) else augment(batch)


def _check_optimizer(model: nn.Module, optimizer: Optimizer) -> None:
    if isinstance(optimizer, torch.optim.LBFGS):
        raise PlanError(
            Message("LBFGS reads a batch more than once a step."),
            hint=Message("use SGD, Adam or AdamW"),
        )
    ids = {id(p) for group in optimizer.param_groups for p in group["params"]}
    own = {id(p) for p in model.parameters()}
    if not ids <= own:
        raise PlanError(
            Message("The optimizer holds parameters of another model."),
            hint=Message("give it model.parameters()"),
        )
    trained = {id(p) for p in model.parameters() if p.requires_grad}
    if not trained <= ids:
        raise PlanError(
            Message("The optimizer leaves parameters out that the model would train."),
            hint=Message("freeze them: parameter.requires_grad_(False)"),
        )
