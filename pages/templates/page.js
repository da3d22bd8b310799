"use strict";
// The page contains everything without this script, which adds copy buttons, filters and a large view. It never writes HTML.
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const status = document.querySelector(".status");
  let clearing = 0;
  const say = (text, stays = false) => {
    status.textContent = text;
    clearTimeout(clearing);
    if (!stays) clearing = setTimeout(() => { status.textContent = ""; }, 4000);
  };
  const make = (tag, properties = {}, ...children) => {
    const node = Object.assign(document.createElement(tag), properties);
    node.append(...children);
    return node;
  };

  for (const button of all(".copy")) {
    const text = button.parentElement.querySelector(".text");
    button.hidden = false;
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(text.textContent);
        say("Copied");
      } catch {
        getSelection().selectAllChildren(text);
        say("Selected: copy it with Ctrl+C");
      }
    });
  }

  const filters = document.querySelector(".filters");
  if (filters) {
    const fits = (node, name) => {
      const wanted = filters.elements[name].value;
      return !wanted || !(name in node.dataset) || node.dataset[name].split(" ").includes(wanted);
    };
    const apply = () => {
      let shown = 0;
      let total = 0;
      for (const block of all(".block")) {
        const blockFits = fits(block, "corruption") && fits(block, "family");
        let inside = 0;
        for (const image of all("[data-severity]", block)) {
          const figureFits = fits(image, "severity") && fits(image, "corruption");
          if (image.matches("figure")) {
            total += 1;
            if (blockFits && figureFits) inside += 1;
          }
          image.hidden = !figureFits;
        }
        block.hidden = !blockFits || (all("figure[data-severity]", block).length > 0 && !inside);
        shown += inside;
      }
      document.querySelector(".none").hidden = shown > 0;
      return `${shown} of ${total} sets with an image are shown`;
    };
    filters.hidden = false;
    filters.addEventListener("submit", (event) => event.preventDefault());
    filters.addEventListener("change", () => say(apply()));
    filters.addEventListener("reset", () => setTimeout(() => say(apply())));
  }

  const viewer = document.querySelector("dialog");
  const images = all("a.large");
  let current = 0;
  const show = (n) => {
    const open = images.filter((link) => link.checkVisibility());
    if (!open.length) return;
    current = (n + open.length) % open.length;
    const figure = open[current].closest("figure");
    const clean = figure.closest(".block")?.querySelector("figure.clean");
    const both = clean && clean !== figure ? [clean, figure] : [figure];
    const names = [figure.closest(".block")?.querySelector("h3"), figure.querySelector("figcaption")];
    viewer.querySelector("h2").textContent = names.filter(Boolean).map((name) => name.textContent).join(": ");
    viewer.querySelector(".views").replaceChildren(...both.map((one) => {
      const large = one.querySelector("img, svg").cloneNode(true);
      const [width, height] = ["width", "height"].map((side) => Number(large.getAttribute(side)));
      const factor = large.classList.contains("small") ? Math.ceil(448 / Math.max(width, height)) : 2;
      large.setAttribute("width", width * factor);
      large.setAttribute("height", height * factor);
      return make("figure", {}, large, make("figcaption", { textContent: one.querySelector("figcaption").textContent }));
    }));
  };
  if (viewer) {
    let back = null;
    for (const link of images) {
      link.addEventListener("click", (event) => {
        event.preventDefault();
        back = link;
        show(images.filter((other) => other.checkVisibility()).indexOf(link));
        viewer.showModal();
      });
    }
    viewer.querySelector(".previous").addEventListener("click", () => show(current - 1));
    viewer.querySelector(".next").addEventListener("click", () => show(current + 1));
    viewer.querySelector(".close").addEventListener("click", () => viewer.close());
    viewer.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (step) show(current + step);
    });
    viewer.addEventListener("close", () => back?.focus());
  }
})();
