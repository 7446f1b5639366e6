"""The gradients of records, against one record at a time."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from dpsgd import DPSGDError, UnsupportedLayerError
from dpsgd.training.gradients import RecordGradients, check_model
from dpsgd.training.layers import kinds, sequences

ROWS = 6


class Words(nn.Module):
    """An embedding, and a layer that is used twice."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(5, 4, padding_idx=0)
        self.norm = nn.LayerNorm(4)
        self.twice = nn.Linear(4, 4)
        self.last = nn.Linear(4, 3)

    def forward(self, x):
        x = self.twice(self.norm(self.table(x)))
        return self.last(torch.tanh(self.twice(x.mean(1))))


class Scale(nn.Module):
    """A layer that is none of PyTorch's."""

    def __init__(self, width):
        super().__init__()
        self.scale = nn.Parameter(torch.randn(1, width))

    def forward(self, x, *, times):
        return times * x * self.scale[0]


class Bags(nn.Module):
    """Averages of words, and a layer of one's own."""

    def __init__(self, **settings):
        super().__init__()
        self.table, self.scale = nn.EmbeddingBag(5, 4, **settings), Scale(4)
        self.last = nn.Linear(4, 3)

    def forward(self, x):
        return self.last(self.scale(torch.tanh(self.table(x)), times=2.0))


class Places(nn.Module):
    """A layer of a transformer, on words and places that are the same for all records."""

    def __init__(self, *, axes):
        super().__init__()
        self.words, self.places, self.axes = nn.Embedding(5, 4), nn.Embedding(7, 4), axes
        self.layer = nn.TransformerEncoderLayer(4, 2, 6, dropout=0.0, batch_first=True)
        self.last = nn.Linear(4, 3)

    def forward(self, x):
        places = torch.arange(x.shape[1], device=x.device)
        x = self.words(x) + self.places(places[None] if self.axes == 2 else places)
        return self.last(self.layer(x).mean(1))


class Attention(nn.Module):
    """Attention from one sequence to another, with masks and weights."""

    def __init__(self, *, is_first):
        super().__init__()
        self.inner = nn.MultiheadAttention(4, 2, batch_first=is_first)
        self.other, self.last, self.is_first = nn.Linear(4, 4), nn.Linear(4, 3), is_first

    def forward(self, x):
        key = self.other(x)
        padding = torch.arange(x.shape[1], device=x.device).expand(x.shape[:2]) == 1
        later = torch.ones(x.shape[1], x.shape[1], device=x.device).triu(2).bool()
        pair = (x, key) if self.is_first else (x.transpose(0, 1), key.transpose(0, 1))
        out, weights = self.inner(
            query=pair[0], key=pair[1], value=pair[1],
            key_padding_mask=padding, attn_mask=later, need_weights=self.is_first,
        )  # fmt: skip
        out = out if self.is_first else out.transpose(0, 1)
        return self.last(out.mean(1)) + (weights[:, -1, :3] if self.is_first else 0)


class Recurrent(nn.Module):
    def __init__(self, kind, **settings):
        super().__init__()
        self.inner = kind(3, 4, batch_first=True, **settings)
        self.last = nn.Linear(4 * (1 + self.inner.bidirectional), 3)

    def forward(self, x):
        return self.last(self.inner(x)[0].mean(1))


