(function () {
  "use strict";
  var lit = [], pinned = null;
  function ids(row) { return row.dataset.drawn ? row.dataset.drawn.split(" ") : []; }
  function dark() { lit.forEach(function (e) { e.classList.remove("lit"); }); lit = []; }
  function light(row) {
    dark();
    lit = ids(row).map(function (id) { return document.getElementById(id); }).filter(Boolean);
    lit.push(row);
    lit.forEach(function (e) { e.classList.add("lit"); });
  }
  function reveal(row) {
    var part = document.getElementById(ids(row)[0]), pane = part && part.closest(".pane");
    if (!pane) { return; }
    var a = part.getBoundingClientRect(), b = pane.getBoundingClientRect();
    pane.scrollBy(a.left + a.width / 2 - b.left - b.width / 2, a.top + a.height / 2 - b.top - b.height / 2);
  }
  document.querySelectorAll(".pane").forEach(function (pane) {
    var first = pane.querySelector(".node"), a = first && first.getBoundingClientRect(), b = pane.getBoundingClientRect();
    if (first) { pane.scrollLeft = a.left + a.width / 2 - b.left - b.width / 2; }
  });
  document.querySelectorAll("tr[data-drawn]").forEach(function (row) {
    row.addEventListener("mouseenter", function () { if (!pinned) { light(row); reveal(row); } });
    row.addEventListener("mouseleave", function () { if (!pinned) { dark(); } });
    row.addEventListener("click", function (event) {
      if (event.target.closest("a")) { return; }
      pinned = pinned === row ? null : row;
      if (pinned) { light(row); reveal(row); } else { dark(); }
    });
    ids(row).forEach(function (id) {
      var part = document.getElementById(id);
      if (!part) { return; }
      part.addEventListener("mouseenter", function () { if (!pinned) { row.classList.add("lit"); lit.push(row); part.classList.add("lit"); lit.push(part); } });
      part.addEventListener("mouseleave", function () { if (!pinned) { dark(); } });
    });
  });
  window.addEventListener("keydown", function (event) { if (event.key === "Escape") { pinned = null; dark(); } });
  window.addEventListener("beforeprint", function () {
    document.querySelectorAll("details").forEach(function (e) { e.open = true; });
  });
}());
