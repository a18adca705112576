"""The settings of programs that a benchmark starts beside itself: the same database, and the queues of jobs.py."""

import json
import os

DATABASES = {"default": json.loads(os.environ["TINYSTORE_BENCHMARKS_DATABASE"])}
INSTALLED_APPS = ["tinystore_django", "benchmarks"]
SECRET_KEY = "benchmarks"
USE_TZ = True
