// How the search ranks pages: guides and answers first, then the reference, then what lists one result after another.
var Scorer = {
  score: ([docname, , , , score]) => {
    if (docname.startsWith("gallery/") || docname.startsWith("auto_examples/") || docname === "changelog") return score / 10;
    return docname === "answers" || docname === "citing" ? score + 20 : score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
