"""``ckm suppress``, from a job file to a folder of true numbers with holes."""

import csv
import itertools
import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from scipy.optimize import linprog

import ckm.methods.suppression.cell_selection
import ckm.methods.suppression.method
import ckm.methods.suppression.secondary.search
from ckm.cli import app
from ckm.config import read_job
from ckm.errors import CheckFailedError, ConfigError
from ckm.methods.suppression import Audit
from ckm.release.files.manifest import METHODS
from ckm.release.suppressed import release_true_numbers

JOB = """
schema = 1
title = "People (made up)"
[data]
path = "people.parquet"
id = "person_id"
[suppression]
threshold = 3
[hierarchies]
geo = ["region", "commune"]
[[table]]
name = "places"
dimensions = ["geo", "sex"]
[[table]]
name = "jobs"
dimensions = ["geo", "job"]
"""
AMOUNTS = """
schema = 1
[data]
path = "people.parquet"
id = "person_id"
[suppression]
threshold = 3
dominance = { n = 2, percent = 80.0 }
p_percent = 10.0
largest_hidden_share = 1.0
[[table]]
name = "income"
dimensions = ["region", "job"]
measures = ["count", "sum:income", "mean:income"]
"""


def people(n=300, seed=7):
    rng = np.random.default_rng(seed)
    region = rng.integers(1, 4, n)
    return {
        "person_id": [f"MARKER-{i}" for i in range(n)],
        "region": [f"R{r}" for r in region],
        "commune": [f"R{r}C{c}" for r, c in zip(region, rng.integers(1, 6, n), strict=True)],
        "sex": rng.choice(["F", "M"], n).tolist(),
        "job": rng.choice(
            [*"abcdefgh"], n, p=[0.3, 0.3, 0.2, 0.1, 0.05, 0.03, 0.01, 0.01]
        ).tolist(),
        "income": np.rint(rng.gamma(0.5, 4000, n)).tolist(),
        "age": rng.integers(0, 90, n).tolist(),
        "w": rng.integers(1, 5, n).astype(float).tolist(),
    }


@pytest.fixture
def folder(tmp_path, monkeypatch):
    # The exact search takes seconds; `test_every_method_can_be_asked_for` asks for it.
    monkeypatch.setattr(ckm.methods.suppression.secondary.search, "_EXACT_CELLS", 0)
    pq.write_table(pa.table(people()), tmp_path / "people.parquet")
    (tmp_path / "job.toml").write_text(JOB)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CKM_SECRET", raising=False)
    return tmp_path


def run(*args, style="text"):
    return CliRunner(env={"CKM_LOG_FORMAT": style}).invoke(app, [str(arg) for arg in args])


def manifest(out, part):
    return json.loads((out / part / "manifest.json").read_text(encoding="utf-8"))


def shown(out, name):
    return pd.read_parquet(out / "public" / f"{name}.parquet")


def audited(out, name):
    return pd.read_csv(out / "internal" / f"audit-{name}.csv")


def counted(frame, columns, value=None):
    """Count or sum records for every combination of categories and totals."""
    found = {}
    for kept in itertools.product([False, True], repeat=len(columns)):
        named = [c for c, k in zip(columns, kept, strict=True) if k]
        groups = frame.groupby(named) if named else [((), frame)]
        for key, part in groups:
            labels = dict(zip(named, key, strict=True))
            place = tuple(labels.get(c, "Total") for c in columns)
            found[place] = len(part) if value is None else part[value].sum()
    return found


@pytest.mark.slow
def test_what_is_not_hidden_is_the_original_number(folder):
    done = run("suppress", "job.toml", "-o", "out")
    assert done.exit_code == 0, done.stderr
    truth = pd.DataFrame(people())
    holes = []
    for name, third in (("places", "sex"), ("jobs", "job")):
        columns = ["region", "commune", third]
        table, counts = shown(folder / "out", name), counted(truth, columns)
        seen = 0
        for row in table.itertuples(index=False):
            place = tuple(row[: len(columns)])
            if pd.isna(row[-1]):
                seen += 1
            else:
                assert row[-1] == counts[place]
                assert not 0 < counts[place] < 3
        assert seen == len(audited(folder / "out", name))
        holes.append(seen)
    assert holes[1] > 10


@pytest.mark.slow
def test_no_unsafe_cell_is_published_and_each_is_kept_wide(folder):
    assert run("suppress", "job.toml", "-o", "out").exit_code == 0
    counts = counted(pd.DataFrame(people()), ["region", "commune", "job"])
    unsafe = {place for place, n in counts.items() if 0 < n < 3 and place[0] != "Total"}
    unsafe = {place for place in unsafe if place[1] == "Total" or place[0] == place[1][:2]}
    table = shown(folder / "out", "jobs")
    hidden = {tuple(row[:3]) for row in table.itertuples(index=False) if pd.isna(row[-1])}
    assert len(unsafe) > 10
    assert unsafe <= hidden
    lines = audited(folder / "out", "jobs")
    assert len(lines) == len(hidden)
    small = lines[lines["status"] == "primary"]
    assert (small["most"] >= 3).all()
    assert (small["least"] >= 1).all()  # zeros are published, and a reader knows it
    assert (lines["least"] <= lines["original"]).all()


