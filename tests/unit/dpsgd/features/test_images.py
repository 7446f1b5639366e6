"""The form of images: what it refuses, and what the network reads."""

import numpy as np
import pytest
import torch

from dpsgd import DPClassifier, Plan, PlanError, TrainingDataError, read_model
from dpsgd.features.images import ImageForm
from dpsgd.features.strokes import stroke_images

RNG = np.random.default_rng(2)


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ({"channels": 2}, "1 channel"),
        ({"factor": 41}, "factor"),
        ({"network": "vgg"}, "known: convolutions"),
        ({"height": 40, "width": 60}, "factor = 2"),
        ({"network": "features", "factor": 2}, "as they are"),
        ({"network": "convolutions", "is_levelled": True}, "scattering features"),
        ({"height": 0}, "height"),
    ],
)
def test_a_form_that_cannot_be_is_refused(entries, words):
    with pytest.raises(PlanError) as caught:
        ImageForm(**{"height": 28, "width": 28, **entries})
    assert words in str(caught.value)


def test_pixels_become_numbers_from_0_to_1_of_the_form_declared():
    form = ImageForm(height=6, width=4, network="convolutions")
    whole = RNG.integers(0, 256, (3, 6, 4), dtype=np.uint8)
    assert torch.allclose(form.prepared(whole)[:, 0], torch.from_numpy(whole / 255).float())
    beyond = np.array([[[-5.0, 0.5], [2.0, np.nan]]])
    found = ImageForm(height=2, width=2, network="convolutions").prepared(beyond)[0, 0]
    assert torch.equal(found.nan_to_num(9.0), torch.tensor([[0.0, 0.5], [1.0, 9.0]]))
    halved = ImageForm(height=6, width=4, network="convolutions", factor=2)
    assert halved.prepared(whole)[0, 0, 0, 0] == pytest.approx(whole[0, :2, :2].mean() / 255)
    for wrong in (whole[:, :5], whole[0, 0], np.full((2, 6, 4), "a")):
        with pytest.raises(TrainingDataError, match="shape"):
            form.prepared(wrong)


def test_colours_are_planes_for_convolutions_and_grey_for_wavelets():
    colours = RNG.integers(0, 256, (2, 16, 18, 3), dtype=np.uint8)
    planes = ImageForm(height=16, width=18, channels=3, network="convolutions")
    assert planes.prepared(colours).shape == (2, *planes.input_shape) == (2, 3, 16, 18)
    assert planes.build(3, 5, hidden=[4])(planes.prepared(colours)).shape == (2, 5)
    grey = ImageForm(height=16, width=18)
    white = np.repeat(RNG.integers(0, 256, (2, 16, 18, 1), dtype=np.uint8), 3, axis=3)
    both = ImageForm(height=16, width=18, channels=3).prepared(white)
    assert torch.allclose(both, grey.prepared(white[..., 0]), atol=1e-4)
    assert torch.allclose(both.norm(dim=1), torch.full((2,), 10.0))


def test_nothing_of_one_image_depends_on_another():
    images = RNG.integers(0, 256, (6, 12, 12), dtype=np.uint8)
    for entries in ({"is_deskewed": True}, {"network": "features"}):
        form = ImageForm(height=12, width=12, **entries)
        alone = torch.cat([form.prepared(images[n : n + 1]) for n in range(6)])
        assert torch.allclose(form.prepared(images), alone, atol=1e-4)


def test_images_too_small_for_convolutions_are_refused():
    form = ImageForm(height=26, width=13, network="convolutions")
    with pytest.raises(PlanError, match="too small"):
        form.build(1, 2)
    with pytest.raises(PlanError, match="one hidden layer"):
        ImageForm(height=28, width=28, network="convolutions").build(1, 2, hidden=[3, 4])


def test_a_model_of_images_is_kept_with_its_form(tmp_path):
    images = RNG.integers(0, 256, (40, 16, 14), dtype=np.uint8)
    plan = Plan.for_noise(8.0, delta=1e-3, dataset_size=40, batch_size=40, steps=2, seed=1)
    form = ImageForm(height=16, width=14, network="convolutions")
    model = DPClassifier(plan, images=form, classes=("a", "b"), hidden=[5])
    model.fit(images, ["a", "b"] * 20).save(tmp_path / "m.safetensors")
    again = read_model(tmp_path / "m.safetensors")
    assert ImageForm.of(again.images) == form
    assert np.array_equal(again.predict_proba(images), model.predict_proba(images))
    with pytest.raises(PlanError, match="nothing unknown"):
        DPClassifier(plan, images={"height": 3}, classes="ab").fit(images, ["a"] * 40)


def test_made_up_strokes_are_the_same_for_a_seed_and_fill_their_box():
    images = stroke_images(300, side=20, seed=3)
    assert torch.equal(images, stroke_images(300, side=20, seed=3))
    assert not torch.equal(images, stroke_images(300, side=20, seed=4))
    assert images.shape == (300, 20, 20)
    assert bool(((images >= 0) & (images <= 1)).all())
    ink = images > 0.1
    assert not bool(ink[:, 0].any() | ink[:, :, -1].any())
    high = torch.maximum(ink.any(2).sum(1), ink.any(1).sum(1))
    assert int(high.min()) >= 9
    with pytest.raises(TrainingDataError, match="number"):
        stroke_images(0)
