"""Sessions of Spark: what may be set, and a session of others that stays as it is."""

import pytest

from tables import SourceError
from tables.spark.session import names_collector, open_session, reserved_settings


class Conf(dict):
    """The settings of a session; those of statements can be changed."""

    def isModifiable(self, name):  # noqa: N802  (Spark's name)
        return name.startswith("spark.sql.") and name != "spark.sql.warehouse.dir"

    def set(self, name, value):
        self[name] = value


class Session:
    def __init__(self, **conf):
        self.conf, self.others = Conf(conf), []

    def newSession(self):  # noqa: N802  (Spark's name)
        self.others.append(Session(**self.conf))
        return self.others[-1]


def test_a_session_of_others_stays_as_it_is_and_another_gives_exact_answers():
    given = Session(**{"spark.sql.ansi.enabled": "false"})
    own = open_session(
        "local[*]", session=given, settings={"spark.sql.shuffle.partitions": "8"}
    )
    assert own in given.others
    assert given.conf == {"spark.sql.ansi.enabled": "false"}
    assert own.conf["spark.sql.ansi.enabled"] == "true"
    assert own.conf["spark.sql.shuffle.partitions"] == "8"


def test_a_setting_that_comes_too_late_is_refused_unless_it_is_made_already():
    given = Session(**{"spark.executor.memory": "8g"})
    open_session("local[*]", session=given, settings={"spark.executor.memory": "8g"})
    for name in ("spark.executor.memory", "spark.executor.cores", "spark.sql.warehouse.dir"):
        with pytest.raises(SourceError, match=f"without the setting '{name}'"):
            open_session("local[*]", session=given, settings={name: "4"})


@pytest.mark.parametrize("said", ["true", None])
def test_what_workers_keep_is_compressed_where_somebody_says_so(said):
    name = "spark.sql.inMemoryColumnarStorage.compressed"
    given = Session(**{} if said is None else {name: said})
    assert open_session("local[*]", session=given).conf[name] == (said or "false")
    if said is None:
        own = open_session("local[*]", session=given, settings={name: "true"})
        assert own.conf[name] == "true"


def test_java_is_told_one_way_to_give_memory_back(tmp_path, monkeypatch):
    pytest.importorskip("pyspark", reason="PySpark is not installed")
    option = "spark.driver.extraJavaOptions"
    for name in ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert not names_collector({option: "-Xss4m"})
    assert names_collector({option: "-XX:+UseSerialGC"})
    assert names_collector({"spark.driver.defaultJavaOptions": "-Xss4m"})
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Xss4m")
    assert not names_collector({})
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-XX:+UseZGC")
    assert names_collector({})
    monkeypatch.delenv("JAVA_TOOL_OPTIONS")
    (tmp_path / "spark-defaults.conf").write_text(f"{option}  -XX:+UseG1GC")
    assert names_collector({})


@pytest.mark.parametrize("name", ["spark.sql.ansi.enabled", "spark.ui.enabled", "spark.master"])
def test_settings_that_decide_answers_or_what_is_shown_are_refused(name):
    assert reserved_settings(["spark.executor.memory", name]) == [name]
    with pytest.raises(SourceError, match="is not to be made"):
        open_session("local[*]", session=Session(), settings={name: "x"})
