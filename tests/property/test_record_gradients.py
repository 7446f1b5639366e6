"""Networks put together at random: their clipped sums are those of one record at a time."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import nn

from dpsgd.training.gradients import RecordGradients
from dpsgd.training.opacus_gradients import OpacusGradients

# PyTorch says once that padding of even kernels takes a copy.
pytestmark = pytest.mark.filterwarnings("ignore:Using padding='same'")
torch.set_num_threads(1)  # threads that wait for each other take most of the time

ROWS, CLASSES = 4, 3
#: Networks of each family; with nine families, 108.
EXAMPLES = 12
ACTIVATIONS = (nn.ReLU, nn.Tanh, nn.GELU, nn.SiLU, nn.Softplus)


class Residual(nn.Module):
    """A layer whose output is added to its input, some times over."""

    def __init__(self, inner, times):
        super().__init__()
        self.inner, self.times = inner, times

    def forward(self, x):
        for _ in range(self.times):
            x = x + torch.tanh(self.inner(x))
        return x


class Pooled(nn.Module):
    """The mean over places, or the last of them."""

    def __init__(self, is_last):
        super().__init__()
        self.is_last = is_last

    def forward(self, x):
        return x[:, -1] if self.is_last else x.mean(1)


class Attention(nn.Module):
    """One head of attention, of linear layers."""

    def __init__(self, width):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))

    def forward(self, x):
        scores = torch.softmax(self.query(x) @ self.key(x).transpose(1, 2), -1)
        return x + scores @ self.value(x)


def activation(draw):
    return draw(st.sampled_from(ACTIVATIONS))()


def blocks(draw, width, *, most=2):
    """Return layers on the last axis, and how wide they leave it."""
    found = []
    for _ in range(draw(st.integers(1, most))):
        kind = draw(st.sampled_from(["linear", "norm", "residual"]))
        if kind == "linear":
            wide = draw(st.integers(1, 5))
            found += [nn.Linear(width, wide, bias=draw(st.booleans())), activation(draw)]
            width = wide
        elif kind == "norm":
            found.append(nn.LayerNorm(width, bias=draw(st.booleans())))
        else:
            found.append(Residual(nn.Linear(width, width), draw(st.integers(1, 3))))
    return found, width


def table(draw):
    width = draw(st.integers(1, 6))
    layers, wide = blocks(draw, width, most=3)
    return [*layers, nn.Linear(wide, CLASSES)], torch.randn(ROWS, width)


def places(draw):
    width, length = draw(st.integers(2, 5)), draw(st.integers(1, 9))
    first, wide = blocks(draw, width)
    pool = Pooled(is_last=draw(st.booleans()))
    return [*first, pool, nn.Linear(wide, CLASSES)], torch.randn(ROWS, length, width)


def words(draw):
    codes, width, length = (draw(st.integers(2, 6)) for _ in range(3))
    padding = draw(st.sampled_from([None, 0]))
    first, wide = blocks(draw, width)
    mixed = [Attention(wide)] if draw(st.booleans()) else []
    layers = [nn.Embedding(codes, width, padding_idx=padding), *first, *mixed]
    pool = Pooled(is_last=False)
    return [*layers, pool, nn.Linear(wide, CLASSES)], torch.randint(0, codes, (ROWS, length))


def tokens(draw):
    """Return words without padding, for which Opacus finds a gradient."""
    layers, x = words(draw)
    layers[0].padding_idx = None
    return layers, x


def convolved(draw, convolution, axes):
    groups = draw(st.sampled_from([1, 2]))
    channels, wide = 2 * draw(st.integers(1, 2)), 2 * draw(st.integers(1, 3))
    size, kernel = draw(st.integers(5, 8)), draw(st.integers(1, 3))
    stride, dilation = draw(st.sampled_from([(1, 1), (2, 1), (1, 2)]))
    padding = draw(st.sampled_from(["same", 0, 1] if stride == 1 else ["valid", 0, 1]))
    x = torch.randn(ROWS, channels, *[size] * axes)
    layers = [
        convolution(
            channels, wide, kernel, stride=stride, dilation=dilation, padding=padding,
            groups=groups, bias=draw(st.booleans()),
        ),
        *([nn.GroupNorm(draw(st.sampled_from([1, 2])), wide)] if draw(st.booleans()) else []),
        activation(draw),
        *([convolution(wide, wide, 1)] if draw(st.booleans()) else []),
        nn.Flatten(),
    ]  # fmt: skip
    wide = nn.Sequential(*layers)(x).shape[1]
    return [*layers, nn.Linear(wide, CLASSES)], x


def lines(draw):
    return convolved(draw, nn.Conv1d, 1)


def images(draw):
    return convolved(draw, nn.Conv2d, 2)


class Whole(nn.Module):
    """The outputs of a layer that gives more than them."""

    def __init__(self, inner, *, is_attention):
        super().__init__()
        self.inner, self.is_attention = inner, is_attention

    def forward(self, x):
        return self.inner(x, x, x)[0] if self.is_attention else self.inner(x)[0]


class Placed(nn.Module):
    """Words and their places, which are the same for all records."""

    def __init__(self, codes, length, width):
        super().__init__()
        self.words, self.places = nn.Embedding(codes, width), nn.Embedding(length, width)

    def forward(self, x):
        return self.words(x) + self.places(torch.arange(x.shape[1]))


def recurrent(draw):
    width, length, hidden = (draw(st.integers(2, 5)) for _ in range(3))
    kind, layers = draw(st.sampled_from([nn.LSTM, nn.GRU, nn.RNN])), draw(st.integers(1, 2))
    both = draw(st.booleans())
    inner = kind(
        width, hidden, num_layers=layers, bidirectional=both, bias=draw(st.booleans()),
        batch_first=True,
    )  # fmt: skip
    pool, top = Pooled(is_last=draw(st.booleans())), nn.Linear(hidden * (1 + both), CLASSES)
    return [Whole(inner, is_attention=False), pool, top], torch.randn(ROWS, length, width)


def attention(draw):
    heads, length, codes = (draw(st.integers(1, 5)) for _ in range(3))
    width = 2 * heads
    inner = nn.MultiheadAttention(
        width, heads, bias=draw(st.booleans()), batch_first=True, dropout=0.0
    )
    # ROWS + 1 places: a table as long as the batch cannot be told from one row a record
    length += ROWS
    layers = [Placed(codes + 1, length, width), Whole(inner, is_attention=True)]
    pool = Pooled(is_last=draw(st.booleans()))
    return [*layers, pool, nn.Linear(width, CLASSES)], torch.randint(
        0, codes + 1, (ROWS, length)
    )


def bags(draw):
    codes, width, length = (draw(st.integers(2, 6)) for _ in range(3))
    bag = nn.EmbeddingBag(
        codes, width, mode=draw(st.sampled_from(["mean", "sum"])),
        padding_idx=draw(st.sampled_from([None, 0])),
    )  # fmt: skip
    layers, wide = blocks(draw, width)
    return [bag, *layers, nn.Linear(wide, CLASSES)], torch.randint(0, codes, (ROWS, length))


class Shared(nn.Module):
    """Words by one table, which other layers use too; outputs are its codes."""

    def __init__(self, draw):
        super().__init__()
        codes, width = draw(st.integers(CLASSES, 7)), draw(st.integers(1, 5))
        padding = draw(st.sampled_from([None, 0]))
        self.table = nn.Embedding(codes, width, padding_idx=padding)
        self.inner = nn.Linear(width, width)
        self.head = nn.Linear(width, codes, bias=draw(st.booleans()))
        self.head.weight = self.table.weight
        self.others = nn.ModuleList()
        for kind in draw(st.lists(st.sampled_from(["table", "bag", "linear", "own"]))):
            if kind == "table":
                other = nn.Embedding(codes, width)
            elif kind == "bag":
                other = nn.EmbeddingBag(codes, width, mode="sum")
            else:
                other = nn.Linear(width, codes) if kind == "linear" else Product(codes, width)
            other.weight = self.table.weight
            self.others.append(other)
        self.is_pooled = draw(st.booleans())
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.norms[1].bias = self.norms[0].bias
        self.top = Top(self.head) if draw(st.booleans()) else self.head

    def forward(self, x):
        y = torch.tanh(self.inner(self.norms[0](self.table(x))))
        for other in self.others:
            if isinstance(other, nn.Embedding):
                y = y + other(x.flip(1))
            elif isinstance(other, nn.EmbeddingBag):
                y = y + other(x)[:, None]
        y = self.norms[1](y.mean(1, keepdim=True) if self.is_pooled else y)
        out = self.top(y)
        for other in self.others:
            if not isinstance(other, nn.Embedding | nn.EmbeddingBag):
                out = out + torch.tanh(other(y))
        return out.mean(1)


class Top(nn.Module):
    """A head whose weight has two more names outside of it, as those of BERT have."""

    def __init__(self, head):
        super().__init__()
        self.weight, self.again, self.head = head.weight, head.weight, head

    def forward(self, x):
        return self.head(x) + (x @ (self.weight + self.again).T).square()


class Product(nn.Module):
    """A layer that is none of PyTorch's."""

    def __init__(self, height, width):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(height, width))

    def forward(self, x):
        return x @ self.weight.T


