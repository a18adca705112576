from django.contrib import admin

from .models import Order, Video


@admin.register(Order)
class OrderAdmin(admin.ModelAdmin):
    list_display = ("id", "email", "item", "placed_at", "confirmed_at", "tries")
    search_fields = ("email",)


@admin.register(Video)
class VideoAdmin(admin.ModelAdmin):
    list_display = ("title", "seconds", "added_at", "ready_at")