def cases():
    return {
        "linear": (lambda: nn.Linear(4, 3), (4,)),
        "layers, in place": (
            lambda: nn.Sequential(nn.Linear(4, 5), nn.ReLU(inplace=True), nn.Linear(5, 3)),
            (4,),
        ),
        "places, few": (
            lambda: nn.Sequential(nn.Linear(9, 8), nn.Tanh(), nn.Flatten(), nn.Linear(16, 3)),
            (2, 9),
        ),
        "places, many": (
            lambda: nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Flatten(), nn.Linear(60, 3)),
            (4, 5, 2),
        ),
        "images": (
            lambda: nn.Sequential(
                nn.Conv2d(2, 6, 3, stride=2, padding=1),
                nn.GroupNorm(2, 6),
                nn.ReLU(),
                nn.Conv2d(6, 4, 3, groups=2, padding="same"),
                nn.MaxPool2d(2),
                nn.Flatten(),
                nn.Linear(16, 3),
            ),
            (2, 9, 9),
        ),
        "few places of many channels": (
            lambda: nn.Sequential(nn.Conv2d(8, 8, 3), nn.Flatten(), nn.Linear(32, 3)),
            (8, 4, 4),
        ),
        "lines": (
            lambda: nn.Sequential(
                nn.Conv1d(2, 4, 3, dilation=2, padding="same", bias=False),
                nn.Tanh(),
                nn.Flatten(),
                nn.Linear(28, 3),
            ),
            (2, 7),
        ),
        "sums over places": (
            lambda: nn.Sequential(
                nn.Conv1d(2, 4, 3, stride=2),
                nn.GroupNorm(4, 4),
                nn.Tanh(),
                nn.Flatten(),
                nn.LayerNorm(12),
                nn.Linear(12, 3, bias=False),
            ),
            (2, 7),
        ),
        "norm of two axes": (
            lambda: nn.Sequential(nn.LayerNorm((3, 4)), nn.Flatten(), nn.Linear(12, 3)),
            (3, 4),
        ),
        "norm of places": (
            lambda: nn.Sequential(
                nn.Linear(4, 6), nn.LayerNorm(6, bias=False), nn.Flatten(), nn.Linear(18, 3)
            ),
            (3, 4),
        ),
        "words": (Words, "words"),
        "bags": (lambda: Bags(mode="mean", padding_idx=0), "words"),
        "sums of bags": (lambda: Bags(mode="sum"), "words"),
        "places": (lambda: Places(axes=2), "words"),
        "places, one axis": (lambda: Places(axes=1), "words"),
        "attention": (lambda: Attention(is_first=True), (5, 4)),
        "attention, places first": (lambda: Attention(is_first=False), (5, 4)),
        "LSTM": (lambda: Recurrent(nn.LSTM), (5, 3)),
        "LSTM, both ways": (
            lambda: Recurrent(nn.LSTM, num_layers=2, bidirectional=True, bias=False),
            (4, 3),
        ),
        "GRU": (lambda: Recurrent(nn.GRU, num_layers=2), (5, 3)),
        "RNN": (lambda: Recurrent(nn.RNN, nonlinearity="relu"), (5, 3)),
        "other layers": (
            lambda: nn.Sequential(
                nn.Conv2d(2, 3, 3, padding=1, padding_mode="reflect"),
                nn.InstanceNorm2d(3, affine=True),
                nn.PReLU(),
                nn.ConvTranspose2d(3, 2, 2),
                nn.Flatten(),
                nn.Linear(72, 3),
            ),
            (2, 5, 5),
        ),
    }


def made(name):
    build, shape = cases()[name]
    torch.manual_seed(3)
    model = build().double()
    if shape == "words":
        x = torch.tensor([[1, 1, 0, 2], [2, 3, 4, 1], [0, 0, 0, 3]] * 2)
    else:
        x = torch.randn(ROWS, *shape, dtype=torch.float64)
    y = torch.arange(ROWS) % 3
    return model, x, y


def losses(model, x, y):
    return nn.functional.cross_entropy(model(x), y, reduction="none")


def one_by_one(model, x, y):
    found = []
    for row in range(len(x)):
        model.zero_grad()
        losses(model, x[row : row + 1], y[row : row + 1]).sum().backward()
        found.append(
            {n: p.grad.clone() for n, p in model.named_parameters() if p.requires_grad}
        )
    model.zero_grad(set_to_none=True)
    return found