@pytest.mark.slow
def test_cells_that_tables_share_are_hidden_in_both_or_in_neither(folder):
    assert run("suppress", "job.toml", "-o", "out").exit_code == 0
    places, jobs = (shown(folder / "out", name) for name in ("places", "jobs"))
    one = places[places["sex"] == "Total"].set_index(["region", "commune"])["count"]
    two = jobs[jobs["job"] == "Total"].set_index(["region", "commune"])["count"]
    pd.testing.assert_series_equal(one.sort_index(), two.sort_index(), check_dtype=False)
    assert len(one) > 15


def test_a_reader_of_the_files_alone_cannot_find_a_small_count(folder):
    """Solve from the published file, with a program that shares no code with ours."""
    (folder / "job.toml").write_text(
        JOB.partition("[hierarchies]")[0]
        + '[[table]]\nname = "jobs"\ndimensions = ["region", "job"]\n'
    )
    assert run("suppress", "job.toml", "-o", "out").exit_code == 0
    table = shown(folder / "out", "jobs")
    cells = {(r, j): n for r, j, n in table.itertuples(index=False)}
    unknown = [place for place, n in cells.items() if pd.isna(n)]
    rows, right = [], []
    for axis in (0, 1):
        for fixed in {place[1 - axis] for place in cells}:
            line = [p for p in cells if p[1 - axis] == fixed]
            sign = {p: 1 if p[axis] == "Total" else -1 for p in line}
            rows.append([sign.get(place, 0) for place in unknown])
            right.append(-sum(s * cells[p] for p, s in sign.items() if not pd.isna(cells[p])))
    counts = counted(pd.DataFrame(people()), ["region", "job"])
    small = [place for place in unknown if 0 < counts[place] < 3]
    assert len(small) >= 3
    for place in small:
        goal = [float(other == place) for other in unknown]
        ends = [
            linprog([sign * g for g in goal], A_eq=rows, b_eq=right, bounds=(1, None)).fun
            for sign in (1, -1)
        ]
        assert ends[0] <= max(counts[place] - 1, 1) + 1e-6
        assert -ends[1] >= 3 - 1e-6


def test_amounts_are_hidden_with_their_counts_and_means(folder):
    (folder / "job.toml").write_text(AMOUNTS)
    done = run("suppress", "job.toml", "-o", "out")
    assert done.exit_code == 0, done.stderr
    table = shown(folder / "out", "income")
    holes = table[["count", "sum_income", "mean_income"]].isna()
    assert holes.any(axis=None)
    assert (holes.all(axis=1) == holes.any(axis=1)).all()
    truth, frame = counted(pd.DataFrame(people()), ["region", "job"], "income"), table.dropna()
    for region, job, count, total, mean in frame.itertuples(index=False):
        assert total == pytest.approx(truth[region, job], rel=1e-12)
        assert mean == pytest.approx(total / count, rel=1e-12)
    told = {m["measure"]: m for m in manifest(folder / "out", "internal")["measures"]}
    assert set(told) == {"count", "sum:income"}
    assert told["sum:income"]["primary"] >= told["count"]["primary"] > 0
    assert {m["hidden"] for m in told.values()} == {int(holes["count"].sum())}


def test_a_dominated_cell_of_many_is_hidden(folder):
    data = people()
    data["job"] = ["a" if i % 2 else "b" for i in range(300)]
    data["income"] = [1.0] * 300
    data["income"][0] = 1e6
    pq.write_table(pa.table(data), "people.parquet")
    (folder / "job.toml").write_text(AMOUNTS)
    assert run("suppress", "job.toml", "-o", "out").exit_code == 0
    lines = audited(folder / "out", "income")
    unsafe = lines[(lines["status"] == "primary") & (lines["measure"] == "sum:income")]
    assert (data["region"][0], "b") in set(zip(unsafe["region"], unsafe["job"], strict=True))
    told = {m["measure"]: m for m in manifest(folder / "out", "internal")["measures"]}
    assert told["count"]["primary"] == 0
    assert told["count"]["hidden"] == told["sum:income"]["hidden"] > 1


