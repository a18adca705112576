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
    // A job that has gone meanwhile stays as it was seen last, with what became of it.
    const stays = async (job) => {
        const answer = await fetch(location.href);
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        const gone = page.querySelector(".tinystore-gone");
        if (gone !== null) {
            job.querySelector(".tinystore-verbs")?.remove();
            job.prepend(document.adoptNode(gone));
        }
        return gone !== null;
    };
    const look = async () => {
        const job = document.querySelector(".tinystore-job");
        if (busy() || document.querySelector(".tinystore-gone") !== null) {
            return;
        }
        if (job === null || !(await stays(job).catch(() => false))) {
            location.reload();
        }
    };
    document.addEventListener("DOMContentLoaded", () => {
        const seconds = document.querySelector(".messagelist") ? WITH_A_MESSAGE : SECONDS;
        setInterval(look, 1000 * seconds);
    });
}
