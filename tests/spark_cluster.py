"""What runs on a cluster of two workers of its own, with all logs on; prints what it found.

Stores of a cluster stand in for folders of this machine: Hadoop's view of file systems answers
for ``s3a://bucket``. The same Spark serves Spark Connect.
"""

from __future__ import annotations

import json
import os
import sys
from base64 import b64encode
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ckm.engine.engine import Engine
from ckm.engine.key_mixing import mix_key
from ckm.engine.request import TableRequest
from ptable import NoiseSpec, solve
from tables import Secret
from tables.spark import session

DECOY = b"a secret that Spark is told in a text"
SECRET = b"the secret that is planted here"
MASTER = "local-cluster[2,1,1024]"
REQUEST = TableRequest(dimensions=["geo", "sex", "age"], measures=["count", "weighted"])
OPTIONS = {
    "id": "person",
    "weight": "w",
    "secret": Secret(SECRET),
    "ptable": solve(NoiseSpec(max_noise=3, variance=1.5)),
    "hierarchies": {"geo": ["region", "area"]},
}


def plant(folder: Path, port: int) -> None:
    """Let Spark write down all that it can, and answer for stores that are not there."""
    import pyspark

    home = folder / "home"  # workers write below it
    home.mkdir()
    for each in Path(pyspark.__file__).parent.iterdir():
        (home / each.name).symlink_to(each)
    os.environ |= {
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_HOME": str(home),
        "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    view, mounts = "org.apache.hadoop.fs.viewfs.ViewFileSystemOverloadScheme", {}
    for scheme in ("s3a", "hdfs", "abfss"):
        mounts[f"spark.hadoop.fs.{scheme}.impl"] = view
    for name in ("bucket", "name@account.dfs"):
        link = f"spark.hadoop.fs.viewfs.mounttable.{name}.link./data"
        mounts[link] = f"file://{folder}/data"
    (folder / "events").mkdir()
    session._SETTINGS["private"] |= mounts | {
        "spark.eventLog.compress": "false",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": f"file://{folder}/events",
        "spark.log.level": "DEBUG",
        "spark.local.dir": str(folder / "local"),
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(sys.path),
        "spark.executor.memory": "512m",
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
    }
    log = (folder / "driver.log").open("w")
    session.subprocess = SimpleNamespace(DEVNULL=log)


def people(n: int = 1500) -> pa.Table:
    """Draw records."""
    rng = np.random.default_rng(3)
    return pa.table(
        {
            "region": rng.choice(["A", "B b", "C"], n),
            "area": rng.integers(1, 9, n),
            "sex": rng.choice(np.array(["F", "M", None]), n),
            "age": rng.integers(0, 60, n),
            "count": rng.integers(0, 3, n),
            "person": [f"person-{i}" for i in range(n)],
            "w": rng.random(n) * 3,
        }
    )


def rows(table: pa.Table) -> list[tuple[object, ...]]:
    """Return the rows of a table in one order."""
    plain = [
        column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        for column in table.columns
    ]
    return sorted(zip(*(column.to_pylist() for column in plain), strict=True), key=repr)


def spoken(secret: bytes) -> list[bytes]:
    """Return how a file may say some bytes."""
    signed = ", ".join(str(b - 256 if b > 127 else b) for b in secret)
    return [
        secret,
        secret.hex().encode(),
        secret.hex().upper().encode(),
        b64encode(secret)[:-2],
        " ".join(f"{b:02x}" for b in secret).encode(),
        " ".join(f"{b:02X}" for b in secret).encode(),
        signed.encode(),
        repr(secret)[2:-1].encode(),
    ]


def files_with(folder: Path, keys: list[bytes]) -> list[Path]:
    """Find the files that say one of the keys in some way."""
    texts = [text for key in keys for text in spoken(key)]
    files = [p for p in folder.rglob("*") if p.is_file() and not p.is_symlink()]
    found = []
    for path in files:
        with suppress(FileNotFoundError):  # Spark clears up meanwhile
            content = path.read_bytes()
            found += [path] if any(text in content for text in texts) else []
    return found


def main(folder: Path, port: int) -> None:
    """Ask the same of DuckDB, of the cluster, and of its server."""
    plant(folder, port)
    pq.write_to_dataset(people(), folder / "data" / "people", partition_cols=["region"])
    with Engine(folder / "data" / "people", **OPTIONS) as engine:
        wanted = rows(engine.tabulate_all({"": REQUEST})[""].to_arrow())
    largest, right = 0, dict[str, bool]()

    def fetched(frame: Any) -> pa.Table:
        nonlocal largest
        answer = to_arrow[type(frame)](frame)
        largest = max(largest, answer.num_rows)
        return answer

    from pyspark.sql.classic import dataframe as classic
    from pyspark.sql.connect import dataframe as connect

    to_arrow = {kind: kind.toArrow for kind in (classic.DataFrame, connect.DataFrame)}
    for kind in to_arrow:
        kind.toArrow = fetched
    opened = []
    for name, path, master in (
        ("s3", "s3://bucket/data/people", MASTER),
        ("abfss", "abfss://name@account.dfs/data/people", MASTER),
        ("connect", "s3a://bucket/data/people", f"sc://127.0.0.1:{port}"),
    ):
        engine = Engine(path, engine="spark", master=master, **OPTIONS)
        opened.append(engine)
        if name != "abfss":
            right[f"{name} rows"] = engine.write_distributed(
                REQUEST, f"hdfs://bucket/data/out/{name}"
            ) == len(wanted)
            right[name] = rows(pq.read_table(folder / "data" / "out" / name)) == wanted
            right[f"{name} listed"] = len(engine.far_files("hdfs://bucket/data/out")) > 0
            right[f"{name} new"] = engine.far_files("hdfs://bucket/data/nowhere") == {}
        states = engine.far_files()
        right[f"{name} files"] = len(states) == 3
        sizes = {p.stat().st_size for p in (folder / "data" / "people").rglob("*.parquet")}
        right[f"{name} sizes"] = {size for size, *_ in states.values()} == sizes
    found = {"largest answer": largest}
    right["fetched"] = rows(opened[-1].tabulate_all({"": REQUEST})[""].to_arrow()) == wanted
    for engine in opened[::2]:
        source = engine._source
        decoy = f"SELECT count(*) FROM {source.relation} WHERE sex = X'{DECOY.hex()}'"
        source._session.sql(decoy).toArrow()
    whole = Secret(SECRET)
    keys = [SECRET, mix_key(whole), whole.derive("ckm record key v2")[:16]]
    found["leaks"] = [str(path) for path in files_with(folder, keys)]
    decoys = files_with(folder, [DECOY])
    found["decoys"] = sorted({path.relative_to(folder).parts[0] for path in decoys})
    opened[-1]._source._session.stop()
    sys.stdout.write(json.dumps(found | {"right": right, "rows": len(wanted)}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
