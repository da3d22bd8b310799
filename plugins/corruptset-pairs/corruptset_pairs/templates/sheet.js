"use strict";
// Show the images in sequence, record one answer per image, and save a file of answers at the end. Text from the study
// is set only as text and never as HTML.
(() => {
  const at = (id) => document.getElementById(id);
  const study = JSON.parse(at("study").textContent);
  const form = at("start");
  const sections = ["begin", "trial", "end"].map(at);
  const session = { started: "", person: "", group: "", keys: true, saved: true, answers: [] };
  let trials = [];
  let shown = 0;
  let open = false;

  const make = (tag, properties = {}, ...children) => {
    const node = Object.assign(document.createElement(tag), properties);
    node.append(...children);
    return node;
  };
  const turnTo = (id, focused) => {
    for (const section of sections) section.hidden = section.id !== id;
    focused.focus();
  };

  // The order depends only on the study, the group and the participant, so it differs between participants but is
  // reproducible.
  const numbers = (text) => {
    let state = 2166136261;
    for (const c of text) state = Math.imul(state ^ c.codePointAt(0), 16777619);
    return () => {
      state = (state + 0x6d2b79f5) | 0;
      let t = Math.imul(state ^ (state >>> 15), 1 | state);
      t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
      return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    };
  };
  const mixed = (list, text) => {
    const draw = numbers(text);
    const out = [...list];
    for (let i = out.length - 1; i > 0; i -= 1) {
      const j = Math.floor(draw() * (i + 1));
      [out[i], out[j]] = [out[j], out[i]];
    }
    return out;
  };

  const pictures = new Map();
  const picture = (n) => {
    if (!pictures.has(n) && n < trials.length) {
      const image = make("img", { src: `data:image/png;base64,${trials[n][1]}`, alt: `Picture ${n + 1} of ${trials.length}` });
      pictures.set(n, image.decode().then(() => image));
    }
    return pictures.get(n);
  };

  let since = 0;
  const show = async (n) => {
    shown = n;
    const image = await picture(n);
    image.width = image.naturalWidth * study.enlargement;
    image.height = image.naturalHeight * study.enlargement;
    at("picture").replaceChildren(image);
    at("place").textContent = `Picture ${n + 1} of ${trials.length}`;
    at("done").value = n;
    at("place").focus();
    requestAnimationFrame(() => {
      since = performance.now();
      open = true;
    });
    pictures.delete(n - 1);
    picture(n + 1);
  };

  const answer = (name) => {
    if (!open) return;
    open = false;
    session.answers.push({ trial: trials[shown][0], order: shown + 1, answer: name, ms: Math.round(performance.now() - since) });
    session.saved = false;
    if (shown + 1 < trials.length) show(shown + 1);
    else finish();
  };

  const save = () => {
    const finished = session.answers.length === trials.length;
    const sheet = {
      schema_version: study.schema_version, study: study.study, person: session.person, group: session.group, started: session.started,
      finished, pixel_ratio: devicePixelRatio, answers: session.answers,
    };
    const url = URL.createObjectURL(new Blob([`${JSON.stringify(sheet, null, 1)}\n`], { type: "application/json" }));
    const person = session.person.replace(/[^A-Za-z0-9_-]+/g, "_");
    make("a", { href: url, download: `answers-${study.study.slice(7, 15)}-${session.group}-${person}.json` }).click();
    setTimeout(() => URL.revokeObjectURL(url), 60000);
    session.saved = true;
  };
  const finish = () => {
    open = false;
    at("done").value = session.answers.length;
    at("summary").textContent = `You answered ${session.answers.length} of ${trials.length} pictures. Your browser now saves the answers. If it does not, press the button.`;
    turnTo("end", at("thanks"));
    save();
  };

  const keyOf = new Map();
  for (const [i, label] of [...study.labels, "I cannot tell"].entries()) {
    const key = i === study.labels.length ? "X" : String((i + 1) % 10);
    const name = i === study.labels.length ? null : study.categories[i];
    const hint = make("kbd", { textContent: key });
    hint.setAttribute("aria-hidden", "true");
    const button = make("button", { type: "button" }, hint, make("bdi", { textContent: label }));
    button.addEventListener("click", () => answer(name));
    keyOf.set(key, name);
    at("answers").append(button);
  }
  document.addEventListener("keydown", (event) => {
    const key = event.key.toUpperCase();
    if (!session.keys || event.repeat || event.ctrlKey || event.metaKey || event.altKey || !keyOf.has(key) || sections[1].hidden) return;
    event.preventDefault();
    answer(keyOf.get(key));
  });

  const link = /^#([AB])$/i.exec(location.hash);
  if (link) {
    form.elements.group.value = link[1].toUpperCase();
    at("groups").hidden = true;
  }
  at("needed").hidden = true;
  form.hidden = false;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const { person, group, keys, consent } = form.elements;
    const name = person.value.trim();
    const missing = [
      [!name, "type your name or code", person], [!group.value, "choose your group", group[0]],
      [!consent.checked, "confirm that you take part of your own free will", consent],
    ].filter(([absent]) => absent);
    at("problem").textContent = missing.length ? `Please ${missing.map(([, words]) => words).join(", and ")}.` : "";
    if (missing.length) {
      missing[0][2].focus();
      return;
    }
    Object.assign(session, { started: new Date().toISOString(), person: name, group: group.value, keys: keys.checked });
    trials = mixed(study.trials[group.value], `${study.study} ${group.value} ${name.toLowerCase()}`);
    for (const hint of document.querySelectorAll("kbd")) hint.hidden = !session.keys;
    turnTo("trial", at("place"));
    show(0);
  });
  at("stop").addEventListener("click", () => {
    if (confirm("Stop here? You cannot continue later. Your answers so far will be saved.")) finish();
  });
  at("save").addEventListener("click", save);
  addEventListener("beforeunload", (event) => {
    if (!session.saved) event.preventDefault();
  });
})();
