"""Loops of frameworks, which take a loss as a tensor and nothing else."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn
from torch.utils import data as torch_data

from dpsgd import DPSGDError, Plan, privatise

X = torch.randn(40, 3, generator=torch.Generator().manual_seed(5))
Y = (X[:, 0] > 0).long()
# Lightning and Hugging Face announce changes of PyTorch and of their own.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


def begun(model, *, data=(X, Y), **more):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
    plan = Plan(
        dataset_size=40, sampling_rate=0.25, steps=8, noise_multiplier=1.0, delta=1e-3, seed=7
    )
    loader, criterion = privatise(
        plan,
        model=model,
        optimizer=optimizer,
        criterion=nn.CrossEntropyLoss(),
        data=data,
        **more,
    )
    return optimizer, loader, criterion


def network():
    torch.manual_seed(1)
    return nn.Linear(3, 2)


def trained(divisor=1, **more):
    model = network()
    optimizer, loader, criterion = begun(model, **more)
    for _ in range(2):
        for inputs, labels in loader:
            loss = criterion(model(inputs), labels)
            (loss / divisor if divisor > 1 else loss).backward()
            optimizer.step()
    return model.weight.detach().clone()


def test_a_loss_that_is_a_tensor_trains_as_the_usual_one_and_has_no_value():
    assert torch.equal(trained(), trained(as_tensor=True))
    both = trained(2, accumulation=2), trained(2, accumulation=2, as_tensor=True)
    assert torch.equal(*both)
    model = network()
    _, loader, criterion = begun(model, as_tensor=True)
    inputs, labels = next(iter(loader))
    loss = criterion(model(inputs), labels)
    assert loss.requires_grad
    assert math.isnan(loss.item())


def test_a_loss_that_is_a_tensor_is_weighed_before_records_are_clipped():
    def doubled(*, as_tensor):
        model = network()
        optimizer, loader, criterion = begun(model, as_tensor=as_tensor)
        for inputs, labels in loader:
            (0.25 * criterion(model(inputs), labels)).backward()
            optimizer.step()
        return model.weight.detach().clone()

    assert torch.equal(doubled(as_tensor=True), doubled(as_tensor=False))


@pytest.mark.parametrize("is_sum", [True, False])
def test_records_that_would_count_twice_end_the_step(is_sum):
    model = network()
    optimizer, loader, criterion = begun(model, as_tensor=True)
    inputs, labels = next(iter(loader))

    def step():
        loss = criterion(model(inputs), labels)
        if is_sum:
            (loss + criterion(model(inputs), labels)).backward()
        else:
            loss.backward()
            criterion(model(inputs), labels).backward()
        optimizer.step()

    with pytest.raises(DPSGDError, match="last pass" if is_sum else "whole and once"):
        step()
    assert loader.training.steps_taken == 0


def test_a_loss_that_is_not_the_plans_ends_the_step():
    model = network()
    optimizer, loader, _ = begun(model, as_tensor=True)
    inputs, labels = next(iter(loader))
    nn.functional.cross_entropy(model(inputs), labels).backward()
    with pytest.raises(DPSGDError, match="whole and once"):
        optimizer.step()


@pytest.mark.slow
@pytest.mark.parametrize("pieces", [1, 2])
def test_the_automatic_loop_of_lightning_trains_by_a_plan(pieces):
    lightning = pytest.importorskip("lightning")

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.network, self.loss, self.optimizer = network(), None, None

        def forward(self, x):
            return self.network(x)

        def training_step(self, batch, _):
            loss = self.loss(self(batch[0]), batch[1])
            self.log("loss", loss)
            return loss

        def configure_optimizers(self):
            return self.optimizer

    module = Module()
    module.optimizer, loader, module.loss = begun(
        module, as_tensor=True, accumulation=pieces if pieces > 1 else None
    )
    trainer = lightning.Trainer(
        max_epochs=2, accumulate_grad_batches=pieces, logger=False, accelerator="cpu",
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
    )  # fmt: skip
    trainer.fit(module, loader)
    assert loader.training.steps_taken == 8
    assert math.isnan(trainer.callback_metrics["loss"])
    weight = module.network.weight.detach()
    assert torch.allclose(weight, trained(accumulation=pieces if pieces > 1 else None))


class Words(torch_data.Dataset):
    """Texts as dictionaries, as a `Trainer` has them."""

    def __len__(self):
        return 40

    def __getitem__(self, row):
        return {"input_ids": torch.tensor([row % 7, row % 5, 3]), "labels": row % 2}


@pytest.mark.slow
@pytest.mark.parametrize("has_own_loss", [False, True])
def test_the_trainer_of_hugging_face_trains_by_a_plan_or_is_refused(tmp_path, has_own_loss):
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    torch.manual_seed(1)
    model = transformers.DistilBertForSequenceClassification(
        transformers.DistilBertConfig(
            vocab_size=9, dim=8, n_layers=1, n_heads=2, hidden_dim=16, max_position_embeddings=8
        )
    )
    optimizer, loader, criterion = begun(
        model,
        data=Words(),
        as_tensor=True,
        loss_of=lambda criterion, batch: criterion(
            model(input_ids=batch["input_ids"]).logits, batch["labels"]
        ),
    )

    class PrivateTrainer(transformers.Trainer):
        def get_train_dataloader(self):
            return loader

        def compute_loss(self, model, inputs, *, return_outputs=False, **_):
            labels = inputs.pop("labels")
            outputs = model(**inputs)
            if has_own_loss:
                loss = nn.functional.cross_entropy(outputs.logits, labels)
            else:
                loss = criterion(outputs.logits, labels)
            return (loss, outputs) if return_outputs else loss

    settings = transformers.TrainingArguments(
        str(tmp_path), num_train_epochs=2, use_cpu=True, report_to=[], save_strategy="no",
        disable_tqdm=True,
    )  # fmt: skip
    trainer = PrivateTrainer(model=model, args=settings, optimizers=(optimizer, None))
    if has_own_loss:
        with pytest.raises(DPSGDError, match="whole and once"):
            trainer.train()
    else:
        trainer.train()
    assert loader.training.steps_taken == (0 if has_own_loss else 8)