def length(gradient):
    return math.sqrt(sum(float(g.square().sum()) for g in gradient.values()))


@pytest.mark.parametrize("name", cases())
def test_clipped_sums_equal_those_of_one_record_at_a_time(name):
    model, x, y = made(name)
    each = one_by_one(model, x, y)
    norms = sorted(map(length, each))
    before = losses(model, x, y)
    books = RecordGradients(model)
    assert torch.allclose(losses(model, x, y), before, rtol=0, atol=1e-12)
    books._calls.clear()
    for norm in (math.inf, (norms[1] + norms[2]) / 2, norms[0] / 2):
        found = books.clipped_sum(losses(model, x, y), norm=norm)
        for key in each[0]:
            wanted = sum(g[key] * min(1, norm / length(g)) for g in each)
            assert torch.allclose(found.gradients[key], wanted, rtol=0, atol=1e-6), key
        assert found.within.tolist() == [length(g) <= norm for g in each]


@pytest.mark.parametrize("name", cases())
def test_no_record_contributes_more_than_the_norm(name):
    model, x, y = made(name)
    model.float()
    books = RecordGradients(model)
    for row in range(ROWS):
        one = x[row : row + 1]
        one = one.float() if one.is_floating_point() else one
        found = books.clipped_sum(losses(model, one, y[row : row + 1]), norm=1e-4)
        exact = sum(float(g.double().square().sum()) for g in found.gradients.values())
        assert 0.99e-4 < math.sqrt(exact) <= 1e-4 * (1 + 1e-5)


@pytest.mark.parametrize("name", [n for n, (_, shape) in cases().items() if shape != "words"])
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 1e30])
def test_a_record_that_is_not_finite_contributes_nothing_and_spoils_nothing(name, bad):
    model, x, y = made(name)
    model, x = model.float(), x.float()
    books = RecordGradients(model)
    without = books.clipped_sum(losses(model, x[1:], y[1:]), norm=1.0)
    x[0] = bad
    found = books.clipped_sum(losses(model, x, y), norm=1.0)
    extra = [found.gradients[n] - without.gradients[n] for n in found.gradients]
    assert all(bool(torch.isfinite(g).all()) for g in extra)
    moved = math.sqrt(sum(float(g.double().square().sum()) for g in extra))
    assert moved <= 1 + 1e-5
    if math.isnan(bad):
        assert moved <= 1e-5


@pytest.mark.parametrize("name", cases())
def test_copies_of_a_record_count_once_with_their_mean(name):
    model, x, y = made(name)
    each = one_by_one(model, x, y)
    found = RecordGradients(model).clipped_sum(losses(model, x, y), norm=0.1, copies=3)
    means = [{k: sum(g[k] for g in each[i : i + 3]) / 3 for k in each[0]} for i in (0, 3)]
    for key in each[0]:
        wanted = sum(g[key] * min(1, 0.1 / length(g)) for g in means)
        assert torch.allclose(found.gradients[key], wanted, rtol=0, atol=1e-6), key


def test_frozen_layers_are_neither_clipped_nor_summed():
    model, x, y = made("images")
    for parameter in model[0].parameters():
        parameter.requires_grad_(requires_grad=False)
    model[3].bias.requires_grad_(requires_grad=False)
    each = one_by_one(model, x, y)
    found = RecordGradients(model).clipped_sum(losses(model, x, y), norm=math.inf)
    assert set(found.gradients) == set(each[0])
    assert not any(name.startswith("0.") for name in found.gradients)
    for key in each[0]:
        assert torch.allclose(found.gradients[key], sum(g[key] for g in each), atol=1e-6)


