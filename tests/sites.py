"""A small project of its own in a folder, and what Django's commands say of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import tinystore_django

ROOT = Path(tinystore_django.__file__).parent.parent
APPS = '"tinystore_django", "shop"'
SETTINGS = """
SECRET_KEY = "x"
INSTALLED_APPS = [{apps}]
DATABASES = {{"default": {{"ENGINE": "django.db.backends.sqlite3", "NAME": "db.sqlite3"}}}}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
ROOT_URLCONF = "shop.urls"
USE_TZ = True
"""


def django(folder: Path, command: str, apps: str = APPS, **files: str) -> subprocess.CompletedProcess[str]:
    """Runs a command in a project with these files, and gives how it ended and what it said."""
    sources = {"mysite/__init__": "", "mysite/settings": SETTINGS.format(apps=apps), "shop/__init__": ""}
    for name, source in ({"shop/urls": "urlpatterns = []"} | sources | files).items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / f"{name}.py").write_text(source)
    paths = os.pathsep.join((str(folder), str(ROOT)))
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "mysite.settings",
        "PYTHONPATH": paths,
        # A file that is written again within a second, as long as before, would be taken for the one compiled before.
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    asked = [sys.executable, "-m", "django", *command.split()]
    return subprocess.run(asked, env=environment, cwd=folder, capture_output=True, text=True, check=False)
