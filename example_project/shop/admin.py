from django.contrib import admin

from .models import Order


@admin.register(Order)
class OrderAdmin(admin.ModelAdmin):
    list_display = ("id", "email", "item", "placed_at", "confirmed_at", "tries")
    search_fields = ("email",)
