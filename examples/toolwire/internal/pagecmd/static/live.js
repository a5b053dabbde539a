// Brings a page with a run in progress up to date by itself, and sends the form on Ctrl+Enter. Everything works without
// it: there is a link to refresh, and a button.
"use strict";

(() => {
  const interval = 1000;
  let failures = 0;

  const main = () => document.getElementById("main");
  const isLive = () => main() !== null && main().hasAttribute("data-live");

  // Children with an id are matched by it, others by their place, so that what is open, focused or scrolled stays so.
  function update(old, fresh) {
    if (old.isEqualNode(fresh)) return;
    if (old.nodeType !== fresh.nodeType || old.nodeName !== fresh.nodeName || (old.id || "") !== (fresh.id || "")) {
      old.replaceWith(fresh);
      return;
    }
    if (old.nodeType !== Node.ELEMENT_NODE) {
      if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
      return;
    }
    for (const { name } of [...old.attributes]) {
      if (!fresh.hasAttribute(name) && name !== "open") old.removeAttribute(name); // what is open is for the reader to say
    }
    for (const { name, value } of [...fresh.attributes]) {
      if (old.getAttribute(name) !== value && name !== "open") old.setAttribute(name, value);
    }
    const stays = new Set([...fresh.children].map((c) => c.id));
    const known = new Map();
    for (const c of [...old.children]) {
      if (c.id && stays.has(c.id)) known.set(c.id, c);
      else if (c.id) c.remove();
    }
    let at = old.firstChild;
    for (const child of [...fresh.childNodes]) {
      let match = at;
      if (child.id) match = known.get(child.id) || null;
      else if (match && match.id) match = null;
      if (match === null) {
        old.insertBefore(child, at);
        continue;
      }
      // An element that is moved loses the focus, so what stands before it goes instead.
      while (at && at !== match && !at.id) {
        const next = at.nextSibling;
        at.remove();
        at = next;
      }
      if (match !== at) old.insertBefore(match, at);
      else at = at.nextSibling;
      update(match, child);
    }
    while (at) {
      const next = at.nextSibling;
      at.remove();
      at = next;
    }
  }

  function say(text) {
    const now = document.querySelector("[role=status]");
    if (now && now.textContent !== text) now.textContent = text;
  }

  async function refresh() {
    if (!isLive()) return;
    if (!document.hidden) {
      try {
        const answer = await fetch(location.pathname + location.search, { headers: { Accept: "text/html" }, signal: AbortSignal.timeout(10000) });
        const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
        const focused = document.activeElement;
        update(main(), fresh.getElementById("main"));
        if (!focused.isConnected) main().focus({ preventScroll: true }); // where the link to refresh has gone, or a row
        document.title = fresh.title;
        failures = 0;
      } catch {
        failures++;
        say("toolwire page does not answer; it may have stopped. The page shows what was last known.");
      }
    }
    setTimeout(refresh, Math.min(interval * 2 ** failures, 15000));
  }

  if (isLive()) setTimeout(refresh, interval);
  document.addEventListener("keydown", (event) => {
    const form = event.target instanceof Element && event.target.closest("form.task");
    if (form && event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      form.requestSubmit();
    }
  });
  const problems = document.getElementById("problems");
  if (problems) problems.focus();
})();
