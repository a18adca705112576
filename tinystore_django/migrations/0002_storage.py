"""How PostgreSQL keeps the two tables that change the most. SQLite has nothing to be told."""

from typing import Any

from django.db import migrations

# A job is written three times in its life: the default of a fifth of the table would be 200,000 dead rows beside a
# million that wait. A limited queue's row is written at each claim, and room left in its page keeps it one page. What
# was measured: docs/architecture.
SETTINGS = [
    "alter table tinystore_django_job set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000)",
    "alter table tinystore_django_queue set (fillfactor = 50)",
]


def apply(apps: Any, schema_editor: Any) -> None:
    if schema_editor.connection.vendor == "postgresql":
        for statement in SETTINGS:
            schema_editor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [("tinystore_django", "0001_initial")]

    operations = [migrations.RunPython(apply, migrations.RunPython.noop, elidable=False)]
