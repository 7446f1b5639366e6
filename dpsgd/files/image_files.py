"""Images from folders, arrays and the files of MNIST, each with its class.

What is looked at before anything is paid for are names, headers and shapes. Messages name
files that somebody declared, and folders of classes; the file of one image they do not name.
"""

from __future__ import annotations

import gzip
import math
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from dpsgd.errors import DPSGDError, TrainingDataError
from footing.messages import Message, Name, Shape

#: Files of images that a folder of a class may hold.
SUFFIXES = (".png", ".pgm", ".ppm", ".jpg", ".jpeg")
_MODES = {"1", "L", "LA", "P", "RGB", "RGBA"}
_DAMAGE = (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile, zlib.error, SyntaxError)
_BYTES = 0x08  # unsigned, in the header of an IDX file
_MOST = 1 << 36  # numbers that a file may announce


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageFile:
    """Where images lie, and what was declared of them.

    Parameters
    ----------
    path
        A folder with a folder for each class; an ``.npz`` with arrays ``x`` and ``y``; or an
        IDX file, as MNIST has, ``.gz`` or not.
    labels
        The IDX file of the classes; by default its name is that of the images, with
        ``labels-idx1`` in place of ``images-idx3``.
    classes
        The public list of classes: names of folders, or labels.
    shape
        Height and width, and channels where there are three.
    """

    path: Path
    classes: Sequence[Any]
    shape: tuple[int, ...]
    labels: Path | None = None

    def check(self) -> None:
        """Refuse what is not as declared; names and headers alone are read."""
        if not self.path.exists():
            raise TrainingDataError(
                Message("There is no file or folder {name!r}.", name=Name(self.path.name)),
                hint=Message("relative paths start at the training file's folder"),
            )
        if self.path.is_dir():
            for _, files in self._folders():
                self._sized(files)
        elif self._is_arrays:
            with self._opened() as archive:
                self._require_shapes(*(_header(archive, name)[0] for name in ("x", "y")))
        else:
            images, labels = self._idx_files()
            self._require_shapes(_idx_shape(images), _idx_shape(labels))

    def read(self) -> tuple[NDArray[Any], list[Any]]:
        """Return the images and the class of each, as declared."""
        self.check()
        if self.path.is_dir():
            images, labels = self._read_folders()
        elif self._is_arrays:
            images, labels = self._read_arrays()
        else:
            images, labels = (_read_idx(file) for file in self._idx_files())
        return images, self._classes(labels)

    @property
    def _is_arrays(self) -> bool:
        return self.path.suffix.lower() == ".npz"

    def _classes(self, labels: Any) -> list[Any]:
        places = {str(value): value for value in self.classes}
        found = {str(label) for label in np.unique(labels).tolist()}
        if not found <= set(places):
            raise TrainingDataError(
                Message(
                    "{name!r} holds labels that the list of classes lacks.",
                    name=Name(self.path.name),
                ),
                hint=Message("list every class under [images] classes"),
            )
        return [places[str(label)] for label in labels.tolist()]

    def _require_shapes(self, images: tuple[int, ...], labels: tuple[int, ...]) -> None:
        shape = images[1:]
        ways = {self.shape, (*self.shape, 1)}
        if self.shape[0] == 1 and len(self.shape) == 2:
            ways.add(self.shape[1:])
        if len(images) < 2 or shape not in ways:
            raise TrainingDataError(
                Message(
                    "The images in {name!r} have shape {shape}, not {declared}.",
                    name=Name(self.path.name),
                    shape=Shape(shape),
                    declared=Shape(self.shape),
                ),
                hint=Message("[images] height, width and channels declare it"),
            )
        if len(labels) != 1 or labels[0] != images[0]:
            raise TrainingDataError(
                Message(
                    "Images and labels of {name!r} must be as many.", name=Name(self.path.name)
                )
            )

    # ---------------------------------------------------------------- folders

    def _folders(self) -> Iterator[tuple[Any, list[Path]]]:
        """Yield each class and the files of its images, in the order of their names."""
        names = {str(value): value for value in self.classes}
        there = {
            path.name for path in self.path.iterdir()
            if path.is_dir() and not path.name.startswith(".")
        }  # fmt: skip
        if unknown := sorted(there - set(names)):
            raise TrainingDataError(
                Message(
                    "{folder!r} has a folder {name!r}, which the list of classes lacks.",
                    folder=Name(self.path.name),
                    name=Name(unknown[0]),
                ),
                hint=Message("list every class under [images] classes, or move it away"),
            )
        for name, value in names.items():
            folder = self.path / name
            files = _visible(folder) if name in there else []
            if not files:
                raise TrainingDataError(
                    Message(
                        "Class {name!r} has no image in {folder!r}.",
                        name=Name(name),
                        folder=Name(self.path.name),
                    ),
                    hint=Message("each class has a folder of its name, with an image at least"),
                )
            suffixes = {path.suffix.lower() for path in files}
            if foreign := sorted(suffixes - set(SUFFIXES)):
                raise TrainingDataError(
                    Message(
                        "Folder {name!r} holds files with the ending {ending!r}.",
                        name=Name(name),
                        ending=Name(foreign[0]),
                    ),
                    hint=Message("images end in {suffixes}", suffixes=Name.each(SUFFIXES)),
                )
            yield value, files

    def _sized(self, files: Sequence[Path]) -> None:
        """Refuse images of another size; their headers alone are read."""
        image_module = _pillow()
        height, width = self.shape[:2]
        for file in files:
            try:
                with image_module.open(file) as image:
                    size, mode = image.size, image.mode
            except _DAMAGE:
                raise _unreadable(file) from None
            if size != (width, height):
                raise TrainingDataError(
                    Message(
                        "Class {name!r} has an image that is not {height} x {width}.",
                        name=Name(file.parent.name),
                        height=height,
                        width=width,
                    ),
                    hint=Message("bring all images to one size first: height x width"),
                )
            if mode not in _MODES:
                raise TrainingDataError(
                    Message(
                        "Class {name!r} has an image whose colours do not have 8 bits.",
                        name=Name(file.parent.name),
                    ),
                    hint=Message("convert it to 8 bits of grey, or of red, green and blue"),
                )

    def _read_folders(self) -> tuple[NDArray[Any], NDArray[Any]]:
        classes = [*self._folders()]
        labels = [str(value) for value, files in classes for _ in files]
        return self._pixels([file for _, files in classes for file in files]), np.array(labels)

    def _pixels(self, files: Sequence[Path]) -> NDArray[Any]:
        image_module, mode = _pillow(), "L" if len(self.shape) == 2 else "RGB"
        images = np.empty((len(files), *self.shape), np.uint8)
        for place, file in enumerate(files):
            try:
                with image_module.open(file) as image:
                    images[place] = np.asarray(image.convert(mode))
            except _DAMAGE:
                raise _unreadable(file) from None
        return images

    # ---------------------------------------------------------------- arrays

    def _opened(self) -> zipfile.ZipFile:
        try:
            return zipfile.ZipFile(self.path)
        except _DAMAGE:
            raise _damaged(self.path) from None

    def _read_arrays(self) -> tuple[NDArray[Any], NDArray[Any]]:
        try:
            with np.load(self.path, allow_pickle=False) as arrays:
                return arrays["x"], arrays["y"]
        except (*_DAMAGE, MemoryError):
            raise _damaged(self.path) from None

    # ---------------------------------------------------------------- MNIST

    def _idx_files(self) -> tuple[Path, Path]:
        name = self.path.name
        labels = self.labels or self.path.with_name(name.replace("images-idx3", "labels-idx1"))
        if labels == self.path or not labels.exists():
            raise TrainingDataError(
                Message("The labels of {name!r} are missing.", name=Name(name)),
                hint=Message(
                    "give their IDX file as labels; for folders and .npz files none is needed"
                ),
            )
        return self.path, labels


