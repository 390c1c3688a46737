// A card with numbers and a sentence.

export const element = (tag, text = "", className = "") => { const e = document.createElement(tag); e.textContent = text; if (className) e.className = className; return e; };

export class Facts {
  constructor(parent, title, area) {
    this.card = element("section", "", "card facts");
    this.card.style.gridArea = area;
    this.card.id = "view-facts";
    const head = element("header");
    head.append(element("h2", title));
    this.sentence = element("p", "", "sentence");
    this.list = element("dl");
    this.tools = element("div", "", "tools");
    this.card.append(head, this.sentence, this.list, this.tools);
    parent.append(this.card);
  }
  /** Rows [name, value], and a sentence above them. */
  show(rows, sentence = "") {
    if (this.sentence.textContent !== sentence) this.sentence.textContent = sentence;
    while (this.list.children.length > 2 * rows.length) this.list.lastChild.remove();
    rows.forEach(([name, value], i) => {
      if (!this.list.children[2 * i]) this.list.append(element("dt"), element("dd"));
      this.list.children[2 * i].textContent = name;
      this.list.children[2 * i + 1].textContent = value;
    });
  }
}
