"""Carry out deploy/Containerfile in a root of its own, where no builder of images is.

`python -m tests.environments.container FOLDER`, as root: FOLDER/data is what the service gets
as /data. The base image is this machine's /usr and /etc with the Python that FROM names in
/usr/local. What is done is read from the file, from RUN and COPY to HEALTHCHECK and
STOPSIGNAL; only pip is replaced: by uv, which keeps what it fetched.
"""

import ctypes
import fcntl
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from urllib.request import urlopen

from tests.environments.versions import interpreter

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "deploy" / "Containerfile"
NEW_MOUNTS, NEW_PROCESSES, NEW_NETWORK = 0x20000, 0x20000000, 0x40000000
END_WITH_PARENT = 1
ANSWERED_S = 120


def instructions() -> list[tuple[str, str]]:
    """Return the words and the rest of each instruction of the Containerfile."""
    text = re.sub(r"^#.*\n", "", FILE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    lines = re.sub(r"\\\n", " ", text).splitlines()
    return [(line.split(None, 1)[0], line.split(None, 1)[1]) for line in lines if line.strip()]


def last(name: str) -> str:
    """Return the last instruction of a name."""
    return [what for word, what in instructions() if word == name][-1]


def python() -> Path | None:
    """Return the folder of the Python that FROM names, if this machine has one for itself."""
    version = re.search(r"python:(\d+\.\d+)", last("FROM"))
    found = interpreter(version[1]) if version else None
    if found is None:
        return None
    code = "import sys; print(sys.base_prefix)"
    said = subprocess.run([found, "-c", code], capture_output=True, text=True, check=True)
    return None if said.stdout.strip() in {"/usr", "/usr/local"} else Path(said.stdout.strip())


def unshare(kinds: int) -> None:
    """Leave what this machine has, or end: what is mounted next must not be mounted there."""
    if ctypes.CDLL(None, use_errno=True).unshare(kinds):
        raise OSError(ctypes.get_errno(), "no mounts, processes or network of its own")


def mount(what: Path, where: Path, options: str = "bind") -> None:
    """Mount a folder, or a file, in one more place."""
    if not where.exists():
        where.touch() if what.is_file() else where.mkdir(parents=True)
    subprocess.run(["mount", "-o", options, what, where], check=True)


def base_image(root: Path, local: Path) -> None:
    """Put together what the image begins with."""
    left_out = shutil.ignore_patterns("test", "site-packages", "__pycache__", "*.a", "idlelib")
    shutil.copytree(python() or "", local, symlinks=True, ignore=left_out)
    next(local.glob("lib/python3.*")).joinpath("site-packages").mkdir()
    shutil.copytree("/etc", root / "etc", symlinks=True)
    for name in ("bin", "sbin", "lib", "lib64"):
        (root / name).symlink_to(f"usr/{name}")
    mount(Path("/usr"), root / "usr")
    mount(root / "usr", root / "usr", "remount,bind,ro")
    mount(local, root / "usr" / "local")
    mount(Path("/dev"), root / "dev")
    mount(root / "dev", root / "dev", "remount,bind,ro")
    for name in ("proc", "tmp", "data", "var/tmp"):
        (root / name).mkdir(parents=True)
    (root / "tmp").chmod(0o1777)
    subprocess.run(["mount", "-t", "proc", "proc", root / "proc"], check=True)
    enter(root, ["ldconfig"]).wait()


def enter(
    root: Path, command: list[str], *, home: str = "/", user: int = 0
) -> subprocess.Popen[bytes]:
    """Start a command in the image."""

    def within() -> None:
        os.chroot(root)
        os.chdir(home)
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)

    place = {
        "PATH": "/usr/local/bin:/usr/sbin:/usr/bin",
        "UV_CACHE_DIR": "/var/cache/uv",
        "UV_LINK_MODE": "copy",
    }
    kept = {k: v for k, v in os.environ.items() if "SSL" in k or "INDEX" in k}
    return subprocess.Popen(command, env=kept | place, preexec_fn=within)  # noqa: PLW1509


