from django.urls import path

from . import views

urlpatterns = [
    path("", views.shop, name="shop"),
    path("orders/<int:pk>/", views.order, name="order"),
    path("orders/<int:pk>/status/", views.order_status, name="order-status"),
    path("videos/", views.videos, name="videos"),
    path("videos/<int:pk>/", views.video, name="video"),
    path("videos/<int:pk>/events/", views.video_events, name="video-events"),
    path("status/", views.status, name="status"),
]