@pytest.mark.slow
def test_weighted_counts_are_protected_by_the_number_of_records(folder):
    text = JOB.replace('id = "person_id"', 'id = "person_id"\nweight = "w"')
    text = text.replace('["geo", "job"]', '["geo", "job"]\nmeasures = ["weighted"]')
    (folder / "job.toml").write_text(text)
    assert run("suppress", "job.toml", "-o", "out").exit_code == 0
    lines = audited(folder / "out", "jobs")
    small = lines[(lines["status"] == "primary") & (lines["measure"] == "weighted")]
    assert len(small) > 5
    reach = 0.1 * small["original"]
    assert (small["most"] >= small["original"] + reach - 1e-6).all()
    assert (small["least"] <= small["original"] - reach + 1e-6).all()


def test_means_of_empty_cells_are_none_and_their_counts_zero(folder):
    text = AMOUNTS + 'empty_cells = "grid"\n'
    text += '[categories]\nregion = ["R1", "R2", "R3", "R9"]\njob = ["a", "b", "c", "d", "e",'
    (folder / "job.toml").write_text(text + ' "f", "g", "h"]\n')
    assert run("suppress", "job.toml", "-o", "out").exit_code == 0
    empty = shown(folder / "out", "income").query("region == 'R9'")
    assert len(empty) == 9
    assert (empty["count"] == 0).all()
    assert empty["mean_income"].isna().all()


@pytest.mark.slow
def test_every_format_marks_hidden_cells(folder):
    done = run(
        *("suppress", "job.toml", "-o", "out"),
        *itertools.chain(
            *(("--format", f) for f in ("csv", "json-stat2", "px", "csvw", "xlsx"))
        ),
    )
    assert done.exit_code == 0, done.stderr
    public = folder / "out" / "public"
    with (public / "jobs.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    holes = [row for row in rows if row["count"] == ""]
    assert len(holes) == len(audited(folder / "out", "jobs")) > 10
    stat = json.loads((public / "jobs.json").read_text())
    assert "Suppressed" in json.dumps(stat)
    assert "original ones" in json.dumps(stat)
    assert "noise" not in json.dumps(stat)
    assert {path.suffix for path in public.iterdir()} >= {".px", ".xlsx", ".json"}


@pytest.mark.slow
def test_a_suppression_in_two_languages_has_the_files_of_a_suppression_in_each(folder):
    asked = {"en": '"en"', "fr": '"fr"', "both": '["en", "fr"]'}
    for name, languages in asked.items():
        text = f'{JOB}[output]\nformats = ["px", "csv", "json-stat2"]\nlanguage = {languages}\n'
        text = text.replace(
            'name = "jobs"', 'name = "jobs"\ntitle = { en = "Jobs", fr = "Métiers" }'
        )
        (folder / "job.toml").write_text(text, encoding="utf-8")
        assert run("suppress", "job.toml", "-o", name).exit_code == 0
    both = folder / "both" / "public"
    for table in ("places", "jobs"):
        for language in ("en", "fr"):
            alone = folder / language / "public"
            own = both / f"{table}.{language}.json"
            assert own.read_bytes() == (alone / f"{table}.json").read_bytes()
            assert (both / f"{table}.csv").read_bytes() == (alone / f"{table}.csv").read_bytes()
    text = (both / "jobs.px").read_text(encoding="utf-8")
    assert 'DATASYMBOL2="Suppressed"' in text
    assert 'DATASYMBOL2[fr]="Secret statistique"' in text
    public = manifest(folder / "both", "public")
    listed = {file["file"] for table in public["tables"] for file in table["files"]}
    listed |= {file["file"] for file in public["report"]}
    assert {*listed, "manifest.json"} == {path.name for path in both.iterdir()}
    assert public["tables"][1]["title"] == {"en": "Jobs", "fr": "Métiers"}
    assert run("suppress", "job.toml", "-o", "both", "--force").exit_code == 0


@pytest.mark.slow
def test_the_manifests_say_what_was_done_and_the_public_one_no_more(folder):
    assert run("suppress", "job.toml", "-o", "out").exit_code == 0
    public, internal = (manifest(folder / "out", part) for part in ("public", "internal"))
    assert public["method"] == METHODS["suppression"]
    told = json.dumps(public)
    for word in ("threshold", "primary", "secondary", "sha256-of-input", "MARKER", "exact"):
        assert word not in told
    assert "protected" not in json.dumps(public["tables"])
    assert internal["kind"] == "ckm-suppression"
    assert internal["suppression"]["threshold"] == 3
    (told,) = internal["measures"]
    assert told["audit"] == {
        "without_interval": 0,
        "hidden_in_vain": 0,
        "under_protected": 0,
        "exposed": 0,
    }
    assert told["unproven"] == 0
    assert internal["inputs"][0]["file"] == "people.parquet"
    for path in (folder / "out" / "internal").iterdir():
        assert path.stat().st_mode & 0o777 == 0o600
    assert {p.name for p in (folder / "out" / "internal").iterdir()} == {
        "audit-jobs.csv",
        "audit-places.csv",
        "job.toml",
        "manifest.json",
        "overview.en.html",
        "overview.fr.html",
        "overview.json",
        "pattern.parquet",
    }


@pytest.mark.slow
def test_the_same_job_gives_the_same_files_whatever_the_order_of_records(folder):
    run("suppress", "job.toml", "-o", "one")
    data = pa.table(people())
    order = np.random.default_rng(1).permutation(len(data))
    pq.write_table(data.take(order), "people.parquet")
    run("suppress", "job.toml", "-o", "two", "--threads", "1")
    files = sorted(p.name for p in (folder / "one" / "public").iterdir())
    assert len(files) == 10
    for name in files:
        one, two = (folder / part / "public" / name for part in ("one", "two"))
        assert one.read_bytes() == two.read_bytes()


@pytest.mark.slow
def test_logs_hold_no_number_of_unsafe_cells(folder):
    done = run("suppress", "job.toml", "-o", "out", "-v", style="json")
    (told,) = manifest(folder / "out", "internal")["measures"]
    logged = [json.loads(line) for line in done.stderr.splitlines()]
    assert logged
    values = list(itertools.chain(*(line.values() for line in logged)))
    assert told["primary"] not in values
    assert told["hidden"] not in values
    assert 300 not in values
    assert "MARKER" not in done.output


@pytest.mark.slow
def test_an_earlier_release_stays_unless_forced_and_foreign_files_always(folder):
    assert run("suppress", "job.toml", "-o", "out").exit_code == 0
    before = (folder / "out" / "public" / "jobs.csv").read_bytes()
    done = run("suppress", "job.toml", "-o", "out")
    assert done.exit_code == 2
    assert "--force" in done.stderr
    (folder / "job.toml").write_text(JOB.replace("threshold = 3", "threshold = 5"))
    assert run("suppress", "job.toml", "-o", "out", "--force").exit_code == 0
    assert (folder / "out" / "public" / "jobs.csv").read_bytes() != before
    (folder / "out" / "internal" / "mine.txt").write_text("mine")
    done = run("suppress", "job.toml", "-o", "out", "--force")
    assert done.exit_code == 2
    assert "mine.txt" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["scan", "suppression", "audit", "writing"])
