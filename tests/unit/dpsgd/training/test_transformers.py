"""Models of Hugging Face, from their configurations: gradients of records, and a step."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from dpsgd import Plan, privatise
from dpsgd.training.training import gradients_of

transformers = pytest.importorskip("transformers")
# Their models are compiled as PyTorch advises against.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

CODES, LENGTH, ROWS = 30, 6, 4
_SMALL = {
    "vocab_size": CODES, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2,
    "intermediate_size": 16, "max_position_embeddings": 16, "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
}  # fmt: skip


def gpt2():
    chance = dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), 0.0)
    return transformers.GPT2LMHeadModel(
        transformers.GPT2Config(
            vocab_size=CODES, n_positions=16, n_embd=8, n_layer=1, n_head=2, use_cache=False,
            **chance,
        )
    )  # fmt: skip


def bert():
    return transformers.BertForMaskedLM(transformers.BertConfig(**_SMALL))


def t5():
    return transformers.T5ForConditionalGeneration(
        transformers.T5Config(
            vocab_size=CODES, d_model=8, d_kv=4, d_ff=16, num_layers=1, num_heads=2,
            dropout_rate=0.0, use_cache=False, decoder_start_token_id=0,
        )
    )  # fmt: skip


def deberta():
    return transformers.DebertaV2ForSequenceClassification(
        transformers.DebertaV2Config(
            **_SMALL, relative_attention=True, max_relative_positions=8, position_buckets=4,
            pos_att_type=["p2c", "c2p"], share_att_key=True, norm_rel_ebd="layer_norm",
            pooler_dropout=0.0, num_labels=3, type_vocab_size=0, position_biased_input=False,
        )
    )  # fmt: skip


MODELS = [
    (gpt2, "ckm"),
    (bert, "ckm"),
    (t5, "one-by-one"),
    (deberta, "one-by-one"),
]


def outputs_of(model, x):
    more = {"decoder_input_ids": x.flip(1)} if model.config.is_encoder_decoder else {}
    logits = model(input_ids=x, **more).logits
    return logits.mean(1) if logits.dim() == 3 else logits


def losses(model, x, y):
    return nn.functional.cross_entropy(outputs_of(model, x), y, reduction="none")


@pytest.mark.parametrize(("make", "engine"), MODELS)
def test_gradients_of_records_are_those_of_autograd(make, engine):
    torch.manual_seed(1)
    model = make().double()
    x, y = torch.randint(3, CODES, (ROWS, LENGTH)), torch.randint(0, 3, (ROWS,))
    parameters = {n: p for n, p in model.named_parameters() if p.requires_grad}
    each = [
        torch.autograd.grad(
            losses(model, x[i : i + 1], y[i : i + 1])[0],
            [*parameters.values()],
            materialize_grads=True,
        )
        for i in range(ROWS)
    ]
    lengths = [float(sum(g.square().sum() for g in one).sqrt()) for one in each]
    norm = sorted(lengths)[ROWS // 2]
    result = gradients_of(model, engine=engine).clipped_sum(losses(model, x, y), norm=norm)
    for number, name in enumerate(parameters):
        pairs = zip(each, lengths, strict=True)
        wanted = sum(one[number] * min(1, norm / size) for one, size in pairs)
        got = result.gradients.get(name, torch.zeros_like(wanted))
        assert torch.allclose(got, wanted, rtol=1e-5, atol=1e-6), name


@pytest.mark.parametrize(("make", "engine"), MODELS)
def test_they_train_by_a_plan(make, engine):
    torch.manual_seed(1)
    model = make()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    x, y = torch.randint(3, CODES, (20, LENGTH)), torch.randint(0, 3, (20,))
    loader, criterion = privatise(
        Plan(dataset_size=20, sampling_rate=0.25, steps=2, noise_multiplier=1.0, delta=1e-3),
        model=model,
        optimizer=optimizer,
        criterion=nn.CrossEntropyLoss(),
        data=(x, y),
        engine=engine,
        loss_of=lambda criterion, batch: criterion(outputs_of(model, batch[0]), batch[1]),
    )
    for a, b in loader:
        optimizer.zero_grad()
        criterion(outputs_of(model, a), b).backward()
        optimizer.step()
    assert loader.training.steps_taken == 2
    assert loader.training.is_tested
