"""Images from folders, arrays and the files of MNIST, and what is told of those refused."""

import gzip
import struct

import numpy as np
import pytest

from dpsgd import TrainingDataError
from dpsgd.files.image_files import ImageFile, read_unlabelled

RNG = np.random.default_rng(1)
IMAGES = RNG.integers(0, 256, (6, 5, 4), dtype=np.uint8)
LABELS = np.array([0, 1, 1, 0, 1, 0])


def idx(path, array):
    head = struct.pack(">BBBB", 0, 0, 8, array.ndim)
    content = head + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


def folder(path, images=IMAGES, labels=LABELS, ending="pgm"):
    for number, (image, label) in enumerate(zip(images, labels, strict=True)):
        place = path / str(label)
        place.mkdir(parents=True, exist_ok=True)
        head = f"P5 {image.shape[1]} {image.shape[0]} 255\n".encode()
        (place / f"{number}.{ending}").write_bytes(head + image.tobytes())
    return path


def source(path, **changes):
    return ImageFile(**{"path": path, "classes": (0, 1), "shape": (5, 4), **changes})


def refused(path, words, **changes):
    with pytest.raises(TrainingDataError) as caught:
        source(path, **changes).read()
    assert words in caught.value.problem
    return str(caught.value)


def test_arrays_and_the_files_of_mnist_are_read_alike(tmp_path):
    np.savez(tmp_path / "a.npz", x=IMAGES, y=LABELS)
    np.savez_compressed(tmp_path / "b.npz", x=IMAGES[..., None], y=LABELS.astype(str))
    for ending in ("", ".gz"):
        idx(tmp_path / f"t-images-idx3-ubyte{ending}", IMAGES)
        idx(tmp_path / f"t-labels-idx1-ubyte{ending}", LABELS.astype(np.uint8))
    for name in ("a.npz", "b.npz", "t-images-idx3-ubyte", "t-images-idx3-ubyte.gz"):
        images, labels = source(tmp_path / name).read()
        assert np.array_equal(images.reshape(IMAGES.shape), IMAGES)
        assert labels == LABELS.tolist()
    labels = tmp_path / "t-labels-idx1-ubyte"
    assert source(tmp_path / "t-images-idx3-ubyte.gz", labels=labels).read()[1] == [
        0, 1, 1, 0, 1, 0,
    ]  # fmt: skip


def test_a_folder_has_a_folder_for_each_class(tmp_path):
    pytest.importorskip("PIL", reason="folders of images need Pillow")
    place = folder(tmp_path / "some")
    (place / "0" / ".hidden").write_text("nothing")
    images, labels = source(place).read()
    order = np.argsort(LABELS, kind="stable")
    assert np.array_equal(images, IMAGES[order])
    assert labels == sorted(LABELS.tolist())
    colours, _ = source(place, shape=(5, 4, 3)).read()
    assert np.array_equal(colours[..., 0], images)
    pixels, names = read_unlabelled(place, shape=(5, 4))
    assert np.array_equal(pixels, images)
    assert names[0] == "0/0.pgm"


def test_a_folder_that_is_not_as_declared_is_named_by_class_and_never_by_file(tmp_path):
    pytest.importorskip("PIL", reason="folders of images need Pillow")
    place = folder(tmp_path / "some")
    refused(place, "a folder '1', which the list", classes=(0, 2))
    refused(place, "Class '2' has no image", classes=(0, 1, 2))
    told = [refused(place, "'0' has an image that is not 4 x 4", shape=(4, 4))]
    secret = place / "1" / "Ada_Lovelace.pgm"
    secret.write_bytes(b"P5 4 5 255\n12")  # cut short
    told.append(refused(place, "Class '1' has an image that cannot be read"))
    secret.write_bytes(b"P5 4 6 255\n" + bytes(24))
    told.append(refused(place, "Class '1' has an image that is not 5 x 4"))
    secret.rename(secret.with_suffix(".txt"))
    told.append(refused(place, "Folder '1' holds files with the ending '.txt'"))
    secret.with_suffix(".txt").unlink()
    from PIL import Image

    Image.fromarray(np.zeros((5, 4), np.uint16)).save(secret.with_suffix(".png"))
    told.append(refused(place, "colours do not have 8 bits"))
    assert "Ada" not in "".join(told)


def test_arrays_that_are_not_as_declared_are_refused_by_their_headers(tmp_path, monkeypatch):
    file = tmp_path / "a.npz"
    np.savez(file, x=IMAGES, y=LABELS)
    refused(file, "shape (5, 4), not (4, 4)", shape=(4, 4))
    refused(file, "labels that the list of classes lacks", classes=(0, 2))
    np.savez(file, x=IMAGES, y=LABELS[:-1])
    refused(file, "as many")
    np.savez(file, x=IMAGES)
    refused(file, "has no array 'y'")
    np.savez(file, x=IMAGES, y=np.array([{}] * 6, dtype=object))
    refused(file, "'y' of 'a.npz' holds object")
    file.write_bytes(file.read_bytes()[:200])
    refused(file, "cannot be read as images")
    refused(tmp_path / "absent.npz", "no file or folder")
    np.savez(file, x=IMAGES, y=LABELS)
    monkeypatch.setattr(np, "load", None)  # what checks reads headers alone
    source(file).check()


def test_damaged_files_of_mnist_are_refused(tmp_path):
    images, labels = tmp_path / "images-idx3", tmp_path / "labels-idx1"
    idx(images, IMAGES)
    refused(images, "The labels of 'images-idx3' are missing")
    idx(labels, LABELS.astype(np.uint8)[:4])
    refused(images, "as many")
    idx(labels, LABELS.astype(np.uint8) + 5)
    refused(images, "labels that the list of classes lacks")
    idx(labels, LABELS.astype(np.uint8))
    whole = images.read_bytes()
    for content in (whole[:-1], whole + b"1", whole[:6], b"", b"\0\0\x0d\3" + whole[4:]):
        images.write_bytes(content)
        refused(images, "cannot be read as images")
    images.with_suffix(".gz").write_bytes(gzip.compress(whole)[:-9])
    refused(images.with_suffix(".gz"), "cannot be read", labels=labels)


def test_rows_of_features_and_images_without_classes_are_read(tmp_path):
    rows = RNG.normal(size=(6, 7)).astype(np.float32)
    np.savez(tmp_path / "f.npz", x=rows, y=LABELS)
    assert np.array_equal(source(tmp_path / "f.npz", shape=(1, 7)).read()[0], rows)
    np.savez(tmp_path / "x.npz", x=IMAGES)
    idx(tmp_path / "x-idx3", IMAGES)
    for name in ("x.npz", "x-idx3"):
        images, names = read_unlabelled(tmp_path / name, shape=(5, 4))
        assert np.array_equal(images, IMAGES)
        assert names == ["0", "1", "2", "3", "4", "5"]
    with pytest.raises(TrainingDataError, match="no file or folder"):
        read_unlabelled(tmp_path / "absent", shape=(5, 4))