def test_an_interrupted_release_leaves_nothing(folder, stage):
    before = sorted(p.name for p in folder.iterdir())

    def stop(now, _done, _total):
        if now == stage:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        release_true_numbers(read_job("job.toml"), "out", progress=stop)
    assert sorted(p.name for p in folder.iterdir()) == before


def test_a_search_tells_its_time_limit_and_how_far_it_is(firms):
    told = []
    rules = 'p_percent = 10.0, method = "sequential", limit_s = 77.0 }'
    (firms / "job.toml").write_text(FIRMS.replace("p_percent = 10.0 }", rules))
    release_true_numbers(read_job("job.toml"), "out", progress=lambda *step: told.append(step))
    stages = list(dict.fromkeys(stage for stage, _, _ in told))
    wanted = ["suppression", "publish again", "audit"]
    assert [stage for stage in stages if stage in wanted] == wanted
    met = [step for step in told if step[0] == "suppression" and step[2] > 1]
    assert met[-1][1] == met[-1][2] - 1
    for command in (["suppress", "-o", "o2"], ["check"]):
        done = run(command[0], "job.toml", *command[1:])
        assert "until the work of 77 s is done, for each measure" in done.stderr


@pytest.mark.slow
def test_a_search_that_time_ended_says_so(folder, monkeypatch):
    found = ckm.methods.suppression.cell_selection.suppress
    monkeypatch.setattr(
        ckm.methods.suppression.cell_selection,
        "suppress",
        lambda problem, **named: replace(found(problem, **named), ended_by="work"),
    )
    done = run("suppress", "job.toml", "-o", "out")
    assert done.exit_code == 0, done.stderr
    assert "the search for count ended at limit_s" in done.stderr
    measure = manifest(folder / "out", "internal")["measures"][0]
    assert (measure["is_out_of_time"], measure["ended_by"]) == (True, "work")


@pytest.mark.slow
def test_a_dry_run_writes_nothing_and_looks_at_the_columns(folder):
    assert run("suppress", "job.toml", "-o", "out", "--dry-run").exit_code == 0
    assert not (folder / "out").exists()
    (folder / "job.toml").write_text(JOB.replace('"sex"]', '"sexe"]'))
    done = run("suppress", "job.toml", "-o", "out", "--dry-run")
    assert done.exit_code == 2
    assert "did you mean 'sex'?" in done.stderr