def copy(root: Path, what: str, home: str) -> None:
    """Carry out COPY: of the checkout, or within the image, where both stages are the same."""
    *sources, target = (word for word in what.split() if not word.startswith("--"))
    if what.startswith("--from"):
        assert sources == [target]
        return
    listed = subprocess.run(
        ["git", "ls-files", "-z", *sources], cwd=ROOT, capture_output=True, check=True
    )
    for name in listed.stdout.decode().rstrip("\0").split("\0"):
        to = root / os.path.normpath(f"{Path(home, target, name)}").lstrip("/")
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, to)


def build(root: Path) -> None:
    """Carry out what makes the image."""
    uv, cache = (
        shutil.which("uv", path=f"{Path(sys.executable).parent}"),
        ["uv", "cache", "dir"],
    )
    kept = subprocess.run(
        [sys.executable, "-m", *cache], capture_output=True, text=True, check=True
    )
    mount(Path(uv or ""), root / "usr" / "local" / "bin" / "uv")
    mount(Path(kept.stdout.strip()), root / "var" / "cache" / "uv")
    home = "/"
    for word, what in instructions():
        if word == "WORKDIR":
            home = what
            (root / what.lstrip("/")).mkdir(parents=True, exist_ok=True)
        elif word == "COPY":
            copy(root, what, home)
        elif word == "RUN":
            by_uv = re.sub(
                r"python -m pip install( --no-cache-dir)?", "uv pip install --system", what
            )
            by_uv = by_uv.replace("python -m build", "python -m build --installer uv")
            if enter(root, ["sh", "-ec", by_uv], home=home).wait():
                raise SystemExit(by_uv)


def until(held: Callable[[], bool]) -> bool:
    """Wait until something holds, and tell whether it did."""
    end = time.monotonic() + ANSWERED_S
    while not held() and time.monotonic() < end:
        time.sleep(1)
    return held()


def serve(root: Path, question: str) -> dict[str, object]:
    """Start the image in a network of its own, ask for its health and a table, stop it."""
    unshare(NEW_NETWORK)
    with socket.socket() as up:  # the loopback interface
        fcntl.ioctl(up, 0x8914, struct.pack("16sh", b"lo", 1))
    user, home = int(last("USER")), last("WORKDIR")
    command = json.loads(last("ENTRYPOINT")) + json.loads(last("CMD"))
    check = json.loads(last("HEALTHCHECK").partition("CMD ")[2])
    places = ["/x", "/etc/x", "/usr/x", "/usr/local/x", "/src/x", "/tmp/x", "/data/x"]
    service = enter(root, command, home=home, user=user)
    healthy = until(
        lambda: (
            service.poll() is not None or not enter(root, check, home=home, user=user).wait()
        )
    )
    with urlopen(question) as answer:  # noqa: S310
        table = json.load(answer)
    enter(root, ["touch", *places]).wait()
    service.send_signal(signal.Signals[last("STOPSIGNAL")])
    return {
        "healthy": healthy,
        "table": table,
        "user": (root / "proc" / str(service.pid)).stat().st_uid,
        "written": [place for place in places if (root / place[1:]).exists()],
        "left": service.wait(ANSWERED_S),
    }


def main(folder: Path, question: str) -> int:
    """Do it in a process with which all that it starts and mounts ends, however it ends."""
    unshare(NEW_MOUNTS | NEW_PROCESSES)
    if child := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    ctypes.CDLL(None).prctl(END_WITH_PARENT, signal.SIGKILL)
    carry_out(folder, question)
    return 0


def carry_out(folder: Path, question: str) -> None:
    """Build, make it read-only but for /tmp and /data, and serve."""
    os.umask(0o022)
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    root, local = folder / "root", folder / "local"
    base_image(root, local)
    build(root)
    mount(folder / "data", root / "data")
    mount(root, root, "rbind")
    for place in (root / "usr" / "local", root):
        mount(place, place, "remount,bind,ro")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=1777", "tmp", root / "tmp"], check=True)
    (folder / "found.json").write_text(json.dumps(serve(root, question)), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve(), sys.argv[2]))