def shared(draw):
    model = Shared(draw)
    length = draw(st.sampled_from([1, 2, 5, 30]))  # short: written out; long: by products
    codes = model.table.num_embeddings
    return [model], torch.randint(0, codes, (ROWS, length))


@st.composite
def networks(draw, family):
    torch.manual_seed(draw(st.integers(0, 2**32 - 1)))
    layers, x = family(draw)
    model = nn.Sequential(*layers).double()
    if len(layers) > 1 and draw(st.booleans()):  # a frozen layer, but not the last
        draw(st.sampled_from(list(model)[:-1])).requires_grad_(requires_grad=False)
    y = torch.randint(0, CLASSES, (ROWS,))
    return model, x.double() if x.is_floating_point() else x, y, draw(st.sampled_from([1, 2]))


def losses(model, x, y):
    return nn.functional.cross_entropy(model(x), y, reduction="none")


def one_by_one(model, x, y, copies):
    """Return the gradient of each record: the mean of its copies."""
    parameters = {n: p for n, p in model.named_parameters() if p.requires_grad}
    found = []
    for start in range(0, len(x), copies):
        rows = slice(start, start + copies)
        mean = losses(model, x[rows], y[rows]).mean()
        gradients = torch.autograd.grad(mean, [*parameters.values()], materialize_grads=True)
        found.append(dict(zip(parameters, gradients, strict=True)))
    return found


