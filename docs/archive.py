"""Pack the built pages into one file per version: `make docs-archive`.

`python docs/archive.py SITE FOLDER` packs the folder SITE that Sphinx made into
FOLDER/ckm-engine-docs-VERSION.zip, which `ckm docs` opens. The same pages give the same bytes.
"""

import json
import sys
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from footing.version import engine_version

#: What Sphinx needs to build again, and no reader.
_LEFT_OUT = (".doctrees", ".buildinfo", "objects.inv", "_sources")
_TIME = (1980, 1, 1, 0, 0, 0)


def pack(site: Path, folder: Path) -> Path:
    """Write the archive; return it."""
    version = engine_version()
    target = folder / f"ckm-engine-docs-{version}.zip"
    folder.mkdir(parents=True, exist_ok=True)
    files = {
        path.relative_to(site).as_posix(): path.read_bytes()
        for path in sorted(site.rglob("*"))
        if path.is_file() and path.relative_to(site).parts[0] not in _LEFT_OUT
    }
    files["ckm-docs.json"] = json.dumps({"version": version}).encode()
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, date_time=_TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o100644 << 16
            archive.writestr(entry, content)
    return target


if __name__ == "__main__":
    print(pack(Path(sys.argv[1]), Path(sys.argv[2])))
