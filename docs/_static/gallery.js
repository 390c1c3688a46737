// Filters the cards of the gallery by words, paper and verdict, and opens the fold that an address points into. Without
// this script all cards are shown, and folds open by a click.
document.addEventListener("DOMContentLoaded", () => {
  const form = document.querySelector("form.filters");
  if (!form) return;
  const cards = [...document.querySelectorAll(".study-card")];
  const apply = () => {
    const { paper, verdict, words } = Object.fromEntries(new FormData(form));
    const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const card of cards) {
      const fits = (!paper || card.dataset.paper === paper) && (!verdict || card.dataset.verdict === verdict) && wanted.every((w) => card.dataset.words.includes(w));
      card.hidden = !fits;
      shown += fits;
    }
    for (const group of document.querySelectorAll(".cards")) {
      group.closest("section").hidden = !group.querySelector(".study-card:not([hidden])");
    }
    form.querySelector("output").textContent = `${shown} of ${cards.length} studies`;
  };
  form.hidden = false;
  form.addEventListener("change", apply);
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  apply();
});

const openFold = () => {
  const place = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let fold = place?.closest("details.fold"); fold; fold = fold.parentElement.closest("details.fold")) fold.open = true;
  const own = place?.matches("section") && place.querySelector(":scope > details.fold");
  if (own) own.open = true;
  place?.scrollIntoView();
};
document.addEventListener("DOMContentLoaded", openFold);
addEventListener("hashchange", openFold);
// What a search looks for may stand in a fold: the search adds ?highlight to the address.
document.addEventListener("DOMContentLoaded", () => {
  if (new URLSearchParams(location.search).has("highlight")) for (const fold of document.querySelectorAll("details.fold")) fold.open = true;
});

// Filters what did not reproduce by paper, standing and reason.
document.addEventListener("DOMContentLoaded", () => {
  const form = document.querySelector("form.misses");
  if (!form) return;
  const cards = [...document.querySelectorAll(".miss")];
  const apply = () => {
    const wanted = Object.entries(Object.fromEntries(new FormData(form))).filter(([, value]) => value);
    let shown = 0;
    for (const card of cards) {
      const fits = wanted.every(([name, value]) => card.dataset[name].split(" ").includes(value));
      card.closest("section").hidden = !fits;
      shown += fits;
    }
    form.querySelector("output").textContent = `${shown} of ${cards.length} studies`;
  };
  form.hidden = false;
  form.addEventListener("change", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  apply();
});
