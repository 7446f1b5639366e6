"""A table with a hierarchy, labels, suppressed cells and withheld areas."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import numpy as np
import pytest

from ckm import PublishedTable
from ckm.formats import TableAbout

PATHS = [
    ("Total", "Total"),
    ("01", "Total"),
    ("01", "01001"),
    ("01", "01002"),
    ("02", "Total"),
    ("02", "02001"),
]
SEXES = ["Total", "F", "M"]


def encode(texts):
    known = list(dict.fromkeys(texts))
    return np.array([known.index(text) for text in texts], np.int32), known


@pytest.fixture
def table():
    cells = [(*path, sex) for path in PATHS for sex in SEXES]
    columns = zip(*cells, strict=True)
    counts = np.ma.array(np.arange(18) * 7, mask=np.arange(18) == 4)
    return PublishedTable(
        dimensions={
            name: encode(texts)
            for name, texts in zip(("region", "area", "sex"), columns, strict=True)
        },
        measures={"count": counts, "weighted": np.arange(18) * 7.25},
    )


@pytest.fixture
def about():
    english = TableAbout(
        id="JOBS",
        title="Job seekers by place and sex",
        language="en-GB",
        source="A statistical office",
        contact="office@example.org",
        notes=["Counts are protected by noise.", "Parts need not add up to their total."],
        labels={"geo": "Place", "region": "Region", "sex": "Sex", "count": "Persons"},
        category_labels={
            "region": {"01": "North", "02": "South"},
            "area": {"01001": "Upper town", "01002": "Lower town"},
            "sex": {"F": "Women", "M": "Men", "X": "MARKER of a category that is not shown"},
        },
        unit="persons",
        units={"weighted": "thousands"},
        decimals={"weighted": 1},
        updated=dt.date(2027, 3, 1),
        geography="geo",
        totals={"region": "Total", "area": "Total", "sex": "Total"},
        hierarchies={"geo": ["region", "area"]},
        withheld={"area": ["02002", "02003"]},
        withheld_label="Withheld",
        suppressed_label="not shown",
        dataflow="OFFICE:JOBS(1.2)",
        reliable_from=6,
    )
    french = replace(
        english,
        language="fr",
        title="Demandeurs d'emploi par lieu et sexe",
        source="Un office",
        notes=["Un bruit protège les effectifs.", "Les sommes peuvent différer."],
        labels={"geo": "Lieu", "region": "Région", "sex": "Sexe", "count": "Personnes"},
        category_labels={
            "region": {"01": "Nord", "02": "Sud"},
            "area": {"01001": "Ville haute", "01002": "Ville basse"},
            "sex": {"F": "Femmes", "M": "Hommes", "X": "MARKER of a category, once more"},
        },
        unit="personnes",
        units={"weighted": "milliers"},
        withheld_label="Non publié",
        suppressed_label="non montré",
    )
    return replace(english, translations=[french])


@pytest.fixture
def rows():
    """Return a function that spells a table out, row by row."""

    def spelled(table):
        columns = [[cats[c] for c in codes] for codes, cats in table.dimensions.values()]
        columns += [values.tolist() for values in table.measures.values()]
        return list(zip(*columns, strict=True))

    return spelled
