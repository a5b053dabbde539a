// Keys, a filter and sorting. Everything that the page says is there without them.
"use strict";

(() => {
  const get = (id) => document.getElementById(id);
  const list = get("list");
  const cases = [...list.children];
  const worst = new Map(cases.map((c, i) => [c, i]));
  const [filter, show, by, sort, keys, found] = ["filter", "show", "by", "sort", "keys", "found"].map(get);
  get("controls").hidden = false;

  const texts = new Map(); // made when they are needed first
  function text(c) {
    if (!texts.has(c)) {
      const cells = c.querySelector(".cells")?.textContent.split("\n") ?? [];
      texts.set(c, { title: c.querySelector(".name").firstChild.textContent, cells, all: c.querySelector(".name").textContent.toLowerCase() });
    }
    return texts.get(c);
  }

  function choose() {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    let n = 0;
    for (const c of cases) {
      const { v, c: change } = c.dataset;
      const kind = show.value === "" || show.value === change || show.value === "bad" && v !== "passed" && v !== "skipped";
      const hidden = !kind || by !== null && by.value !== "" && !text(c).cells.includes(by.value) ||
        !words.every((w) => text(c).all.includes(w) || v === w || change === w);
      if (c.hidden !== hidden) c.hidden = hidden;
      if (!hidden) n++;
    }
    found.textContent = n === cases.length ? "" : n + " of " + cases.length + " cases";
  }

  const { compare } = new Intl.Collator("en", { numeric: true });
  const orders = {
    "": (a, b) => worst.get(a) - worst.get(b),
    n: (a, b) => a.dataset.n - b.dataset.n,
    t: (a, b) => b.dataset.t - a.dataset.t || a.dataset.n - b.dataset.n,
    k: (a, b) => (b.dataset.k || 0) - (a.dataset.k || 0) || a.dataset.n - b.dataset.n,
    name: (a, b) => compare(text(a).title, text(b).title) || a.dataset.n - b.dataset.n,
  };

  function arrange() {
    list.replaceChildren(...[...cases].sort(orders[sort.value])); // append would move one after the other
  }

  // What an address names is shown, whatever is closed around it or filtered. A trial that is not shown
  // in full has the address of its case.
  function visit() {
    let target = null;
    for (const hash of [location.hash.slice(1), unescaped(location.hash.slice(1))]) target ??= get(hash) ?? get(hash.replace(/[^/]*$/, ""));
    if (target === null) return;
    const own = target.closest(".case");
    if (own !== null && own.hidden) {
      filter.value = show.value = "";
      if (by !== null) by.value = "";
      choose();
    }
    for (let e = target; e !== null; e = e.parentElement) {
      if (e.nodeName === "DETAILS") e.open = true;
    }
    target.scrollIntoView();
    // The rows on the way get their real heights only when they are drawn.
    requestAnimationFrame(() => requestAnimationFrame(() => target.scrollIntoView()));
  }

  function unescaped(text) {
    try {
      return decodeURIComponent(text);
    } catch {
      return text;
    }
  }

  function step(by) {
    const shown = [...list.children].filter((c) => !c.hidden);
    const at = document.activeElement === null ? null : document.activeElement.closest(".case");
    const next = at === null ? by > 0 ? 0 : shown.length - 1 : shown.indexOf(at) + by;
    if (shown[next] === undefined) return;
    const handle = shown[next].querySelector("summary") ?? shown[next];
    if (handle === shown[next]) handle.tabIndex = -1;
    handle.focus();
    shown[next].scrollIntoView({ block: "nearest" });
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !keys.checked) return;
    const typing = event.target.matches("input:not([type=checkbox]), select, textarea");
    if (typing && event.key === "Escape") {
      event.preventDefault(); // a browser would clear the filter
      event.target.blur();
    }
    if (typing) return;
    const at = document.activeElement.closest(".case");
    const does = {
      j: () => step(1),
      k: () => step(-1),
      o: () => at !== null && at.querySelector("details") !== null && (at.querySelector("details").open = !at.querySelector("details").open),
      "/": () => filter.focus(),
    }[event.key];
    if (does === undefined) return;
    event.preventDefault();
    does();
  });
  filter.addEventListener("input", choose);
  for (const select of [show, by]) select?.addEventListener("change", choose);
  for (const link of document.querySelectorAll("[data-by]")) {
    link.addEventListener("click", () => {
      by.value = link.dataset.by;
      choose();
    });
  }
  sort.addEventListener("change", arrange);
  addEventListener("hashchange", visit);
  visit();
})();
