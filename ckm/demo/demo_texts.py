"""The files of the demonstration: what it says, and what is asked for."""

__all__ = ["DESIGNS", "JOB", "MARK", "README", "SERVICE"]

#: By this a folder is known to be a demonstration.
MARK = "This folder was made by `ckm demo`."

#: What the folder holds.
README = f"""# Demonstration

{MARK}

| file | what it is |
|---|---|
| `register.parquet` | a made-up register of job seekers; nobody in it exists |
| `places.csv`, `zones.csv` | the places and the priority zones that there are |
| `job.toml` | which tables to release, and how they are protected |
| `designs.toml` | other ways to protect them |
| `service.toml` | the same people for tables on request |
| `secret.key` | a secret made for this demonstration, **never to be used for real data**: \
anybody can make it again |
| `out/public/` | the released tables, their report and manifest: all that may be published |
| `out/internal/` | what an office keeps: the job, the p-table, the full report and manifest |
| `comparison/` | the ways to protect the tables compared, risk and utility; to be kept inside |

Try next:

    ckm check job.toml
    ckm ptable show out/internal/pt.parquet
    ckm compare job.toml designs.toml
    ckm release job.toml -o again/
    ckm serve service.toml

`ckm release job.toml -o again/` writes the same bytes to `again/public/` as lie in
`out/public/`. `ckm serve service.toml` opens a page at http://127.0.0.1:8080 (it needs
the extra `web`), and its numbers are those of the released tables.
"""

#: The service.
SERVICE = """\
# Tables on request, for people and programs. Paths start at the folder of this file.
schema = 1

[service]
id = "jobseekers"
title = { en = "Job seekers (made up)", fr = "Registre de chômage (fictif)" }
description = { en = "Nobody in it exists.", fr = "Toutes ces personnes sont fictives." }
unit = { en = "persons", fr = "personnes" }

[data]
path = "register.parquet"
id = "person_id"

[keys]
secret = "secret.key"          # FOR THIS DEMONSTRATION ONLY. For real data: ckm keys secret

[ptable]                       # as in job.toml: then both publish the same numbers
max_noise = 8
variance = 6.5
small = 4

[hierarchies]
geo = ["region", "department", "commune"]

[categories]
geo = "places.csv"
zone_2024 = "zones.csv"
sex = ["F", "M"]
category = ["A", "B", "C", "D", "E"]
age_group = ["15-24", "25-34", "35-44", "45-54", "55-64", "65-70"]

[[variable]]
name = "geo"
labels = { en = "Place", fr = "Lieu" }
is_area = true

[variable.levels]
region = { en = "Region", fr = "Région" }
department = { en = "Department", fr = "Département" }
commune = { en = "Municipality", fr = "Commune" }

[[variable]]
name = "sex"
labels = { en = "Sex", fr = "Sexe" }
categories = { F = { en = "Women", fr = "Femmes" }, M = { en = "Men", fr = "Hommes" } }

[[variable]]
name = "age_group"
labels = { en = "Age", fr = "Âge" }

[[variable]]
name = "category"
labels = { en = "Category", fr = "Catégorie" }

[[variable]]
name = "zone_2024"
labels = { en = "Priority zone", fr = "Zone prioritaire" }

[rules]
small_areas = ["commune"]      # fewer variables where they are asked for

[access]
tokens = "tokens.json"         # made by: ckm token add
filters = "officer"            # who may filter can reconstruct the true counts: docs/service.md

# [ledger]                     # remembers what was published, and refuses tables that differ
# path = "ledger.db"           # from it by a person or two; job.toml has to name it as well,
# official = ["job.toml"]      # as its tables are recorded before any caller's
"""

#: The release job.
JOB = """\
# A release job. Paths start at the folder of this file.
schema = 1
title = "Job seekers (made up)"

[data]
path = "register.parquet"
id = "person_id"               # a stable identifier: the same person, the same key

[keys]
secret = "secret.key"          # FOR THIS DEMONSTRATION ONLY. For real data: ckm keys secret

[ptable]
max_noise = 8                  # no published count is further than 8 from the truth
variance = 6.5                 # how much noise there is
small = 4                      # confidentiality threshold 5: no published count is 1, 2, 3 or 4

[hierarchies]
geo = ["region", "department", "commune"]      # from broad to fine
territory = ["region", "department"]

[categories]                   # which categories may occur at all, so that zeros are zeros
geo = "places.csv"
territory = "places.csv"
zone_2015 = "zones.csv"
zone_2024 = "zones.csv"
sex = ["F", "M"]
category = ["A", "B", "C", "D", "E"]
age_group = ["15-24", "25-34", "35-44", "45-54", "55-64", "65-70"]

[report]
id = "demo"
sensitive = 4                  # counts of 1 to 4 are sensitive
designs = "designs.toml"       # other ways to protect these tables, compared in the report

[[table]]
name = "jobseekers"
title = "Job seekers by place, sex and category"
dimensions = ["geo", "sex", "category"]

[[table]]
name = "ages"
title = "Job seekers by place, age and sex"
dimensions = ["geo", "age_group", "sex"]

# Two vintages of the boundaries of priority zones. Exact counts would tell, by subtraction,
# what the few people are who live between an old and a new boundary.
[[table]]
name = "zones_2015"
title = "Job seekers by priority zone, boundaries of 2015"
dimensions = ["zone_2015", "sex", "category", "age_group"]

[[table]]
name = "zones_2024"
title = "Job seekers by priority zone, boundaries of 2024"
dimensions = ["zone_2024", "sex", "category", "age_group"]

[[table]]
name = "departments"
title = "Job seekers by department, category, age and sex"
dimensions = ["territory", "category", "age_group", "sex"]

[[table]]
name = "must_search"
title = "Job seekers who must look for work, by place, age and sex"
dimensions = ["geo", "age_group", "sex"]
where = "category in ('A', 'B', 'C')"
"""

#: What the job's noise is compared with.
DESIGNS = """\
# Designs to compare on the tables of job.toml: ckm compare job.toml designs.toml

[designs."rounding to 5"]
mechanism = "rounding"
base = 5

[designs."rounding to 10"]
mechanism = "rounding"
base = 10

[designs."random rounding to 3"]
mechanism = "random-rounding"
base = 3

[designs."random rounding to 5"]
mechanism = "random-rounding"
base = 5

[designs."random rounding to 10"]
mechanism = "random-rounding"
base = 10

# Cell key method: largest noise D, variance V, and no published count in 1..js.
# One of these has no p-table; the comparison says why.

[designs."D=5 V=2 js=0"]
max_noise = 5
variance = 2.0

[designs."D=5 V=3 js=0"]
max_noise = 5
variance = 3.0

[designs."D=5 V=3 js=2"]
max_noise = 5
variance = 3.0
small = 2

[designs."D=5 V=3 js=4"]
max_noise = 5
variance = 3.0
small = 4

[designs."D=8 V=6.5 js=0"]
max_noise = 8
variance = 6.5

[designs."D=8 V=6.5 js=2"]
max_noise = 8
variance = 6.5
small = 2

[designs."D=8 V=6.5 js=4"]
max_noise = 8
variance = 6.5
small = 4

[designs."D=10 V=10 js=0"]
max_noise = 10
variance = 10.0

[designs."D=10 V=10 js=2"]
max_noise = 10
variance = 10.0
small = 2

[designs."D=10 V=10 js=4"]
max_noise = 10
variance = 10.0
small = 4
"""
