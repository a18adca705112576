from django.apps import AppConfig


class ProjectConfig(AppConfig):
    name = "tests.project"
    label = "project"