def read_unlabelled(path: Path, *, shape: tuple[int, ...]) -> tuple[NDArray[Any], list[str]]:
    """Return images without classes, and what to call each: its file, or its number.

    A folder holds the images themselves here, or folders of them.
    """
    source = ImageFile(path=path, classes=(), shape=shape)
    if not path.exists():
        source.check()
    if path.is_dir():
        folders = [path, *(p for p in sorted(path.iterdir()) if p.is_dir())]
        files = [
            f for folder in folders for f in _visible(folder) if f.suffix.lower() in SUFFIXES
        ]
        source._sized(files)  # noqa: SLF001
        images = source._pixels(files)  # noqa: SLF001
        return images, [file.relative_to(path).as_posix() for file in files]
    if path.suffix.lower() == ".npz":
        with source._opened() as archive:  # noqa: SLF001
            size = _header(archive, "x")[0]
        source._require_shapes(size, size[:1])  # noqa: SLF001
        try:
            with np.load(path, allow_pickle=False) as arrays:
                images = arrays["x"]
        except (*_DAMAGE, MemoryError):
            raise _damaged(path) from None
    else:
        size = _idx_shape(path)
        source._require_shapes(size, size[:1])  # noqa: SLF001
        images = _read_idx(path)
    return images, [str(number) for number in range(len(images))]


