// Filters the cards of the gallery by paper and verdict. Without this script all cards are shown.
document.addEventListener("DOMContentLoaded", () => {
  const form = document.querySelector("form.filters");
  if (!form) return;
  const cards = [...document.querySelectorAll(".study-card")];
  const apply = () => {
    const { paper, verdict } = Object.fromEntries(new FormData(form));
    let shown = 0;
    for (const card of cards) {
      const fits = (!paper || card.dataset.paper === paper) && (!verdict || card.dataset.verdict === verdict);
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
  form.addEventListener("submit", (event) => event.preventDefault());
  apply();
});
