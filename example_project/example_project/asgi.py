import os

from django.conf import settings
from django.contrib.staticfiles.handlers import ASGIStaticFilesHandler
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "example_project.settings")

application = get_asgi_application()
if settings.DEBUG:
    # As runserver does; in production a web server gives the files that `collectstatic` gathers.
    application = ASGIStaticFilesHandler(application)
