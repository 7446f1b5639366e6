"""Opacus' engine under a plan: a script keeps its loop, and two of its lines change."""

from __future__ import annotations

import io
import math
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import opacus
import torch
from opacus.data_loader import DPDataLoader
from opacus.optimizers import DPOptimizer, DPOptimizerFastGradientClipping, DPPerLayerOptimizer
from torch import nn
from torch.utils.data import DataLoader

from dp import Adjacency, BudgetLedger
from dpsgd.accounting.cost import Sampling
from dpsgd.card import OF_OPACUS, PrivacyCard, card_of
from dpsgd.errors import DPSGDError, PlanError, UnsupportedLayerError
from dpsgd.opacus.accountant import MECHANISM, PlanAccountant
from dpsgd.opacus.history import read_checkpoint
from dpsgd.opacus.optimizers import (
    GhostCriterion,
    PlannedGhostOptimizer,
    PlannedOptimizer,
    PlannedPerLayerOptimizer,
)
from dpsgd.opacus.run import PlannedRun, PlannedSampler
from dpsgd.plan import Plan
from dpsgd.training.gradients import check_precision
from dpsgd.training.guard import Guard
from dpsgd.training.processes import Processes, check_unwrapped
from dpsgd.training.records import Records
from dpsgd.training.sampler import check_size
from dpsgd.training.self_test import ROWS, model_test
from footing.messages import Message, Name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from _typeshed import StrPath
    from torch.optim import Optimizer

    from dpsgd.accounting.cost import Cost

_MODES = ("hooks", "functorch", "ghost")
_ACCOUNTANTS = ("prv", "rdp", "gdp", MECHANISM)
_OPTIMIZERS = {
    DPOptimizer: PlannedOptimizer,
    DPPerLayerOptimizer: PlannedPerLayerOptimizer,
    DPOptimizerFastGradientClipping: PlannedGhostOptimizer,
}


