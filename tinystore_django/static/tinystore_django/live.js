"use strict";
// Reads the page again every few seconds while somebody looks at it, and leaves it alone while they do something.
{
    const SECONDS = 5;
    const AFTER_AN_ACTION = 1; // what was done begins at once
    const TO_BE_READ = 30; // how long a message stays, as the page is read again
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
            job.querySelector(".object-tools").after(document.adoptNode(gone));
        }
        return gone !== null;
    };
    const look = async () => {
        const job = document.querySelector(".tinystore-job");
        if (busy() || document.querySelector(".tinystore-gone") !== null) {
            return;
        }
        if (job === null || !(await stays(job).catch(() => false))) {
            hand_on();
            location.reload();
        }
    };
    // The server gives a message once: it is handed on to the page as it is read again, while it is to be read.
    const HANDED_ON = `tinystore ${location.pathname}`;
    let shown_until = 0;
    const hand_on = () => {
        const texts = [...document.querySelectorAll(".messagelist li")].map((one) => [one.className, one.textContent]);
        if (texts.length > 0 && Date.now() < shown_until) {
            sessionStorage.setItem(HANDED_ON, JSON.stringify([shown_until, texts]));
        }
    };
    const take_on = () => {
        const [until, texts] = JSON.parse(sessionStorage.getItem(HANDED_ON) ?? "[0, []]");
        sessionStorage.removeItem(HANDED_ON);
        if (Date.now() < until && document.querySelector(".messagelist") === null) {
            const items = texts.map(([className, textContent]) =>
                Object.assign(document.createElement("li"), { className, textContent }));
            const list = Object.assign(document.createElement("ul"), { className: "messagelist" });
            list.append(...items);
            document.getElementById("content").before(list);
            shown_until = until;
        }
    };
    document.addEventListener("DOMContentLoaded", () => {
        if (document.querySelector(".messagelist") !== null) {
            shown_until = Date.now() + 1000 * TO_BE_READ;
            setTimeout(look, 1000 * AFTER_AN_ACTION);
        }
        take_on();
        setInterval(look, 1000 * SECONDS);
    });
}
