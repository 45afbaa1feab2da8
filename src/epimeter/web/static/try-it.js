// SPDX-License-Identifier: Apache-2.0
// Requests of the API reference, sent from the page with the reader's own key to this very service, and shown as they are answered.
"use strict";
(() => {
  const PATIENCE = 60000, SHOWN = 200000;
  const key = document.getElementById("try-key");
  if (!key) return;
  key.hidden = false;

  const made = (name, text) => { const one = document.createElement(name); one.textContent = text; return one; };

  function request(form) {
    let path = form.dataset.path;
    const query = new URLSearchParams(), headers = new Headers();
    for (const field of form.querySelectorAll("[data-in]")) {
      const value = field.value.trim();
      if (field.dataset.in === "path") path = path.replace(`{${field.name}}`, encodeURIComponent(value));
      else if (value && field.dataset.in === "query") query.append(field.name, value);
      else if (value && field.dataset.in === "header") headers.set(field.name, value);
    }
    const secret = document.getElementById("key").value.trim();
    if (secret) headers.set("x-api-key", secret);
    const file = form.querySelector("input[type=file]"), text = form.querySelector("textarea");
    const options = { method: form.dataset.method, headers, credentials: "omit", cache: "no-store", mode: "same-origin" };
    if (text) {
      headers.set("Content-Type", form.querySelector("[data-media]").value);
      options.body = file && file.files.length ? file.files[0] : text.value;
    }
    const said = query.toString();
    return [path + (said ? `?${said}` : ""), options];
  }

  async function body(answer) {
    const reader = answer.body ? answer.body.getReader() : null, parts = [];
    let size = 0, whole = true;
    try {
      while (reader) {
        const { done, value } = await reader.read();
        if (done) break;
        parts.push(value);
        size += value.length;
        if (size > 50 * SHOWN) { whole = false; reader.cancel(); break; }
      }
    } catch { whole = false; }  // a stream that never ends was cut by our patience
    return [new Blob(parts), whole];
  }

  async function show(place, answer, begun) {
    const [data, whole] = await body(answer);
    const kind = (answer.headers.get("content-type") || "").split(";")[0];
    const taken = Math.round(performance.now() - begun);
    const lines = [made("p", `${answer.status} ${answer.statusText}, ${data.size.toLocaleString("en")} bytes of ${kind || "nothing"}, after ${taken} ms`)];
    lines[0].className = answer.ok ? "status valid" : "status revoked";
    if (/json|text|xml|yaml|calendar|jose|jwt/.test(kind)) {
      let text = await data.slice(0, SHOWN).text();
      if (/json$/.test(kind) && whole && data.size <= SHOWN) try { text = JSON.stringify(JSON.parse(text), null, 2); } catch { /* shown as it came */ }
      const shown = made("pre", text);
      shown.tabIndex = 0;
      if (data.size) lines.push(shown);
    }
    if (!whole || data.size > SHOWN) lines.push(made("p", "Only its beginning is shown."));
    if (data.size) {
      const link = made("a", "Save the answer");
      link.href = URL.createObjectURL(data);
      link.download = "answer";
      lines.push(link);
    }
    place.replaceChildren(...lines);
    place.dataset.done = String(answer.status);
  }

  for (const form of document.querySelectorAll("form.try")) {
    form.hidden = false;
    const place = form.querySelector("output"), button = form.querySelector("button");
    const media = form.querySelector("select[data-media]");
    if (media) media.addEventListener("change", () => {
      form.querySelector("textarea").value = media.selectedOptions[0].dataset.example || "";
    });
    form.addEventListener("submit", async event => {
      event.preventDefault();
      const begun = performance.now(), ended = new AbortController();
      const clock = setTimeout(() => ended.abort(), PATIENCE);
      button.disabled = true;
      delete place.dataset.done;
      place.replaceChildren(made("p", "Sent. Waiting for the answer."));
      try {
        const [path, options] = request(form);
        await show(place, await fetch(path, { ...options, signal: ended.signal }), begun);
      } catch (fault) {
        const words = ended.signal.aborted ? `no answer came within ${PATIENCE / 1000} s` : fault.message;
        place.replaceChildren(made("p", `The request could not be sent: ${words}.`));
        place.dataset.done = "failed";
      }
      clearTimeout(clock);
      button.disabled = false;
    });
  }
})();