# claim dpsgd-opacus-engine
class PrivacyEngine(opacus.PrivacyEngine):  # type: ignore[misc]
    """Opacus' engine, with a plan, a ledger and a card.

    `make_private` and `make_private_with_epsilon` take what they take in Opacus and give what
    they give there. The plan is made from them and from what is said here; the ledger pays for
    it before the first step, and after its last one no more is taken.

    Parameters
    ----------
    accountant
        For scripts that name one; the account is that of the plan, as a ledger has it.
    secure_mode
        Refused: noise and batches come from generators that the operating system keys.
    delta
        The delta, for `make_private`.
    epochs, steps
        How many passes or batches, for `make_private`; one of the two.
    dataset_size
        A public guess of the number of records, which then is secret (``add-remove``). None
        takes their true number for public (``zero-out``).
    adjacency, unit
        The neighbours, if others, and who is protected.
    seed
        Makes a demonstration that anyone can repeat; no ledger pays for it.
    ledger, who, what
        The budget that pays, or the path to it; who trains, and what.

    Examples
    --------
    >>> import torch
    >>> from torch.utils.data import DataLoader, TensorDataset
    >>> data = TensorDataset(torch.randn(100, 3), torch.randint(0, 2, (100,)))
    >>> model = torch.nn.Linear(3, 2)
    >>> engine = PrivacyEngine(delta=1e-3, epochs=2, seed=1)
    >>> model, optimizer, loader = engine.make_private(
    ...     module=model,
    ...     optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
    ...     data_loader=DataLoader(data, batch_size=10),
    ...     noise_multiplier=2.0,
    ...     max_grad_norm=1.0,
    ... )
    >>> for epoch in range(2):
    ...     for x, y in loader:
    ...         optimizer.zero_grad()
    ...         torch.nn.functional.cross_entropy(model(x), y).backward()
    ...         optimizer.step()
    >>> engine.steps_taken, engine.get_epsilon(1e-3) == engine.plan.cost().epsilon
    (20, True)
    """

    def __init__(
        self,
        *,
        accountant: str = "prv",
        secure_mode: bool = False,
        delta: float | None = None,
        epochs: float | None = None,
        steps: int | None = None,
        dataset_size: int | None = None,
        adjacency: Adjacency | str | None = None,
        unit: str = "record",
        seed: int | None = None,
        ledger: BudgetLedger | StrPath | None = None,
        who: str = "",
        what: str = "a model",
    ) -> None:
        if accountant not in _ACCOUNTANTS:
            raise PlanError(
                Message("Unknown accountant {accountant!r}.", accountant=Name(accountant)),
                hint=Message("known: {names}", names=Name.each(_ACCOUNTANTS)),
            )
        if secure_mode:
            raise PlanError(
                Message("There is no secure_mode to turn on."),
                hint=Message(
                    "leave it out: noise and batches come from generators that the operating "
                    "system keys"
                ),
            )
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Secure RNG turned off")
            super().__init__(accountant="rdp")
        # Opacus 1.5 has no register_accountant; later versions look here too.
        self.accountant = PlanAccountant()
        self.ledger = (
            ledger
            if ledger is None or isinstance(ledger, BudgetLedger)
            else BudgetLedger.open(ledger)
        )
        if ledger is not None and not who.strip():
            raise PlanError(
                Message("A ledger must know who trains."), hint=Message("give who='…'")
            )
        if ledger is not None and seed is not None:
            raise PlanError(
                Message("A run from a seed is no release, and no budget can pay for it."),
                hint=Message("leave the seed out, or the ledger"),
            )
        self.who, self.what = who, what
        self._delta, self._length = delta, {"epochs": epochs, "steps": steps}
        self._dataset_size, self._adjacency = dataset_size, adjacency
        self._fixed = {"unit": unit, "seed": seed}
        self.run: PlannedRun | None = None
        self.is_tested, self.clipping = False, "flat"

    @property
    def plan(self) -> Plan:
        """The plan, once `make_private` has made it."""
        return self._begun().plan

    @property
    def steps_taken(self) -> int:
        """How many steps of the plan are taken."""
        return self._begun().steps_taken

    @property
    def left_out(self) -> int:
        """How often a record was left out: a statistic without noise, to be kept inside."""
        return self._begun().left_out

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
        run = self._begun()
        card = card_of(
            run.plan, data=data, touches=tuple(touches), trials=trials, is_tested=False
        )
        limits = (*card.limits[:-1], *OF_OPACUS[self.is_tested])
        return replace(card, limits=limits, clipping=self.clipping)

    def close(self) -> None:
        """Let go of the optimizer; what it does then is not private."""
        self._begun().guard.close()

    def make_private(
        self,
        *,
        module: nn.Module,
        optimizer: Optimizer,
        data_loader: DataLoader[Any],
        noise_multiplier: float,
        max_grad_norm: float | list[float],
        poisson_sampling: bool = True,
        **settings: Any,
    ) -> tuple[Any, ...]:
        """Make model, optimizer and loader private, and pay for it.

        Parameters
        ----------
        module, optimizer, data_loader, noise_multiplier, max_grad_norm
            As in Opacus.
        poisson_sampling
            False cuts a shuffled file into batches, and costs what that costs.
        settings
            ``criterion``, ``batch_first``, ``loss_reduction``, ``clipping``,
            ``grad_sample_mode``, ``wrap_model`` and ``rand_on_empty``, as in Opacus.
        """
        plan = Plan.for_noise(
            noise_multiplier,
            delta=self._asked_delta(),
            **self._sizes(data_loader, poisson_sampling),
            **self._asked_length(),
            clipping_norm=_norm(max_grad_norm),
        )
        settings |= {"max_grad_norm": max_grad_norm}
        return self._made(plan, module, optimizer, data_loader, **settings)

    def make_private_with_epsilon(
        self,
        *,
        module: nn.Module,
        optimizer: Optimizer,
        data_loader: DataLoader[Any],
        target_epsilon: float,
        target_delta: float,
        epochs: float,
        max_grad_norm: float | list[float],
        poisson_sampling: bool = True,
        **settings: Any,
    ) -> tuple[Any, ...]:
        """Make them private with the least noise that keeps an epsilon.

        Parameters
        ----------
        module, optimizer, data_loader, target_epsilon, target_delta, epochs, max_grad_norm
            As in Opacus.
        poisson_sampling, settings
            As for `make_private`.
        """
        plan = Plan.for_budget(
            target_epsilon,
            delta=target_delta,
            **self._sizes(data_loader, poisson_sampling),
            epochs=epochs,
            clipping_norm=_norm(max_grad_norm),
        )
        settings |= {"max_grad_norm": max_grad_norm}
        return self._made(plan, module, optimizer, data_loader, **settings)

    def load_checkpoint(self, *, path: Any, **parts: Any) -> dict[str, Any]:
        """Go on where a checkpoint of the same plan stands; it is read as data, not as code.

        Parameters
        ----------
        path, parts
            As in Opacus.
        """
        content = read_checkpoint(path, **(parts.pop("torch_load_kwargs", None) or {}))
        safe = io.BytesIO()
        torch.save(content, safe)
        safe.seek(0)
        loaded: dict[str, Any] = super().load_checkpoint(path=safe, **parts)
        return loaded

    def _begun(self) -> PlannedRun:
        if self.run is None:
            raise PlanError(
                Message("No plan has begun."), hint=Message("call make_private first")
            )
        return self.run

    def _asked_delta(self) -> float:
        if self._delta is None:
            raise PlanError(
                Message("A plan has a delta, which make_private does not say."),
                hint=Message("PrivacyEngine(delta=1e-6, epochs=…)"),
            )
        return self._delta

    def _asked_length(self) -> dict[str, Any]:
        if (self._length["epochs"] is None) == (self._length["steps"] is None):
            raise PlanError(
                Message("A plan has an end, which make_private does not say."),
                hint=Message("PrivacyEngine(delta=…, epochs=10), or steps=…"),
            )
        return self._length

    def _sizes(self, loader: DataLoader[Any], is_poisson: bool) -> dict[str, Any]:  # noqa: FBT001
        """Return what the account depends on, from the loader and what was said."""
        _check_loader(loader)
        size = self._dataset_size
        is_secret = size is not None and is_poisson
        usual = Adjacency.ADD_REMOVE if is_secret else Adjacency.ZERO_OUT
        n = len(loader.dataset) if size is None else size  # type: ignore[arg-type]
        return {
            "dataset_size": n,
            "batch_size": min(loader.batch_size or n, n),
            "sampling": Sampling.POISSON if is_poisson else Sampling.SHUFFLED,
            "adjacency": Adjacency(self._adjacency or usual),
            **self._fixed,
        }

    def _made(
        self,
        plan: Plan,
        module: nn.Module,
        optimizer: Optimizer,
        loader: DataLoader[Any],
        **settings: Any,
    ) -> tuple[Any, ...]:
        mode = settings.get("grad_sample_mode", "hooks")
        self._check(plan, module, optimizer, mode, settings)
        records = Records(loader)
        check_size(plan, len(records))
        run = PlannedRun(plan, size=len(records))
        parts = super().make_private(
            module=module,
            optimizer=optimizer,
            data_loader=loader,
            noise_multiplier=plan.noise_multiplier,
            poisson_sampling=False,  # the plan draws the batches
            **{name: value for name, value in settings.items() if name != "noise_generator"},
        )
        model = parts[0]
        inner = model if isinstance(model, nn.Module) else module
        try:
            planned = self._planned_optimizer(parts[1], run, inner, settings["max_grad_norm"])
            model.forbid_grad_accumulation()
            self.clipping = (
                "flat" if type(planned) is not PlannedPerLayerOptimizer else "per layer"
            )
            self.is_tested = _is_tried(inner, records)
            self._pay(plan)
        except BaseException:
            if self.run is run:
                self.run = self.accountant.run = None
            if hasattr(run, "guard"):
                run.guard.close()
            model.remove_hooks()
            raise
        # Said of the first layer at each pass, and nobody can act on it.
        warnings.filterwarnings("ignore", message="Full backward hook is firing")
        own = _planned_loader(loader, run, settings)
        if mode != "ghost":
            return model, planned, own
        criterion = parts[2]
        criterion.optimizer = planned
        return model, planned, GhostCriterion(criterion, planned), own

    def _planned_optimizer(
        self, optimizer: DPOptimizer, run: PlannedRun, module: nn.Module, max_grad_norm: Any
    ) -> DPOptimizer:
        planned = _OPTIMIZERS[type(optimizer)](
            optimizer.original_optimizer,
            run=run,
            noise_multiplier=run.plan.noise_multiplier,
            max_grad_norm=max_grad_norm,
            expected_batch_size=run.plan.expected_batch,
            loss_reduction=optimizer.loss_reduction,
        )
        trained = {n: p for n, p in module.named_parameters() if p.requires_grad}
        check_precision(trained)
        run.guard = Guard(module, optimizer.original_optimizer, parameters=trained)
        self.run = self.accountant.run = run
        planned.attach_step_hook(
            self.accountant.get_optimizer_hook_fn(sample_rate=run.plan.sampling_rate)
        )
        return planned

    def _check(
        self,
        plan: Plan,
        module: nn.Module,
        optimizer: Optimizer,
        mode: str,
        settings: dict[str, Any],
    ) -> None:
        if self.run is not None:
            raise PlanError(
                Message("An engine has one plan, for one model."),
                hint=Message("make a PrivacyEngine for each"),
            )
        if mode not in _MODES:
            raise PlanError(
                Message("No plan is kept in the mode {mode!r}.", mode=Name(str(mode))),
                hint=Message("grad_sample_mode='hooks', 'functorch' or 'ghost'"),
            )
        if settings.get("clipping", "flat") == "adaptive":
            raise PlanError(
                Message("Adaptive clipping of Opacus is not paid for as a plan would."),
                hint=Message(
                    "clipping='flat'; or dpsgd.privatise with "
                    "Plan(adaptive=AdaptiveClipping(…))"
                ),
            )
        if settings.get("noise_generator") is not None:
            raise PlanError(
                Message("Noise of a release has no generator of one's own."),
                hint=Message("PrivacyEngine(seed=1) makes a demonstration"),
            )
        if isinstance(optimizer, torch.optim.LBFGS):
            raise PlanError(
                Message("LBFGS reads a batch more than once a step."),
                hint=Message("use SGD, Adam or AdamW"),
            )
        check_unwrapped(module)
        if Processes().size > 1:
            raise PlanError(
                Message("A plan with Opacus inside has one process."),
                hint=Message("dpsgd.privatise trains in several"),
            )
        if not any(p.requires_grad for p in module.parameters()):
            raise UnsupportedLayerError(
                Message("The model has nothing to train."), hint=Message("unfreeze a layer")
            )
        plan.check_budget()

    def _pay(self, plan: Plan) -> None:
        if isinstance(self.ledger, BudgetLedger):
            self.ledger.spend(plan.cost().guarantee, who=self.who, what=self.what.strip())


