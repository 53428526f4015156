"""Build the documentation: `build.py FOLDER`. Any warning fails it. Reads nothing but this repository."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / ".src")]
sys.dont_write_bytecode = True
os.environ["SOURCE_DATE_EPOCH"] = "0"  # the same sources are the same pages, whatever the day
os.environ["PYTHONHASHSEED"] = "0"


def main(folder: Path) -> int:
    """Write the sources of the pages into FOLDER/source and the pages into FOLDER/html. The exit code of Sphinx."""
    from pages import write
    from sphinx.cmd.build import build_main

    shutil.rmtree(folder, ignore_errors=True)
    source, html = folder / "source", folder / "html"
    write(source)
    options = ["-q", "-W", "-n", "--keep-going", "-b", "html", "-d", str(folder / "cache"), "-c", str(HERE)]
    code = build_main([*options, str(source), str(html)])
    if code == 0:
        print(f"the documentation is in {html / 'index.html'}")
    return code


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
