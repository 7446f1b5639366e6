"""A small service over a made-up register, and a client that asks it without a network."""

from __future__ import annotations

import asyncio
import json

import httpx
import numpy as np
import pyarrow.parquet as pq
import pytest

from ckm.config.service.service import read_service
from ckm.demo.register import job_seekers
from ckm.release.job_inputs import load_ptable, open_engine
from ckm.service.answering.answer import Answerer
from ckm.service.http.app import make_app
from ckm.service.table_service import TableService
from tables import Secret
from tests.strategies import worked_ptable

SECRET = bytes(range(32))

SERVICE = """
schema = 1
[service]
id = "jobseekers"
title = { en = "Job seekers", fr = "Demandeurs d'emploi" }
source = { en = "An office", fr = "Un office" }
contact = "office@example.org"
[data]
path = "people.parquet"
id = "person_id"
weight = "weight"
[keys]
secret = "secret.key"
[ptable]
path = "pt.parquet"
[hierarchies]
geo = ["region", "department", "commune"]
age_tree = { column = "age_group", tree = "ages.csv" }
[categories]
sex = ["F", "M"]
category = ["A", "B", "C", "D", "E"]
[[variable]]
name = "geo"
labels = { en = "Place", fr = "Lieu" }
levels = { region = { en = "Region", fr = "Région" } }
is_area = true
[[variable]]
name = "sex"
labels = { en = "Sex", fr = "Sexe" }
categories = { F = { en = "Women", fr = "Femmes" }, M = { en = "Men", fr = "Hommes" } }
[[variable]]
name = "category"
[[variable]]
name = "age_tree"
[[variable]]
name = "zone_2024"
"""

RULES = """
[rules]
maximum_cells = 5000
"""

AGES = """level,name
@,young
@@,15-24
@@,25-34
@,35-44
@,old
@@,45-54
@@,55-64
@@,65-70
"""


def write_service(folder, *, more=None, persons=6000, seed=3):
    """Write the data and the files of a service; return its file."""
    people = job_seekers(np.random.Generator(np.random.PCG64(seed)), persons=persons).people
    weights = np.random.Generator(np.random.PCG64(seed)).choice([0.0, 1.5, 2.0], persons)
    pq.write_table(people.append_column("weight", [weights]), folder / "people.parquet")
    Secret(SECRET).write(folder / "secret.key")
    worked_ptable().write(folder / "pt.parquet")
    (folder / "ages.csv").write_text(AGES)
    (folder / "service.toml").write_text(SERVICE + (RULES if more is None else more))
    return folder / "service.toml"


def for_filters(service):
    """Let everybody filter, which a file can say only with what it means."""
    return service.changed(access=service.access.changed(filters="public"))


class Web:
    """Asks an application, one request after another."""

    def __init__(self, app, *, address="203.0.113.9"):
        self.app, self.address = app, address

    def ask(self, method, url, **options):
        async def run():
            transport = httpx.ASGITransport(self.app, client=(self.address, 1))
            async with httpx.AsyncClient(transport=transport, base_url="http://it") as web:
                return await web.request(method, url, **options)

        return asyncio.run(run())

    def get(self, url, **options):
        return self.ask("GET", url, **options)

    def post(self, url, **options):
        return self.ask("POST", url, **options)


class Served:
    """A service that is open: its engine, its table service, its client."""

    def __init__(self, path, folder, **changes):
        self.service = for_filters(read_service(path)).changed(**changes)
        self.engine = open_engine(self.service.job, load_ptable(self.service.job))
        self.answerer = Answerer(self.service, self.engine)
        self.table_service = TableService(self.service, self.answerer, folder=folder)
        self.web = Web(make_app(self.table_service))

    def close(self):
        self.table_service.close()
        self.engine.close()


@pytest.fixture(scope="session")
def service_file(tmp_path_factory):
    return write_service(tmp_path_factory.mktemp("service"))


@pytest.fixture(scope="module")
def served(service_file, tmp_path_factory):
    limits = read_service(service_file).limits.changed(requests_per_hour=10**9)
    opened = Served(service_file, tmp_path_factory.mktemp("jobs"), limits=limits)
    yield opened
    opened.close()


@pytest.fixture
def web(served):
    return served.web


@pytest.fixture(scope="module")
def told(service_file, tmp_path_factory):
    """Return a client of a service that publishes its noise."""
    about = read_service(service_file).about.changed(publish_noise=True)
    opened = Served(service_file, tmp_path_factory.mktemp("told"), about=about)
    yield opened.web
    opened.close()


def cells_of(answer):
    """Return category codes → number, from JSON-stat."""
    document = json.loads(answer.content)
    lists = [list(document["dimension"][name]["category"]["index"]) for name in document["id"]]
    grid = np.array(document["value"], object).reshape([len(codes) for codes in lists])
    return {
        tuple(codes[place] for codes, place in zip(lists, index, strict=True)): number
        for index, number in np.ndenumerate(grid)
    }
