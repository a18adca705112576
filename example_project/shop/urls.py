from django.urls import path

from . import views

urlpatterns = [
    path("", views.shop, name="shop"),
    path("orders/<int:pk>/", views.order, name="order"),
    path("orders/<int:pk>/status/", views.order_status, name="order-status"),
    path("status/", views.status, name="status"),
]
