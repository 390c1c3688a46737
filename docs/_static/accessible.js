// Names and roles that the theme, Sphinx and its gallery leave out; found by axe-core (tests/docs/test_site.py).
document.addEventListener("DOMContentLoaded", () => {
  for (const button of document.querySelectorAll("button.search-button-field")) button.removeAttribute("aria-label"); // its text names it
  for (const toggle of document.querySelectorAll("nav summary")) toggle.setAttribute("aria-label", `Pages below ${toggle.closest("li")?.querySelector("a")?.textContent.trim() ?? "this one"}`);
  for (const link of document.querySelectorAll(".sphx-glr-thumbcontainer a")) link.setAttribute("aria-label", link.textContent.trim());
  // A long signature is a list of definitions without terms: parameters, one per line.
  for (const part of document.querySelectorAll("dt.sig dl, dt.sig dl > dd")) part.setAttribute("role", "none");
  for (const formula of document.querySelectorAll("div.math")) if (formula.scrollWidth > formula.clientWidth) formula.tabIndex = 0;
});
