"use strict";
// Reads the page again every few seconds while somebody looks at it, and leaves it alone while they do something.
{
    const SECONDS = 5;
    const WITH_A_MESSAGE = 30; // to be read
    const typing = "input:not([type=checkbox]), select, textarea";
    const busy = () =>
        document.hidden ||
        document.querySelector("input.action-select:checked") !== null ||
        document.activeElement?.matches(typing) ||
        [...document.querySelectorAll(".tinystore-time")].some((field) => field.value !== "") ||
        String(getSelection()) !== "";
    const look = () => {
        if (!busy()) {
            location.reload();
        }
    };
    document.addEventListener("DOMContentLoaded", () => {
        const seconds = document.querySelector(".messagelist") ? WITH_A_MESSAGE : SECONDS;
        setInterval(look, 1000 * seconds);
    });
}
