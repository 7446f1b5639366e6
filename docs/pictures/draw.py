"""Draw the pictures of the documentation from the demonstration: `make pictures`.

The way to a release, how the time of suppression grows, and, as Chromium shows them today, the
page of a service and the report of a release, in both languages. Without Chromium the last two
stay as they are.
"""

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import flow
import growth

HERE = Path(__file__).resolve().parent
NAMES = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, NAMES)), None)
CKM = (sys.executable, "-m", "ckm")
LANGUAGES = {"en": "", "fr": "-fr"}


def shot(url: str, name: str, *, height: int = 900, scale: float = 1.0) -> None:
    """Write what a window shows, unless the picture there has the same bytes."""
    window = [
        f"--window-size=1240,{height}",
        f"--force-device-scale-factor={scale}",
        f"--screenshot={name}",
        url,
    ]
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    subprocess.run([*command, *window], check=True, capture_output=True, timeout=300)
    new, old = Path(name).read_bytes(), HERE / name
    if not old.exists() or old.read_bytes() != new:
        old.write_bytes(new)
        print(f"drawn: {name}")


def draw_service(folder: str) -> None:
    """Draw the page of the demonstration's service."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    address = f"http://127.0.0.1:{port}"
    command = [*CKM, "serve", f"{folder}/service.toml", "--port", port, "--quiet"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as server:
        try:
            for _ in range(600):
                try:
                    urllib.request.urlopen(f"{address}/health").read()
                    break
                except OSError:
                    time.sleep(0.5)
            for language, ending in LANGUAGES.items():
                asked = "codelist%5Bgeo%5D=geo.region&codelist%5Bsex%5D=sex&figure=share&of=sex"
                page = f"{address}/?{asked}&lang={language}"
                shot(page, f"page{ending}.png", height=2300, scale=0.7)
        finally:
            server.terminate()


def main() -> None:
    """Draw all pictures."""
    flow.draw_flow()
    growth.draw_growth()
    if BROWSER is None:
        print("no Chromium here: the pictures of pages stay as they are")
        return
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        demo = ["demo", "--persons", "20000", "--out", f"{folder}/demo", "--quiet"]
        subprocess.run([*CKM, *demo], check=True)
        for language, ending in LANGUAGES.items():
            report = Path(folder) / f"demo/out/internal/report-internal.{language}.html"
            # The moment of the run would make another picture each time.
            page = re.sub(r"<span>[^<]*UTC</span>", "", report.read_text(encoding="utf-8"))
            report.write_text(page, encoding="utf-8")
            shot(report.as_uri(), f"report{ending}.png")
        draw_service(f"{folder}/demo")


if __name__ == "__main__":
    main()
