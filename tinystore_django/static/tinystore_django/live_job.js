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
  // 1.0 is all and 1 is one percent: JSON.parse gives the same number for both.
  const ALL = /"progress":\s*1\.0\s*[,}]/;

  function follow(place) {
    if (place.dataset.state) return; // the script may stand on the page more than once
    place.dataset.state = "asking";
    const source = new EventSource(place.dataset.jobEvents);
    source.onmessage = (event) => {
      const job = JSON.parse(event.data);
      show(place, job, job.progress === 1 && ALL.test(event.data) ? 1 : shareOf(job.progress));
    };
    source.addEventListener("end", () => {
      source.close();
      if (!ENDED.includes(place.dataset.state)) say(place, "gone");
    });
    source.onerror = () => {
      // Whatever else went wrong, the browser tries again by itself.
      if (source.readyState === EventSource.CLOSED) explain(place);
    };
  }

  function show(place, job, share) {
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

  // How much is done, 0 to 1, read as the admin reads it; null where a progress says no such thing.
  function shareOf(progress) {
    if (typeof progress === "number") return shareOfNumber(progress);
    const isPair = Array.isArray(progress) && progress.length === 2;
    const [done, total] = isPair ? progress : [progress?.done, progress?.total];
    if (typeof done === "number" && typeof total === "number" && total > 0) return within(done / total);
    return typeof progress?.percent === "number" ? within(progress.percent / 100) : null;
  }

  function shareOfNumber(number) {
    if (number < 0 || number > 100) return null;
    return number < 1 ? number : number / 100;
  }

  function within(share) {
    return Math.min(Math.max(share, 0), 1);
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
