// SPDX-License-Identifier: Apache-2.0
// Search without a server: every word must occur; titles count most.
(function () {
  "use strict";
  var up = document.body.dataset.up, input = document.getElementById("query"), list = document.getElementById("found");
  function score(page, words) {
    var title = page.title.toLowerCase(), text = page.text.toLowerCase(), total = 0;
    for (var i = 0; i < words.length; i++) {
      var inTitle = title.indexOf(words[i]) >= 0, at = text.indexOf(words[i]);
      if (!inTitle && at < 0) { return 0; }
      total += (title === words[i] ? 50 : inTitle ? 20 : 0) + (at < 0 ? 0 : 1 + 2 / (1 + at / 200));
    }
    return total;
  }
  input.addEventListener("input", function () {
    var words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    list.textContent = "";
    if (!words.length) { return; }
    var hits = window.SEARCH.map(function (page) { return [score(page, words), page]; })
      .filter(function (hit) { return hit[0] > 0; })
      .sort(function (a, b) { return b[0] - a[0]; }).slice(0, 12);
    hits.forEach(function (hit) {
      var item = document.createElement("li"), link = document.createElement("a");
      link.href = up + hit[1].url;
      link.textContent = hit[1].title;
      item.appendChild(link);
      list.appendChild(item);
    });
    if (!hits.length) {
      var none = document.createElement("li");
      none.textContent = "No page has all these words.";
      list.appendChild(none);
    }
  });
})();