@pytest.mark.slow
def test_a_choice_that_fails_its_audit_is_not_published(folder, monkeypatch):
    none = np.zeros(0)
    failed = Audit(
        cells=np.zeros(0, np.int64),
        low=none,
        high=none,
        is_exact=none,
        under_protected=np.array([1]),
        exposed=none,
        n_programs=1,
    )
    monkeypatch.setattr(
        ckm.methods.suppression.method.HiddenCells,
        "audits",
        lambda *_args, **_named: {"count": failed},
    )
    with pytest.raises(CheckFailedError, match=r"1 cells are not protected"):
        release_true_numbers(read_job("job.toml"), "out")
    assert not (folder / "out").exists()


@pytest.mark.slow
def test_without_an_audit_the_proofs_decide(folder):
    (folder / "job.toml").write_text(
        JOB.replace("threshold = 3", "threshold = 3\naudit = false")
    )
    assert run("suppress", "job.toml", "-o", "out").exit_code == 0
    assert manifest(folder / "out", "internal")["measures"][0]["audit"] is None
    assert not list((folder / "out" / "internal").glob("audit-*"))


@pytest.mark.parametrize("method", ["exact", "sequential"])
def test_every_method_can_be_asked_for(folder, method):
    smaller = JOB.replace('dimensions = ["geo", "job"]', 'dimensions = ["region", "job"]')
    asked = f'threshold = 3\nmethod = "{method}"\ncosts = "one"'
    text = smaller.replace("threshold = 3", asked)
    (folder / "job.toml").write_text(text)
    assert run("suppress", "job.toml", "-o", "out").exit_code == 0
    measure = manifest(folder / "out", "internal")["measures"][0]
    assert measure["method"] == method
    assert measure["hidden"] > measure["primary"] > 0


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("threshold = 3", "threshold = 0", ["[suppression]", "threshold must be at least 2"]),
        ("threshold = 3", "threshold = -3", ["threshold must be at least 2"]),
        ("threshold = 3", "", ["threshold is missing"]),
        ("threshold = 3", "threshold = 3\nlimit_s = nan", ["limit_s", "finite"]),
        ("threshold = 3", "threshold = 3\nlimit_s = 0", ["limit_s", "greater than 0"]),
        ("threshold = 3", 'threshold = 3\nmethod = "magic"', ["method must be"]),
        ("threshold = 3", "treshold = 3", ["did you mean 'threshold'?"]),
        ("threshold = 3", "threshold = 3\np_percent = 10.0", ["no table shows any"]),
        (
            "threshold = 3",
            "threshold = 3\n[ptable]\nmax_noise = 3\nvariance = 1.5",
            ["give the noise away"],
        ),
        ("threshold = 3", 'threshold = 3\n[ledger]\npath = "l.db"', ["sealed with the secret"]),
        (
            "threshold = 3",
            "threshold = 3\n[output]\nadditive = true",
            ["additive is for noise"],
        ),
        ("[suppression]\nthreshold = 3\n", "", ["[ptable] is missing"]),
        (
            "threshold = 3",
            "threshold = 3\n[report]\nlimits = { posterior = 0.5 }",
            ["limits is for noise"],
        ),
    ],
)
def test_what_is_wrong_in_the_job_is_told_with_a_way_out(folder, old, new, words):
    assert old in JOB
    (folder / "job.toml").write_text(JOB.replace(old, new))
    done = run("suppress", "job.toml", "-o", "out")
    assert done.exit_code == 2
    for word in words:
        assert word in done.stderr, done.stderr
    assert not (folder / "out").exists()


def test_a_column_under_two_hierarchies_that_do_not_nest_is_linked(folder):
    for name, above in (("one", "PPPQQQQQ"), ("two", "UVVVUVUV")):
        (folder / f"{name}.csv").write_text(
            f"code,parent\n{name},\n"
            + "".join(f"{c},{name}\n" for c in sorted(set(above)))
            + "".join(f"{c},{p}\n" for c, p in zip("abcdefgh", above, strict=True))
        )
    trees = "[hierarchies]\n" + "".join(
        f'{name} = {{ column = "job", tree = "{name}.csv" }}\n' for name in ("one", "two")
    )
    tables = "".join(
        f'[[table]]\nname = "by-{name}"\ndimensions = ["{name}", "region"]\n'
        for name in ("one", "two")
    )
    (folder / "job.toml").write_text(JOB.partition("[hierarchies]")[0] + trees + tables)
    done = run("suppress", "job.toml", "-o", "out")
    assert done.exit_code == 0, done.stderr
    one, two = (shown(folder / "out", f"by-{name}") for name in ("one", "two"))
    both = one.rename(columns={"one": "job"}).merge(
        two.rename(columns={"two": "job"}), on=["job", "region"]
    )
    assert len(both) > 20
    assert both["count_x"].isna().sum() > 3
    assert (both["count_x"].isna() == both["count_y"].isna()).all()
    assert one["count"].isna().sum() > both["count_x"].isna().sum() or len(both) < len(one)


