// SPDX-License-Identifier: Apache-2.0
// The proof on this page, computed by the browser itself: inclusion and consistency of a Merkle tree (RFC 6962, RFC 9162 section 2.1).
"use strict";
(() => {
  const place = document.getElementById("proof");
  const verdict = document.getElementById("verdict");
  if (!place || !verdict) return;
  const say = (word, sentence) => { verdict.textContent = sentence; verdict.dataset.done = word; };
  const bytes = text => Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
  const same = (one, other) => one.length === other.length && one.every((byte, at) => byte === other[at]);
  const hash = async (...parts) => {
    const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of parts) { all.set(part, at); at += part.length; }
    return new Uint8Array(await crypto.subtle.digest("SHA-256", all));
  };
  const node = (left, right) => hash(Uint8Array.of(1), left, right);
  const half = number => number / 2n;
  const odd = number => number % 2n === 1n;

  async function included(leaf, index, size, path) {
    let at = index, last = size - 1n, found = leaf;
    for (const sibling of path) {
      if (last === 0n) return null;
      if (odd(at) || at === last) {
        found = await node(sibling, found);
        while (!odd(at) && at !== 0n) { at = half(at); last = half(last); }
      } else found = await node(found, sibling);
      at = half(at); last = half(last);
    }
    return last === 0n ? found : null;
  }

  async function consistent(old, size, oldRoot, path) {
    const proof = (old & (old - 1n)) === 0n ? [oldRoot, ...path] : path;
    if (!proof.length) return null;
    let at = old - 1n, last = size - 1n;
    while (odd(at)) { at = half(at); last = half(last); }
    let first = proof[0], second = proof[0];
    for (const sibling of proof.slice(1)) {
      if (last === 0n) return null;
      if (odd(at) || at === last) {
        first = await node(sibling, first); second = await node(sibling, second);
        while (!odd(at) && at !== 0n) { at = half(at); last = half(last); }
      } else second = await node(second, sibling);
      at = half(at); last = half(last);
    }
    return last === 0n ? [first, second] : null;
  }

  async function check() {
    const facts = place.dataset;
    const path = Array.from(document.querySelectorAll("#proof code"), one => bytes(one.textContent.trim()));
    const root = bytes(facts.root), size = BigInt(facts.size);
    if (facts.kind === "inclusion") {
      const leaf = await hash(Uint8Array.of(0), bytes(facts.entry));
      const found = await included(leaf, BigInt(facts.index), size, path);
      return found !== null && same(found, root);
    }
    const old = BigInt(facts.oldSize), oldRoot = bytes(facts.oldRoot);
    if (old > size || old === 0n) return false;
    if (old === size) return !path.length && same(oldRoot, root);
    const found = await consistent(old, size, oldRoot, path);
    return found !== null && same(found[0], oldRoot) && same(found[1], root);
  }

  if (!globalThis.crypto || !crypto.subtle) {
    say("none", "This browser computes hashes only on pages that come over https; the sentence above is the server's.");
    return;
  }
  check().then(
    holds => say(holds ? "yes" : "no", holds
      ? "Your browser has computed it too: the proof holds."
      : "Your browser has computed it: the proof does NOT hold. Do not believe this log."),
    () => say("no", "Your browser could not read the proof. Do not believe it."),
  );
})();
