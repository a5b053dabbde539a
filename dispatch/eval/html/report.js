// Keys, a filter and sorting. Everything that the page says is there without them.
"use strict";

(() => {
  const get = (id) => document.getElementById(id);
  const list = get("list");
  const cases = [...list.children];
  const worst = new Map(cases.map((c, i) => [c, i]));
  const titles = new Map(cases.map((c) => [c, c.querySelector(".title").textContent]));
  const texts = new Map(cases.map((c) => [c, c.querySelector(".name").textContent.toLowerCase()]));
  const [filter, show, sort, keys, found] = ["filter", "show", "sort", "keys", "found"].map(get);
  get("controls").hidden = false;

  function choose() {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    let n = 0;
    for (const c of cases) {
      const { v, c: change } = c.dataset;
      const kind = show.value === "" || show.value === change || show.value === "bad" && v !== "passed" && v !== "skipped";
      c.hidden = !kind || !words.every((w) => texts.get(c).includes(w) || v === w || change === w);
      if (!c.hidden) n++;
    }
    found.textContent = n === cases.length ? "" : n + " of " + cases.length + " cases";
  }

  const { compare } = new Intl.Collator("en", { numeric: true });
  const orders = {
    "": (a, b) => worst.get(a) - worst.get(b),
    n: (a, b) => a.dataset.n - b.dataset.n,
    t: (a, b) => b.dataset.t - a.dataset.t || a.dataset.n - b.dataset.n,
    name: (a, b) => compare(titles.get(a), titles.get(b)) || a.dataset.n - b.dataset.n,
  };

  function arrange() {
    const all = document.createDocumentFragment();
    all.append(...[...cases].sort(orders[sort.value]));
    list.append(all);
  }

  // What an address names is shown, whatever is closed around it or filtered.
  function visit() {
    const target = get(location.hash.slice(1)) || get(unescaped(location.hash.slice(1)));
    if (target === null) return;
    const own = target.closest(".case");
    if (own !== null && own.hidden) {
      filter.value = show.value = "";
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

  const handle = (c) => c.querySelector("summary, .line");

  function step(by) {
    const shown = [...list.children].filter((c) => !c.hidden);
    const at = document.activeElement === null ? null : document.activeElement.closest(".case");
    const next = at === null ? by > 0 ? 0 : shown.length - 1 : shown.indexOf(at) + by;
    if (shown[next] === undefined) return;
    handle(shown[next]).focus();
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
  show.addEventListener("change", choose);
  sort.addEventListener("change", arrange);
  addEventListener("hashchange", visit);
  visit();
})();
