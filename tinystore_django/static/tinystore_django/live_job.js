// Follows the job of each element with data-job-events: says how it stands, and moves its bar. Each report is also an
// event named "job" on the element, with the report as its detail.
"use strict";

(() => {
  const WORDS = {
    scheduled: "Not due yet",
    waiting: "{ahead} ahead of yours",
    waitingOne: "1 ahead of yours",
    next: "Yours is next",
    running: "Running",
    done: "Done",
    failed: "Failed",
    cancelled: "Cancelled",
    gone: "No longer in the queue",
    unavailable: "No live view",
  };
  const ENDED = ["done", "failed", "cancelled"];

  function follow(place) {
    if (place.dataset.state) return; // the script may stand on the page more than once
    place.dataset.state = "asking";
    const source = new EventSource(place.dataset.jobEvents);
    source.onmessage = (event) => show(place, JSON.parse(event.data));
    source.addEventListener("end", () => {
      source.close();
      if (!ENDED.includes(place.dataset.state)) say(place, "gone");
    });
    source.onerror = () => {
      // Whatever else went wrong, the browser tries again by itself.
      if (source.readyState === EventSource.CLOSED) explain(place);
    };
  }

  function show(place, job) {
    const share = shareOf(job.progress);
    say(place, job.state, wordFor(job), { ahead: job.ahead, percent: Math.round(100 * (share ?? 0)) });
    const bar = place.querySelector("progress");
    if (bar) {
      bar.hidden = !["running", "done"].includes(job.state);
      if (job.state === "done") bar.value = 1;
      else if (share === null) bar.removeAttribute("value");
      else bar.value = share;
    }
    place.dispatchEvent(new CustomEvent("job", { detail: job, bubbles: true }));
  }

  function wordFor(job) {
    if (job.state !== "waiting" || job.ahead > 1) return job.state;
    return job.ahead === 1 ? "waitingOne" : "next";
  }

  // What a bar can show: a number from 0 to 1, or {done, total}.
  function shareOf(progress) {
    const share = progress && progress.total ? progress.done / progress.total : progress;
    return typeof share === "number" && share >= 0 && share <= 1 ? share : null;
  }

  function say(place, state, word = state, numbers = {}) {
    place.dataset.state = state;
    const text = place.dataset[word] ?? WORDS[word];
    write(place, text.replace(/{(\w+)}/g, (all, name) => numbers[name] ?? all));
  }

  function write(place, text) {
    place.querySelector("[role=status]").textContent = text;
  }

  // A server that cannot stream says so, in words.
  async function explain(place) {
    say(place, "unavailable");
    const asking = new AbortController();
    const answer = await fetch(place.dataset.jobEvents, { signal: asking.signal });
    if (answer.status === 501) write(place, await answer.text());
    else asking.abort();
  }

  document.querySelectorAll("[data-job-events]").forEach(follow);
})();
