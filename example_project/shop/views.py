from __future__ import annotations

from django.db import transaction
from django.db.models import Count
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render

from tinystore_django.models import Job

from .forms import OrderForm
from .jobs import Confirmation, cleanup, emails
from .models import Order
from .payments import CardDeclined, charge


def shop(request: HttpRequest) -> HttpResponse:
    """The form of an order, and the latest orders."""
    form = OrderForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            return redirect(place(form))
        except CardDeclined as declined:
            form.add_error("card", str(declined))
    return render(request, "shop/shop.html", {"form": form, "orders": Order.objects.all()[:10]})


def place(form: OrderForm) -> Order:
    """Saves the order and adds the job of its email: both are there after the commit, or neither is."""
    with transaction.atomic():
        order: Order = form.save()
        emails.in_(transaction).add(Confirmation(order.pk, order.email), id=order.job_id)
        charge(form.cleaned_data["card"])
    return order


def order(request: HttpRequest, pk: int) -> HttpResponse:
    """One order; its page asks `order_status` until the email is sent."""
    return render(request, "shop/order.html", {"order": get_object_or_404(Order, pk=pk)})


def order_status(request: HttpRequest, pk: int) -> JsonResponse:
    """What became of an order's email, as its queue shows it."""
    order = get_object_or_404(Order, pk=pk)
    if order.confirmed_at:
        return JsonResponse({"state": "sent", "tries": order.tries, "error": None})
    job = emails.get(order.job_id)
    if job is None:
        return JsonResponse({"state": "cancelled", "tries": 0, "error": None})
    return JsonResponse({"state": job.state, "tries": job.attempt, "error": job.error})


def status(request: HttpRequest) -> JsonResponse:
    """The shop in numbers, for whoever watches over it."""
    jobs = Job.objects.filter(queue=emails.name).values_list("state").annotate(Count("pk"))
    job = cleanup.get()
    return JsonResponse(
        {
            "orders": Order.objects.count(),
            "emails": {Job.State(state).name.lower(): count for state, count in jobs},
            "cleanup": job and {"at": job.at, "repeat": job.repeat, "error": job.error},
        }
    )
