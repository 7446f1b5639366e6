"""The files for operation: what they start exists, and nothing runs as root."""

import configparser
import json
import re
import shlex
from pathlib import Path

import pytest

from ckm.cli import app

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"


def instructions():
    text = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
    lines = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)).splitlines()
    return [tuple(line.split(None, 1)) for line in lines if line.strip()]


def last(name):
    return [what for word, what in instructions() if word == name][-1]


def test_the_image_runs_as_nobody_in_particular_and_serves():
    known = {
        "FROM", "WORKDIR", "COPY", "RUN", "USER", "VOLUME", "EXPOSE", "STOPSIGNAL",
        "HEALTHCHECK", "ENTRYPOINT", "CMD",
    }  # fmt: skip
    assert {word for word, _ in instructions()} <= known
    user = last("USER")
    assert int(user) >= 1000
    assert f"--uid {user}" in " ".join(what for word, what in instructions() if word == "RUN")
    words = json.loads(last("CMD"))
    serve = app.get_command(None, words[0])
    assert (
        serve.make_context("serve", [*words[1:]], resilient_parsing=True).params["port"] == 8080
    )
    check = json.loads(last("HEALTHCHECK").partition("CMD ")[2])
    compile(check[2], "check", "exec")
    assert "8080/health" in check[2]
    for word, what in instructions():
        if word == "COPY" and not what.startswith("--from"):
            assert all((ROOT / source).exists() for source in shlex.split(what)[:-1])


def test_what_is_composed_is_closed_but_for_the_proxy():
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    composed = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    services = composed["services"]
    assert services["tables"]["read_only"]
    assert services["tables"]["user"] == last("USER")
    assert composed["networks"]["inside"]["internal"]
    assert [n for n, s in services.items() if "outside" in s["networks"] or "ports" in s] == [
        "proxy"
    ]
    assert (DEPLOY / services["tables"]["build"]["context"]).resolve() == ROOT
    proxy = (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
    assert f"server tables:{last('EXPOSE')};" in proxy
    assert proxy.count("{") == proxy.count("}")


def test_the_unit_of_systemd_is_hardened():
    unit = configparser.ConfigParser(strict=True)
    unit.optionxform = str
    unit.read(DEPLOY / "ckm.service")
    service = unit["Service"]
    assert service["ExecStart"].endswith("ckm serve service.toml")
    assert service["ProtectSystem"] == "strict"
    assert service["User"] != "root"
    assert service["UMask"] == "0077"
