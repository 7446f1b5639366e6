"""The files for operation: what they start exists, and nothing runs as root."""

import configparser
import json
import os
import shlex
import shutil
import subprocess
import sys
import types
from pathlib import Path

import pytest

from ckm.cli import app
from tests.environments import container
from tests.environments.container import instructions, last
from tests.unit.ckm.service.conftest import write_service

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"


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
    inside = composed["networks"]["inside"]
    assert inside["internal"]
    manual = (ROOT / "docs" / "reference" / "service.md").read_text(encoding="utf-8")
    assert f"`{inside['ipam']['config'][0]['subnet']}`" in manual  # for trusted_proxies
    assert [n for n, s in services.items() if "outside" in s["networks"] or "ports" in s] == [
        "proxy"
    ]
    assert (DEPLOY / services["tables"]["build"]["context"]).resolve() == ROOT
    proxy = (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
    assert f"server tables:{last('EXPOSE')};" in proxy
    assert proxy.count("{") == proxy.count("}")
    health = json.loads(last("HEALTHCHECK").partition("CMD ")[2])
    assert services["tables"]["healthcheck"]["test"] == ["CMD", *health]
    assert services["proxy"]["depends_on"]["tables"]["condition"] == "service_healthy"


def test_what_an_office_puts_beside_these_files_is_in_no_image_and_no_commit():
    kept = (ROOT / ".gitignore").read_text(encoding="utf-8").split()
    for name in ("data", "tls", "pgpass", "postgres.password"):
        assert f"/deploy/{name}" in kept
    assert "deploy" in (ROOT / ".dockerignore").read_text(encoding="utf-8").split()


def test_the_unit_of_systemd_is_hardened():
    unit = configparser.ConfigParser(strict=True)
    unit.optionxform = str
    unit.read(DEPLOY / "ckm.service")
    service = unit["Service"]
    assert service["ExecStart"].endswith("ckm serve service.toml")
    assert service["ProtectSystem"] == "strict"
    assert service["User"] != "root"
    assert service["UMask"] == "0077"


def test_systemd_finds_nothing_wrong_in_its_unit(tmp_path):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    text = (DEPLOY / "ckm.service").read_text(encoding="utf-8")
    unit = tmp_path / "ckm.service"
    unit.write_text(text.replace("/srv/ckm/venv/bin/ckm", "/bin/true"), encoding="utf-8")
    verify = ["systemd-analyze", "verify", "--man=no", unit]
    said = subprocess.run(verify, capture_output=True, text=True, check=False)
    assert "ckm.service" not in said.stderr  # of other units it may say what it likes


@pytest.mark.slow
def test_nginx_finds_nothing_wrong_in_its_file(tmp_path):
    if shutil.which("nginx") is None or shutil.which("openssl") is None:
        pytest.skip("nginx or openssl is not installed")
    pem, key = tmp_path / "tables.pem", tmp_path / "tables.key"
    certify = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
    ]
    made = [*certify, "-nodes", "-subj", "/CN=tables", "-keyout", key, "-out", pem]
    subprocess.run(made, capture_output=True, check=True)
    proxy = (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
    proxy = proxy.replace("/etc/ssl/ckm/", f"{tmp_path}/").replace(
        "tables:8080", "127.0.0.1:8080"
    )
    head = f"pid {tmp_path}/pid;\nerror_log stderr;\nevents {{}}\n"
    (tmp_path / "nginx.conf").write_text(f"{head}http {{\n{proxy}}}\n", encoding="utf-8")
    check = ["nginx", "-t", "-p", tmp_path, "-c", tmp_path / "nginx.conf"]
    said = subprocess.run(check, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
    assert "[warn]" not in said.stderr


def test_nothing_is_mounted_where_no_mounts_of_its_own_are_allowed(tmp_path, monkeypatch):
    refused = types.SimpleNamespace(unshare=lambda *_: -1)
    monkeypatch.setattr(container.ctypes, "CDLL", lambda *_, **__: refused)
    monkeypatch.setattr(container.subprocess, "run", lambda *_, **__: pytest.fail("mounted"))
    with pytest.raises(OSError, match="of its own"):
        container.main(tmp_path, "")


@pytest.mark.parametrize("end", ["1 / 0", "time.sleep(600)"])
def test_what_was_started_ends_with_the_test_that_fails_or_is_killed(end):
    may = ["unshare", "--mount", "--pid", "true"]
    if os.geteuid() or subprocess.run(may, check=False).returncode:
        pytest.skip("only root can give processes a root of their own")
    code = (
        "import subprocess, sys, time; from tests.environments import container\n"
        "def carry_out(*_):\n"
        "    subprocess.Popen(['sleep', '600']); print('up', flush=True); " + end + "\n"
        "container.carry_out = carry_out; sys.exit(container.main(None, ''))"
    )
    run = [sys.executable, "-c", code]
    with subprocess.Popen(
        run, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as test:
        assert test.stdout.readline() == b"up\n"
        if "sleep" in end:
            test.kill()
        test.communicate(timeout=60)  # ends when nobody holds its output any more
    assert test.returncode


@pytest.mark.slow
def test_what_the_container_file_says_makes_a_service_that_answers_and_ends(tmp_path):
    if os.geteuid():
        pytest.skip("only root can give a service a root of its own")
    if subprocess.run(["unshare", "--mount", "--pid", "--net", "true"], check=False).returncode:
        pytest.skip("no mounts, processes and networks of one's own are allowed here")
    if container.python() is None:
        pytest.skip("the Python that the image begins with is not on this machine")
    (data := tmp_path / "data").mkdir()
    write_service(data, persons=500)
    for file in (data, *data.iterdir()):
        os.chown(file, int(last("USER")), -1)
    users = Path("/etc/passwd").read_bytes()
    question = "http://127.0.0.1:8080/tables/jobseekers/data?valueCodes%5Bsex%5D=*"
    run = [sys.executable, "-m", "tests.environments.container", tmp_path, question]
    answer = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=False)
    shutil.rmtree(tmp_path / "root", ignore_errors=True)  # its mounts are gone with it
    shutil.rmtree(tmp_path / "local", ignore_errors=True)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert Path("/etc/passwd").read_bytes() == users  # useradd changed the image's
    found = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    assert found["healthy"]
    assert found["table"]["id"][0] == "sex"
    assert found["user"] == int(last("USER"))
    assert found["written"] == ["/tmp/x", "/data/x"]
    assert found["left"] == 0
