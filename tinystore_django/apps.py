import time

from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules
from django.utils.translation import gettext_lazy as _


class TinystoreConfig(AppConfig):
    name = "tinystore_django"
    verbose_name = _("Job queues")
    default_auto_field = "django.db.models.BigAutoField"
    # No `models` or `jobs` module has been imported yet: a file that changes from here on may not be what runs.
    loaded_at = time.time()

    def ready(self) -> None:
        """Imports each installed app's `jobs` module, so that every process knows every queue."""
        from . import checks  # noqa: F401  registers the checks
        from .log import logger
        from .values import log_lines

        logger.logger.addFilter(log_lines.escape)
        autodiscover_modules("jobs")
