"""Features that no private record shaped."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from dpsgd import TrainingDataError
from dpsgd.features.features import deskewed, frozen_features, levelled, pretrained
from dpsgd.features.scattering import scattering_features

SIDE = 32


def spectrum_of_wavelet(*, scale, angle):
    width, waves, turn = 0.8 * 2**scale, 0.75 * math.pi / 2**scale, math.pi * angle / 8
    axis = torch.fft.fftfreq(SIDE, 1 / SIDE).double()
    along = axis[:, None] * math.cos(turn) + axis[None] * math.sin(turn)
    across = axis[None] * math.cos(turn) - axis[:, None] * math.sin(turn)
    bump = torch.exp(-(along**2 + across**2 / 4) / (2 * width**2))
    wave = torch.exp(1j * waves * along)
    wave = bump * (wave - (bump * wave).sum() / bump.sum())
    return torch.fft.fft2(wave / bump.sum())


def by_the_formulas(image):
    """One image, one path at a time, in double precision."""

    def through(plane, spectrum):
        return torch.fft.ifft2(torch.fft.fft2(plane) * spectrum)

    axis = torch.fft.fftfreq(SIDE, 1 / SIDE).double()
    bump = torch.exp(-(axis[:, None] ** 2 + axis[None] ** 2) / (2 * 1.6**2))
    low = torch.fft.fft2(bump / bump.sum())
    coarse_low = 4 * low.reshape(2, 16, 2, 16).mean((0, 2))
    plane = nn.functional.pad(image.double(), (2, 2, 2, 2))
    fine = [through(plane, spectrum_of_wavelet(scale=0, angle=a)).abs() for a in range(8)]
    halves = [
        through(source, spectrum_of_wavelet(scale=1, angle=a)).abs()[::2, ::2]
        for source in (plane, *fine)
        for a in range(8)
    ]
    maps = [through(source, low).real[::4, ::4] for source in (plane, *fine)]
    maps += [
        torch.fft.ifft2(torch.fft.fft2(half) * coarse_low).real[::2, ::2] for half in halves
    ]
    normed = nn.functional.group_norm(torch.stack(maps)[None], 27, eps=1e-6).flatten()
    return normed / normed.norm()


def test_scattering_features_equal_their_formulas_path_by_path():
    images = torch.rand(3, 28, 28, generator=torch.Generator().manual_seed(1))
    found = scattering_features(images, piece=2)
    for row, image in zip(found, images, strict=True):
        assert torch.allclose(row.double(), by_the_formulas(image), rtol=0, atol=1e-6)


def test_scattering_features_are_those_of_each_image_alone():
    images = torch.rand(5, 20, 17, generator=torch.Generator().manual_seed(2))
    alone = torch.cat([scattering_features(image[None]) for image in images])
    assert torch.allclose(scattering_features(images), alone, atol=1e-6)
    assert scattering_features(images[:0]).shape == (0, 5184)
    assert bool(torch.isfinite(scattering_features(torch.zeros(1, 28, 28))).all())


@pytest.mark.parametrize("shape", [(2, 33, 28), (28, 28), (2, 1, 28, 28)])
def test_images_of_another_form_are_refused(shape):
    with pytest.raises(TrainingDataError, match="at most 32 x 32"):
        scattering_features(torch.zeros(shape))


def test_deskewed_images_stand_upright_in_the_middle_each_by_itself():
    images = torch.zeros(3, 28, 28)
    for row in range(8, 20):
        images[0, row, 4 + row // 2 : 7 + row // 2] = 1.0  # a slanted stroke, off the middle
        images[1, row, 12:16] = 1.0
    found = deskewed(images)
    y = torch.arange(28.0)[:, None] - 13.5
    x = torch.arange(28.0)[None] - 13.5
    for image in found[:2]:
        ink = image / image.sum()
        assert float((ink * x).sum().abs()) < 0.1
        assert float((ink * y).sum().abs()) < 0.1
        assert float((ink * x * y).sum().abs()) < 0.2
    assert float((images[0] / images[0].sum() * x * y).sum()) > 4
    assert torch.allclose(found[1], images[1], atol=1e-5)
    assert not found[2].any()
    for image, alone in zip(images, found, strict=True):
        assert torch.allclose(deskewed(image[None])[0], alone, atol=1e-6)


def test_frozen_features_change_nothing_in_the_network():
    norm = nn.BatchNorm1d(6)
    network = nn.Sequential(nn.Linear(4, 6), norm, nn.Tanh()).train()
    norm.eval()
    before = {name: value.clone() for name, value in network.state_dict().items()}
    inputs = torch.randn(9, 4, generator=torch.Generator().manual_seed(2))
    found = frozen_features(network, inputs, piece=2)
    assert torch.allclose(found, frozen_features(network, inputs), atol=1e-6)
    assert torch.allclose(found.norm(dim=1), torch.ones(9))
    assert (network.training, norm.training) == (True, False)
    after = network.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_levelled_features_of_the_public_records_have_level_axes():
    generator = torch.Generator().manual_seed(3)
    scales = torch.tensor([30.0, 3.0, 0.3, 0.0])
    public = torch.randn(500, 4, generator=generator) * scales + 5
    found = levelled(public, public=public, least=0.1)
    assert torch.allclose(found.norm(dim=1), torch.ones(500), atol=1e-5)
    variances = found.var(dim=0)[:2]
    assert float(variances.max() / variances.min()) < 1.2
    one = levelled(public[:1], public=public, least=0.1)
    assert torch.allclose(one, found[:1], atol=1e-5)  # each row by itself
    with pytest.raises(TrainingDataError, match="width"):
        levelled(public, public=public[:, :3])
    with pytest.raises(TrainingDataError, match="at least one"):
        levelled(public, public=public[:0])
    with pytest.raises(TrainingDataError, match="positive"):
        levelled(public, public=public, least=0.0)


def test_a_network_trained_on_public_records_gives_features_for_private_ones():
    generator = torch.Generator().manual_seed(4)
    x = torch.randn(200, 6, generator=generator)
    y = (x[:, 0] > x[:, 1]).long()
    torch.manual_seed(4)
    network = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 2))
    pretrained(network, x[:100], y[:100], epochs=10, learning_rate=0.2)
    assert not network.training
    assert float((network(x[100:]).argmax(1) == y[100:]).float().mean()) > 0.8
    assert frozen_features(network[:-1], x[100:]).shape == (100, 16)
    with pytest.raises(TrainingDataError, match="as many"):
        pretrained(network, x, y[:5])
