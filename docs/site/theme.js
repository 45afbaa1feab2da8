// SPDX-License-Identifier: Apache-2.0
// Dark or light: as the system says, unless the reader chose.
(function () {
  "use strict";
  var root = document.documentElement, kept = null;
  try { kept = localStorage.getItem("theme"); } catch (fault) { /* no storage: the system decides */ }
  root.dataset.theme = kept || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", function (asked) {
    if (!kept) root.dataset.theme = asked.matches ? "dark" : "light";
  });
  document.addEventListener("DOMContentLoaded", function () {
    document.getElementById("theme").addEventListener("click", function () {
      root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
      kept = root.dataset.theme;
      try { localStorage.setItem("theme", kept); } catch (fault) { /* for this page only */ }
    });
  });
})();