def test_rules_that_contradict_themselves_are_told(folder):
    text = AMOUNTS.replace(
        "p_percent = 10.0", "prior_posterior = { posterior = 50.0, prior = 10.0 }"
    )
    (folder / "job.toml").write_text(text)
    done = run("suppress", "job.toml", "-o", "out")
    assert done.exit_code == 2
    assert "posterior must be at most prior" in done.stderr
    (folder / "job.toml").write_text(AMOUNTS.replace("n = 2", "n = 9"))
    done = run("suppress", "job.toml", "-o", "out")
    assert "dominance" in done.stderr


def test_suppress_refuses_a_job_of_noise(folder):
    (folder / "secret.key").write_text("a secret of sixteen bytes or more")
    noisy = JOB.replace(
        "[suppression]\nthreshold = 3", "[ptable]\nmax_noise = 3\nvariance = 1.5"
    )
    (folder / "job.toml").write_text(noisy + '[keys]\nsecret = "secret.key"\n')
    with pytest.raises(ConfigError, match=r"no \[suppression\]"):
        release_true_numbers(read_job("job.toml"), "out")
    assert not (folder / "out").exists()


def test_negative_amounts_are_refused_with_a_way_out(folder):
    data = people()
    data["income"][3] = -5.0
    pq.write_table(pa.table(data), "people.parquet")
    (folder / "job.toml").write_text(AMOUNTS)
    done = run("suppress", "job.toml", "-o", "out")
    assert done.exit_code == 2
    assert "not negative" in done.stderr
    assert "ckm release" in done.stderr


def test_cells_that_nothing_can_hide_are_told(folder):
    data = {name: values[:2] for name, values in people().items()}
    pq.write_table(pa.table(data), "people.parquet")
    (folder / "job.toml").write_text(
        JOB.partition("[hierarchies]")[0]
        + 'largest_hidden_share = 1.0\n[[table]]\nname = "t"\ndimensions = ["sex"]\n'
    )
    done = run("suppress", "job.toml", "-o", "out")
    # every cell is small: either all of them can be hidden, or a reason is given
    if done.exit_code == 0:
        assert shown(folder / "out", "t")["count"].isna().all()
    else:
        assert done.exit_code == 1
        assert "cannot be protected" in done.stderr


def test_tables_without_unsafe_cells_are_published_whole(folder):
    (folder / "job.toml").write_text(
        JOB.partition("[hierarchies]")[0] + '[[table]]\nname = "t"\ndimensions = ["sex"]\n'
    )
    assert run("suppress", "job.toml", "-o", "out").exit_code == 0
    assert shown(folder / "out", "t")["count"].tolist()[0] == 300


def test_data_without_records_give_tables_of_zeros_or_a_reason(folder):
    schema = pa.table(people()).schema
    pq.write_table(schema.empty_table(), "people.parquet")
    done = run("suppress", "job.toml", "-o", "out")
    assert done.exit_code in {0, 3}, done.stderr
    assert "bug" not in done.stderr


def test_records_that_are_there_twice_are_refused(folder):
    data = people()
    data["person_id"][1] = data["person_id"][0]
    pq.write_table(pa.table(data), "people.parquet")
    done = run("suppress", "job.toml", "-o", "out")
    assert done.exit_code == 1
    assert "MARKER" not in done.stderr


@pytest.mark.slow
def test_hostile_categories_pass_through(folder):
    data = people()
    data["job"] = [f"=CMD|{j}\x1b[2J\n'\"" for j in data["job"]]
    pq.write_table(pa.table(data), "people.parquet")
    done = run("suppress", "job.toml", "-o", "out")
    assert done.exit_code == 0, done.stderr
    assert "\x1b" not in done.output
    assert set(shown(folder / "out", "jobs")["job"]) <= {"Total", *data["job"]}


def test_persons_cannot_be_told_apart(folder):
    (folder / "job.toml").write_text(JOB.replace('"job"]', '"person_id"]'))
    done = run("suppress", "job.toml", "-o", "out")
    assert done.exit_code == 2
    assert "tells persons apart" in done.stderr


def test_equal_filters_link_tables_however_they_are_written(folder):
    table = '[[table]]\nname = "{}"\ndimensions = ["region", "{}"]\nwhere = "{}"\n'
    (folder / "job.toml").write_text(
        JOB.partition("[hierarchies]")[0]
        + table.format("one", "sex", "age >= 60")
        + table.format("two", "job", "age>=60")
    )
    assert run("suppress", "job.toml", "-o", "out").exit_code == 0
    one, two = (shown(folder / "out", name) for name in ("one", "two"))
    totals = [
        table[table[column] == "Total"].set_index("region")["count"]
        for table, column in ((one, "sex"), (two, "job"))
    ]
    pd.testing.assert_series_equal(*totals, check_dtype=False)
    (told,) = manifest(folder / "out", "internal")["measures"]
    assert told["cells"] < len(one) + len(two)


