from django import forms

from .models import Order, Video


class OrderForm(forms.ModelForm):
    card = forms.CharField(initial="4242 4242 4242 4242", max_length=19, help_text="4000 0000 0000 0002 is declined.")

    class Meta:
        model = Order
        fields = ("item", "email")


class VideoForm(forms.ModelForm):
    class Meta:
        model = Video
        fields = ("title", "seconds")