def _visible(folder: Path) -> list[Path]:
    return sorted(p for p in folder.iterdir() if p.is_file() and not p.name.startswith("."))


def _pillow() -> Any:
    try:
        from PIL import Image
    except ModuleNotFoundError:
        raise DPSGDError(
            Message("Folders of images need the package Pillow, which is not installed."),
            hint=Message("in the project's folder: pip install '.[images]'"),
        ) from None
    return Image


def _header(archive: zipfile.ZipFile, name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return shape and type of an array of an .npz, without its numbers."""
    file = Path(str(archive.filename))
    try:
        with archive.open(f"{name}.npy") as stream:
            version = npy_format.read_magic(stream)
            read = (
                npy_format.read_array_header_1_0
                if version == (1, 0)
                else npy_format.read_array_header_2_0
            )
            shape, _, kind = read(stream)
    except KeyError:
        raise TrainingDataError(
            Message("{file!r} has no array {name!r}.", file=Name(file.name), name=Name(name)),
            hint=Message("x has the images, y their classes: numpy.savez(file, x=…, y=…)"),
        ) from None
    except _DAMAGE:
        raise _damaged(file) from None
    allowed = "buif" if name == "x" else "buiU"
    if kind.kind not in allowed or math.prod(shape) > _MOST:
        raise TrainingDataError(
            Message(
                "Array {name!r} of {file!r} holds {kind}.",
                name=Name(name),
                file=Name(file.name),
                kind=Shape(kind),
            ),
            hint=Message("x holds numbers, y whole numbers or texts"),
        )
    return shape, kind


def _stream(file: Path) -> Any:
    return gzip.open(file) if file.suffix.lower() == ".gz" else file.open("rb")


def _idx_shape(file: Path) -> tuple[int, ...]:
    """Return the shape that the header of an IDX file announces."""
    try:
        with _stream(file) as stream:
            return _read_shape(stream)
    except _DAMAGE:
        raise _damaged(file) from None


def _read_shape(stream: IO[bytes]) -> tuple[int, ...]:
    start = stream.read(4)
    if len(start) < 4 or start[:2] != b"\0\0" or start[2] != _BYTES or not 1 <= start[3] <= 4:
        raise ValueError
    shape = tuple(np.frombuffer(stream.read(4 * start[3]), ">u4").tolist())
    if len(shape) != start[3] or math.prod(shape) > _MOST:
        raise ValueError
    return shape


def _read_idx(file: Path) -> NDArray[Any]:
    try:
        with _stream(file) as stream:
            shape = _read_shape(stream)
            content = stream.read(math.prod(shape) + 1)
        return np.frombuffer(content, np.uint8).reshape(shape)
    except _DAMAGE:
        raise _damaged(file) from None


def _damaged(file: Path) -> TrainingDataError:
    return TrainingDataError(
        Message("{name!r} cannot be read as images.", name=Name(file.name)),
        hint=Message("a folder of a class each, an .npz with x and y, or an IDX file as MNIST"),
    )


def _unreadable(file: Path) -> TrainingDataError:
    return TrainingDataError(
        Message(
            "Class {name!r} has an image that cannot be read.", name=Name(file.parent.name)
        ),
        hint=Message("look for files that are cut short"),
    )