@pytest.mark.slow
def test_a_check_of_the_job_needs_no_secret(folder):
    done = run("check", "job.toml")
    assert done.exit_code == 0, done.stderr
    assert "no record is there twice" in done.stderr
    (folder / "job.toml").write_text(JOB.replace('"sex"]', '"sexe"]'))
    assert run("check", "job.toml").exit_code == 2


def test_the_shell_completes_the_command_and_its_formats():
    from click.shell_completion import ShellComplete

    shell = ShellComplete(app, {}, "ckm", "_CKM_COMPLETE")
    assert [item.value for item in shell.get_completions([], "sup")] == ["suppress"]
    found = shell.get_completions(["suppress", "job.toml", "--format"], "json")
    assert [item.value for item in found] == ["json-stat2"]


def test_the_survey_is_suppressed_from_the_command_line(folder, shared):
    frame = pd.read_parquet(shared / "data" / "acs_national_2019.parquet")
    frame = frame.assign(STATE=frame["PUMA"].str[:2], NUMBER=range(len(frame)))
    frame = frame[frame["STATE"] <= "10"]
    frame.to_parquet("people.parquet")
    (folder / "job.toml").write_text(
        """
schema = 1
data = { path = "people.parquet", id = "NUMBER" }
suppression = { threshold = 5, method = "sequential" }
hierarchies = { geo = ["STATE", "PUMA"] }
[[table]]
name = "survey"
dimensions = ["geo", "RAC1P"]
"""
    )
    done = run("suppress", "job.toml", "-o", "out")
    assert done.exit_code == 0, done.stderr
    table = shown(folder / "out", "survey")
    counts = counted(frame.astype({"RAC1P": str}), ["STATE", "PUMA", "RAC1P"])
    numbers = {tuple(map(str, row[:3])): row[3] for row in table.itertuples(index=False)}
    holes = {place for place, n in numbers.items() if pd.isna(n)}
    small = {place for place, n in counts.items() if n < 5 and place in numbers}
    assert 5 < len(small) < len(holes) < len(numbers)
    assert small <= holes
    assert all(numbers[place] == counts[place] for place in numbers.keys() - holes)


FIRMS = """
schema = 1
data = { path = "firms.parquet", id = "id" }
suppression = { threshold = 3, largest_hidden_share = 1.0, p_percent = 10.0 }
hierarchies = { act = ["sec", "sub"] }
table = [{ name = "t", dimensions = ["act"], measures = ["sum:turnover"] }]
"""


@pytest.fixture
def firms(folder):
    """A sector of one large and one small firm, and sectors of many of the same size."""
    turnover = [1000, 10, 300, 310, 290, 280, 500, 510, 490, 520, 610, 620, 590, 600]
    sub = ["A1", "A2", *["B1"] * 4, *["B2"] * 4, *["C1"] * 4]
    data = {"id": range(14), "sec": [s[0] for s in sub], "sub": sub, "turnover": turnover}
    pq.write_table(pa.table(data), folder / "firms.parquet")
    (folder / "job.toml").write_text(FIRMS)
    return folder


def test_an_ordinary_table_of_turnover_is_protected_by_default_without_a_p_table(firms):
    done = run("suppress", "job.toml", "-o", "out", "-v", style="json")
    assert done.exit_code == 0, done.stderr
    assert "p-table" not in done.stderr
    lines = audited(firms / "out", "t").set_index("sub")
    assert lines.loc["A1", "most"] >= 1100
    assert lines.loc["A2", "most"] - lines.loc["A2", "original"] >= 1
    assert len(lines) < 8  # the grand total is published
    hidden = pd.read_parquet(firms / "out/public/t.parquet")["sum_turnover"].isna().sum()
    front = (firms / "out/public/index.html").read_text(encoding="utf-8")
    assert f"with {9 - hidden} published cells. {hidden} further cells are suppressed." in front
    assert "first rows" not in front or "of 9 rows" in front


def test_what_readers_know_beforehand_bounds_what_can_be_protected(firms):
    for prior, code in (("below = 50.0, above = 80.0", 0), ("below = 5.0, above = 5.0", 1)):
        rules = f"p_percent = 10.0, prior = {{ {prior} }} }}"
        (firms / "job.toml").write_text(FIRMS.replace("p_percent = 10.0 }", rules))
        done = run("suppress", "job.toml", "-o", f"out{code}")
        assert done.exit_code == code, done.stderr
    assert "A1" not in done.stderr
    assert '"sec=A, sub=A1"' in (firms / "out1.refused.csv").read_text()
    assert "prior 2 times as wide would do" in done.stderr
    lines = audited(firms / "out0", "t")
    assert (lines["least"] >= 0.5 * lines["original"] - 1e-6).all()
    assert (lines["most"] <= 1.8 * lines["original"] + 1e-6).all()


