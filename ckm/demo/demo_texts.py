"""The files of the demonstration: what it says, and what is asked for."""

from importlib.resources import files

_FILES = files("ckm.demo") / "files"

#: By this a folder is known to be a demonstration; the first words of `README`.
MARK = "This folder was made by `ckm demo`."
#: What the folder holds.
README = (_FILES / "README.md").read_text(encoding="utf-8")
#: The service.
SERVICE = (_FILES / "service.toml").read_text(encoding="utf-8")
#: The release job.
JOB = (_FILES / "job.toml").read_text(encoding="utf-8")
#: What the job's noise is compared with.
DESIGNS = (_FILES / "designs.toml").read_text(encoding="utf-8")
