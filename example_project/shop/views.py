from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Count
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render

from tinystore_django.models import Job
from tinystore_django.views import job_events

from . import jobs
from .forms import OrderForm, VideoForm
from .jobs import Clip, Confirmation, cleanup, emails
from .models import Order, Video
from .payments import CardDeclined, charge


def shop(request: HttpRequest) -> HttpResponse:
    """The form of an order, and the latest orders."""
    form = OrderForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            order = place(form)
            request.session["orders"] = [*request.session.get("orders", []), order.pk]
            return redirect(order)
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
    """What became of an order's email, as its queue shows it; why it failed, for the visitor who placed it."""
    order = get_object_or_404(Order, pk=pk)
    if order.confirmed_at:
        return JsonResponse({"state": "sent", "tries": order.tries, "error": None})
    job = emails.get(order.job_id)
    if job is None:
        return JsonResponse({"state": "cancelled", "tries": 0, "error": None})
    # An error may quote what is nobody else's business, as an address.
    error = job.error if pk in request.session.get("orders", []) else None
    return JsonResponse({"state": job.state, "tries": job.attempt, "error": error})


def videos(request: HttpRequest) -> HttpResponse:
    """The form of a video, and the visitor's own videos."""
    form = VideoForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        with transaction.atomic():
            video: Video = form.save()
            jobs.videos.add(Clip(video.pk, video.seconds), id=video.job_id)
        request.session["videos"] = [*request.session.get("videos", []), video.pk]
        return redirect(video)
    own = Video.objects.filter(pk__in=request.session.get("videos", []))
    return render(request, "shop/videos.html", {"form": form, "videos": own})


def video(request: HttpRequest, pk: int) -> HttpResponse:
    """One video; its page follows `video_events` until it is encoded."""
    return render(request, "shop/video.html", {"video": get_object_or_404(Video, pk=pk)})


async def video_events(request: HttpRequest, pk: int) -> HttpResponseBase:
    """How far a video is, live, for the visitor who sent it in and nobody else."""
    if pk not in await request.session.aget("videos", []):
        raise PermissionDenied
    return await job_events(request, jobs.videos, Video(pk=pk).job_id)


def status(request: HttpRequest) -> JsonResponse:
    """The shop in numbers, for whoever watches over it: anyone may ask, so it shows no error's text."""
    counts = Job.objects.filter(queue=emails.name).values_list("state").annotate(Count("pk"))
    job = cleanup.get()
    return JsonResponse(
        {
            "orders": Order.objects.count(),
            "emails": {Job.State(state).name.lower(): count for state, count in counts},
            "cleanup": job and {"at": job.at, "repeat": job.repeat, "well": job.error is None},
        }
    )