def test_weights_below_one_are_named_and_nothing_is_written(firms):
    data = pq.read_table("firms.parquet").append_column("w", pa.array([0.5] * 14))
    pq.write_table(data, "firms.parquet")
    (firms / "job.toml").write_text(FIRMS.replace('id = "id"', 'id = "id", weight = "w"'))
    done = run("suppress", "job.toml", "-o", "out")
    assert done.exit_code == 2
    assert "weights of 1 or more" in done.stderr
    assert not (firms / "out").exists()


@pytest.mark.parametrize(
    "rules", ["threshold = 3", "p_percent = 10.0", "threshold = 2, prior = {}"]
)
def test_weights_below_one_are_named_by_every_rule_of_amounts(firms, rules):
    rules = rules.format("{ below = 50.0, above = 50.0 }")
    data = pq.read_table("firms.parquet").append_column("w", pa.array([1.0] * 13 + [0.5]))
    pq.write_table(data, "firms.parquet")
    text = FIRMS.replace("threshold = 3, p_percent = 10.0", rules)
    (firms / "job.toml").write_text(text.replace('id = "id"', 'id = "id", weight = "w"'))
    done = run("suppress", "job.toml", "-o", "out")
    assert done.exit_code == 2
    assert "weights of 1 or more" in done.stderr
    assert not (firms / "out").exists()


@pytest.mark.parametrize(
    ("tree", "said"),
    [
        ("A1,X\nA1,Y\nA2,X\nX,\nY,\n", "appears twice"),
        ("A1,X\nA2,X\nX,Y\nY,X\n", "'X' is its own ancestor"),
        ("A1,X\nA2,Z\nX,\n", "'Z'"),
    ],
)
def test_trees_that_contradict_themselves_are_named_and_nothing_is_written(firms, tree, said):
    codes = "B1,X\nB2,X\nC1,X\n"
    (firms / "tree.csv").write_text(f"code,parent\n{tree}{codes}")
    text = FIRMS.replace('act = ["sec", "sub"]', 'sub = "tree.csv"').replace(
        '["act"]', '["sub"]'
    )
    (firms / "job.toml").write_text(text)
    done = run("suppress", "job.toml", "-o", "out")
    assert done.exit_code == 2
    assert re.search(said, done.stderr), done.stderr
    assert not (firms / "out").exists()


def test_totals_that_are_not_the_sum_of_their_parts_are_named_and_nothing_is_written(firms):
    rows = [("x", 3, 30), ("y", 4, 50), ("Total", 7, 81)]
    columns = dict(
        zip(("sub", "n", "turnover"), map(list, zip(*rows, strict=True)), strict=True)
    )
    pq.write_table(pa.table(columns), "firms.parquet")
    text = FIRMS.replace(
        'id = "id"', 'cells = ["sub"], count = "n", amounts = { turnover = { n = "n" } }'
    )
    text = text.replace("hierarchies", "# ").replace('["act"]', '["sub"]')
    (firms / "job.toml").write_text(text.replace(", p_percent = 10.0", ", coalition = 0"))
    done = run("suppress", "job.toml", "-o", "out")
    assert done.exit_code == 3
    assert "'turnover'" in done.stderr
    assert "sub" in done.stderr
    assert not (firms / "out").exists()


def test_a_contributor_does_not_attack_his_own_cell_of_another_table(firms):
    """Who gave 232 is alone in one table, and one of two in the other."""
    data = {"id": range(19), "g": [*"2200122122222220021"], "a": [*"2120200202122022201"]}
    data["s"] = [*"2201222020222221102"]
    data["turnover"] = [5, 41, 6, 2, 10, 3, 42, 21, 39, 23, 13, 21, 79, 16, 8, 6, 16, 8, 232]
    pq.write_table(pa.table(data), "firms.parquet")
    tables = ", ".join(
        f'{{ name = "t{k}", dimensions = ["g", "{k}"], measures = ["sum:turnover"] }}'
        for k in "as"
    )
    text = FIRMS.partition("hierarchies")[0].replace("}\nsupp", " }\nsupp")
    rules = text.replace("p_percent = 10.0", "p_percent = 10.0, coalition = 1")
    (firms / "job.toml").write_text(f"{rules}table = [{tables}]\n")
    done = run("suppress", "job.toml", "-o", "out")
    assert done.exit_code == 0, done.stderr