@pytest.mark.parametrize(
    ("layer", "words"),
    [
        (nn.BatchNorm1d(4), ["BatchNorm1d", "GroupNorm"]),
        (nn.BatchNorm2d(4, affine=False), ["BatchNorm2d", "GroupNorm"]),
        (nn.InstanceNorm1d(4, track_running_stats=True), ["InstanceNorm1d", "track_running"]),
        (nn.Embedding(4, 4, max_norm=1.0), ["'1.weight'", "max_norm=None"]),
    ],
)
def test_layers_that_mix_records_are_refused_with_what_to_use_instead(layer, words):
    with pytest.raises(UnsupportedLayerError) as error:
        check_model(nn.Sequential(nn.Linear(4, 4), layer))
    for word in words:
        assert word in str(error.value)


def test_a_batch_norm_that_wakes_up_in_training_is_refused():
    norm = nn.BatchNorm1d(4, affine=False).eval()
    model = nn.Sequential(norm, nn.Linear(4, 2))
    norm.eval()
    books = RecordGradients(model)
    model.train()
    with pytest.raises(UnsupportedLayerError, match="BatchNorm1d"):
        books.clipped_sum(losses(model, torch.randn(3, 4), torch.zeros(3).long()), norm=1.0)


def test_a_model_with_nothing_to_train_is_refused():
    with pytest.raises(UnsupportedLayerError, match="nothing to train"):
        check_model(nn.ReLU())


class Tied(nn.Module):
    """Words in and out by one table, as language models have them."""

    def __init__(self, *, sign=1.0):
        super().__init__()
        self.words, self.head = nn.Embedding(5, 4), nn.Linear(4, 5)
        self.head.weight = self.words.weight
        self.sign = sign

    def forward(self, x):
        return self.sign * self.head(torch.tanh(self.words(x))).mean(1)