def _check_loader(loader: Any) -> None:
    if isinstance(loader, DPDataLoader) or isinstance(
        getattr(loader, "batch_sampler", None), PlannedSampler
    ):
        raise PlanError(
            Message("The loader is private already."),
            hint=Message("give the DataLoader that came before make_private"),
        )
    if not isinstance(loader, DataLoader):
        raise PlanError(
            Message("make_private takes a DataLoader."),
            hint=Message("torch.utils.data.DataLoader(dataset, batch_size=…)"),
        )


def _planned_loader(
    loader: DataLoader[Any], run: PlannedRun, settings: dict[str, Any]
) -> DataLoader[Any]:
    """Return a loader of the batches that the plan draws, empty ones among them."""
    names = {"batch_first", "rand_on_empty"} & set(settings)
    collate = DPDataLoader(
        loader.dataset,
        sample_rate=run.plan.sampling_rate,
        collate_fn=loader.collate_fn,
        **{name: settings[name] for name in names},
    ).collate_fn
    same = (
        "num_workers", "pin_memory", "timeout", "worker_init_fn", "multiprocessing_context",
        "prefetch_factor", "persistent_workers",
    )  # fmt: skip
    return DataLoader(
        loader.dataset,
        batch_sampler=PlannedSampler(run),
        collate_fn=collate,
        **{name: getattr(loader, name) for name in same},
    )


def _norm(max_grad_norm: float | list[float]) -> float:
    if isinstance(max_grad_norm, (int, float)):
        return float(max_grad_norm)
    return math.sqrt(sum(float(norm) ** 2 for norm in max_grad_norm))


def _is_tried(model: nn.Module, records: Records) -> bool:
    """Try on made-up records that the model does not mix them, where they pass at all."""
    device = next(model.parameters()).device
    sizes = [n for m in model.modules() if (n := getattr(m, "num_embeddings", 0))]
    try:
        rows = records.made_up(ROWS, codes=min(sizes, default=0), device=device)
    except (DPSGDError, TypeError, ValueError, RuntimeError):
        return False
    return model_test(model, rows[0] if isinstance(rows, tuple) else rows)