def length(gradient):
    return math.sqrt(sum(float(g.square().sum()) for g in gradient.values()))


FAMILIES = [table, places, words, lines, images, recurrent, attention, bags, shared]
#: Networks of which Opacus finds gradients too; 65 of them.
OF_OPACUS = [table, places, lines, images, tokens]
EXAMPLES_OF_OPACUS = 13


def settled(examples):
    return settings(
        max_examples=examples, deadline=None, derandomize=True, database=None,
        suppress_health_check=[HealthCheck.too_slow],
    )  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES)
def test_clipped_sums_of_random_networks_are_those_of_one_record_at_a_time(family):
    @settled(EXAMPLES)
    @given(networks(family))
    def check(drawn):
        model, x, y, copies = drawn
        each = one_by_one(model, x, y, copies)
        lengths = sorted(map(length, each))
        books = RecordGradients(model)
        for norm in (math.inf, (lengths[0] + lengths[-1]) / 2 + 1e-9, lengths[0] / 2 + 1e-9):
            found = books.clipped_sum(losses(model, x, y), norm=norm, copies=copies)
            for name in each[0]:
                wanted = sum(g[name] * min(1, norm / (length(g) or norm)) for g in each)
                got = found.gradients.get(name, torch.zeros_like(wanted))
                assert torch.allclose(got, wanted, rtol=1e-6, atol=1e-9), name

    check()


@pytest.mark.parametrize("family", OF_OPACUS)
def test_both_engines_find_the_same_clipped_sums_of_random_networks(family):
    @settled(EXAMPLES_OF_OPACUS)
    @given(networks(family))
    def check(drawn):
        model, x, y, copies = drawn
        for layer in model:  # without a bias, Opacus' sampler of it ends
            if isinstance(layer, nn.LayerNorm) and layer.bias is None:
                layer.bias = nn.Parameter(torch.zeros_like(layer.weight))
        own = RecordGradients(model)
        whole = own.clipped_sum(losses(model, x, y), norm=math.inf, copies=copies).gradients
        norm = length(whole) / (2 * len(x)) + 1e-9
        first = own.clipped_sum(losses(model, x, y), norm=norm, copies=copies)
        own.close()
        other = OpacusGradients(model)
        second = other.clipped_sum(losses(model, x, y), norm=norm, copies=copies)
        other.close()
        assert first.within.tolist() == second.within.tolist()
        for name, total in second.gradients.items():
            got = first.gradients.get(name, torch.zeros_like(total))
            assert torch.allclose(got, total, rtol=1e-6, atol=1e-9), name

    check()