def test_two_uses_of_one_weight_are_clipped_by_the_norm_of_their_sum():
    torch.manual_seed(1)
    model = Tied()
    x, y = torch.randint(0, 5, (ROWS, 3)), torch.randint(0, 5, (ROWS,))
    each = one_by_one(model, x, y)
    norm = sorted(map(length, each))[ROWS // 2]
    result = RecordGradients(model).clipped_sum(losses(model, x, y), norm=norm)
    assert set(result.gradients) == {"words.weight", "head.bias"}
    for name in result.gradients:
        total = sum(g[name] * min(1, norm / length(g)) for g in each)
        assert torch.allclose(result.gradients[name], total, atol=1e-6)


def test_a_norm_for_each_layer_counts_a_shared_weight_once():
    torch.manual_seed(1)
    model = Tied()
    x, y = torch.randint(0, 5, (ROWS, 3)), torch.randint(0, 5, (ROWS,))
    result = RecordGradients(model, is_per_layer=True).clipped_sum(
        losses(model, x, y), norm=0.02
    )
    share = 0.02 / math.sqrt(2)  # the table, and the bias of the head
    for name, total in result.gradients.items():
        alone = sum(
            g[name] * min(1, share / float(g[name].norm())) for g in one_by_one(model, x, y)
        )
        assert torch.allclose(total, alone, atol=1e-6)


def test_uses_that_cancel_each_other_do_not_make_a_record_count_more():
    torch.manual_seed(1)

    class Cancelled(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two = nn.Linear(6, 4, bias=False), nn.Linear(6, 4, bias=False)
            self.two.weight = self.one.weight

        def forward(self, x):
            return (1000 * self.one(x) - 1000 * self.two(x)).mean(1)

    model = Cancelled()
    x, y = torch.randn(ROWS, 40, 6), torch.randint(0, 4, (ROWS,))
    for row in range(ROWS):
        rows = slice(row, row + 1)
        result = RecordGradients(model).clipped_sum(losses(model, x[rows], y[rows]), norm=1e-3)
        assert float(result.gradients["one.weight"].norm()) <= 1e-3 * (1 + 1e-6)


def test_records_that_leave_the_first_axis_are_refused():
    class Folded(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(2, 3)

        def forward(self, x):
            return self.inner(x.flatten(0, 1)).unflatten(0, x.shape[:2]).mean(1)

    model = Folded()
    books = RecordGradients(model)
    found = losses(model, torch.randn(4, 5, 2), torch.zeros(4).long())
    with pytest.raises(UnsupportedLayerError, match="one row for"):
        books.clipped_sum(found, norm=1.0)


def test_losses_of_another_pass_are_refused():
    model = nn.Linear(2, 3)
    found = losses(model, torch.randn(4, 2), torch.zeros(4).long())
    with pytest.raises(DPSGDError, match="last pass"):
        RecordGradients(model).clipped_sum(found, norm=1.0)


def test_a_closed_book_leaves_the_model_as_it_was():
    model = nn.Linear(2, 2)
    books = RecordGradients(model)
    books.close()
    assert not model._forward_hooks


def test_every_layer_kept_in_books_is_among_the_cases():
    seen = {type(layer) for name in cases() for layer in made(name)[0].modules()}
    assert {*kinds._KINDS, *sequences._KINDS} <= seen


@pytest.mark.parametrize("name", cases())
def test_the_length_of_each_record_is_that_of_its_own_gradient(name):
    model, x, y = made(name)
    wanted = [length(gradient) for gradient in one_by_one(model, x, y)]
    books = RecordGradients(model)
    for row, own in enumerate(wanted):
        norm = own / 2
        cut = books.clipped_sum(losses(model, x[row : row + 1], y[row : row + 1]), norm=norm)
        whole = books.clipped_sum(
            losses(model, x[row : row + 1], y[row : row + 1]), norm=own * (1 + 1e-6)
        )
        assert length(cut.gradients) == pytest.approx(norm, rel=1e-6)
        assert length(whole.gradients) == pytest.approx(own, rel=1e-6)
        assert (bool(cut.within), bool(whole.within)) == (False, True)


@pytest.mark.parametrize("name", ["images", "LSTM, both ways", "places"])
def test_layers_clipped_each_to_its_share_keep_the_norm(name):
    model, x, y = made(name)
    each = one_by_one(model, x, y)
    owners = {key.rpartition(".")[0] for key in each[0]}
    norm = sorted(map(length, each))[2]
    found = RecordGradients(model, is_per_layer=True).clipped_sum(
        losses(model, x, y), norm=norm
    )
    share = norm / math.sqrt(len(owners))
    for owner in owners:
        own = [{k: g for k, g in one.items() if k.rpartition(".")[0] == owner} for one in each]
        for key in own[0]:
            wanted = sum(g[key] * min(1, share / (length(g) or share)) for g in own)
            assert torch.allclose(found.gradients[key], wanted, rtol=0, atol=1e-6), key


def test_a_hook_that_alters_outputs_is_part_of_the_model():
    model, x, y = made("linear")
    books = RecordGradients(nn.Sequential(model))
    model.register_forward_hook(lambda _, __, output: output.square())
    found = books.clipped_sum(losses(books.model, x, y), norm=math.inf)
    wanted = sum(g["weight"] for g in one_by_one(model, x, y))
    assert torch.allclose(found.gradients["0.weight"], wanted, rtol=0, atol=1e-9)


def test_a_layer_of_places_is_known_where_they_are_as_many_as_records():
    model, x, y = made("places, one axis")
    books = RecordGradients(model)
    books.clipped_sum(losses(model, x, y), norm=1.0)
    each = one_by_one(model, x[:4], y[:4])
    books._calls.clear()
    found = books.clipped_sum(losses(model, x[:4], y[:4]), norm=0.1)
    wanted = sum(g["places.weight"] * min(1, 0.1 / length(g)) for g in each)
    assert torch.allclose(found.gradients["places.weight"], wanted, rtol=0, atol=1e-6)


def test_what_has_no_gradient_for_each_record_is_refused():
    class Chance(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale, self.inner = nn.Parameter(torch.ones(4)), nn.Linear(4, 3)

        def forward(self, x):
            return self.inner(nn.functional.dropout(x) * self.scale)

    model = Chance()
    books = RecordGradients(model)
    with pytest.raises(UnsupportedLayerError, match="without chance"):
        books.clipped_sum(losses(model, torch.randn(3, 4), torch.zeros(3).long()), norm=1.0)
    with pytest.raises(UnsupportedLayerError, match="parametrizations"):
        check_model(nn.utils.parametrizations.weight_norm(nn.Linear(2, 2)))
    packed = nn.utils.rnn.pack_sequence([torch.randn(2, 3)])
    recurrent = Recurrent(nn.GRU)
    books = RecordGradients(recurrent)
    with pytest.raises(UnsupportedLayerError, match="pad records"):
        recurrent.inner(packed)
    books.close()
    assert "forward" not in vars(recurrent.inner)


@pytest.mark.parametrize("layer", ["linear", "embedding"])
@pytest.mark.parametrize("gap", [0.0, 1e-7, 1e-5, 1e-3])
def test_parts_of_a_record_that_cancel_do_not_hide_its_length(layer, gap):
    generator = torch.Generator().manual_seed(4)
    worst = 0.0
    for _ in range(20):
        first, pull, bend = (torch.randn(64, generator=generator) for _ in range(3))
        if layer == "linear":
            model = nn.Linear(64, 64, bias=False)
            out = torch.stack([first, first * (1 + gap * bend)])[None]
            books = RecordGradients(model)
            seen = model(out)
            found = 1e10 * ((seen[:, 0] - seen[:, 1]) @ pull)
        else:
            model = nn.Embedding(3, 64)
            books = RecordGradients(model)
            weights = 1e10 * torch.stack([pull, -pull * (1 + gap * bend)])
            found = (model(torch.tensor([[1, 1]])) * weights).sum((1, 2))
        clipped = books.clipped_sum(found, norm=1.0)
        worst = max(worst, float(clipped.gradients["weight"].double().norm()))
    assert worst <= 1 + 1e-5


@pytest.mark.parametrize("places", [1, 2])
def test_squares_too_small_for_a_float_do_not_hide_a_length(places):
    model = nn.Linear(2000, 1, bias=False)
    books = RecordGradients(model)
    inputs, goals = torch.full((1, places, 2000), 2.6e-23), torch.full((1, places, 1), 6e18)
    losses = (model(inputs) - goals).square().sum((1, 2))
    found = books.clipped_sum(losses, norm=1e-3, copies=1)
    assert float(found.gradients["weight"].norm()) <= 1e-3
    assert not found.within.any()


class Attentive(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.top = nn.Linear(4, 4), nn.Linear(4, 2)
        self.inner = nn.MultiheadAttention(4, 2, batch_first=True)

    def forward(self, x):
        x = self.before(x)
        return self.top(self.inner(x, x, x)[0].mean(1))


@pytest.mark.parametrize(
    "frozen",
    [("in_proj_weight", "in_proj_bias"), ("out_proj",), ("in_proj_weight",), ("before",)],
)
def test_attention_that_is_frozen_in_part_has_the_gradients_of_the_rest(frozen):
    torch.manual_seed(1)
    model = Attentive()
    for name, parameter in model.named_parameters():
        parameter.requires_grad = not any(part in name for part in frozen)
    x, y = torch.randn(5, 3, 4), torch.randint(0, 2, (5,))
    books = RecordGradients(model)
    found = books.clipped_sum(losses(model, x, y), norm=math.inf)
    with books.unwatched():
        trained = {n: p for n, p in model.named_parameters() if p.requires_grad}
        wanted = torch.autograd.grad(losses(model, x, y).sum(), [*trained.values()])
    assert set(found.gradients) == set(trained)
    for name, gradient in zip(trained, wanted, strict=True):
        assert torch.allclose(found.gradients[name], gradient, atol=1e-5), name
