"use strict";
(async () => {
  const byId = (id) => document.getElementById(id);
  const main = byId("main");

  // Names come from the files under test. They only ever become text nodes, and
  // what would change how other text reads is written out.
  const HARMFUL = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;
  const clean = (text) =>
    String(text).replace(HARMFUL, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);

  const make = (space) => (tag, attributes, ...children) => {
    const element = space ? document.createElementNS(space, tag) : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes ?? {})) {
      if (typeof value === "function") element.addEventListener(name, value);
      else if (value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : clean(value));
    }
    const kept = children.flat(2).filter((child) => child !== undefined && child !== null && child !== "");
    element.append(...kept.map((child) => (child instanceof Node ? child : clean(child))));
    return element;
  };
  const el = make();
  const svg = make("http://www.w3.org/2000/svg");
  const grouped = (number) => Number(number).toLocaleString("en");
  const hex = (number) => `0x${number.toString(16)}`;
  const counted = (number, one, many) => `${grouped(number)} ${number === 1 ? one : many ?? `${one}s`}`;

  async function unpacked(id) {
    const bytes = Uint8Array.from(atob(byId(id).textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(stream).text());
  }

  const GLYPHS = { agree: "·", known: "k", unexpected: "!", broken: "×", skipped: "–" };

  let index;
  try {
    index = await unpacked("index");
  } catch (error) {
    byId("loading").textContent = `This browser can't unpack the report (${error}); report.json has it too.`;
    return;
  }
  const { cases, findings, summary, outcomes: OUTCOMES, verdicts: VERDICTS } = index;
  const isRun = summary.run !== undefined;
  const isExplored = summary.explore !== undefined;
  let codePromise;
  const code = () => (codePromise ??= unpacked("code"));

  for (const entry of cases) entry.findings = [];
  for (const finding of findings) {
    finding.of = cases[finding.case];
    finding.of.findings.push(finding);
  }
  const caseById = new Map(cases.map((entry) => [entry.id, entry]));
  const casesByBuild = Map.groupBy ? Map.groupBy(cases, (entry) => entry.build) : groupBy(cases, (entry) => entry.build);
  function groupBy(items, key) {
    const groups = new Map();
    for (const item of items) groups.set(key(item), [...(groups.get(key(item)) ?? []), item]);
    return groups;
  }

  // What names mean, said where they stand: pointing at one shows it, and so does pressing it.
  const meaningOf = (kind, name) => index.meanings[kind]?.[name];
  const chip = (text, kind) => el("span", { class: `chip ${kind ?? ""}` }, text);
  function term(kind, name, style) {
    const meaning = meaningOf(kind, name);
    const text = name.replaceAll("_", "-");
    if (!meaning) return el("span", { class: style }, text);
    const note = el("span", { class: "note", role: "note", hidden: true }, meaning);
    const toggle = (isOpen) => {
      note.hidden = !isOpen;
      button.setAttribute("aria-expanded", String(isOpen));
    };
    const button = el("button", { type: "button", class: `term ${style ?? ""}`, title: meaning, "aria-expanded": "false",
      click: () => toggle(note.hidden), keydown: (event) => event.key === "Escape" && toggle(false) }, text);
    return el("span", { class: "explained" }, button, note);
  }
  /** The meanings of the names in a table, folded; printed unfolded. */
  function glossary(groups) {
    const entries = groups.flatMap(([kind, names]) => [...new Set(names)].filter((name) => meaningOf(kind, name))
      .map((name) => [el("dt", {}, name.replaceAll("_", "-")), el("dd", {}, meaningOf(kind, name))]));
    return entries.length ? el("details", { class: "glossary" }, el("summary", {}, "What these words mean"), el("dl", { class: "body" }, entries)) : "";
  }

  /** A text in which the equations of a row, like `CFA = SP+8`, are not broken over lines. */
  const EQUATION = /((?:CFA|RA|FP)(?: = [^,;() ]+(?:\([^()]*\))?| unchanged| undefined| unknown)|\*\([^()]*\))/;
  const prose = (text) => clean(text ?? "").split(EQUATION).map((part, position) => (position % 2 ? el("span", { class: "whole" }, part) : part));
  /** The name of what is at an address, or the library and the address. */
  const nameAt = (name, image, address) => (name && name !== address ? name : `${image ? `${image}!` : ""}${address ?? "–"}`);

  /** A box that scrolls where its contents are wider; each has a name of its own. */
  let boxes = 0;
  const scrolled = (name, ...children) => el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `${name} (${++boxes})` }, ...children);
  /** The head of a table. A name in parentheses is heard, and not seen. */
  const headOf = (names) => el("thead", {}, el("tr", {}, names.map((name) => el("th", { scope: "col" },
    name.startsWith("(") ? el("span", { class: "heard" }, name.slice(1, -1)) : name))));

  /** Which line of its listing a finding is about: a frame that has made a call is at the call, before its PC. */
  function hereOf(finding) {
    const pc = finding.pc === null ? -1n : BigInt(finding.pc);
    return finding.listing.findLastIndex((line) => (finding.frame > 0 ? BigInt(line.pc) < pc : BigInt(line.pc) <= pc));
  }
  const addressOf = (finding) => finding.listing[hereOf(finding)]?.pc ?? finding.pc;
  const titleOf = (finding) => nameAt(finding.function, finding.image, addressOf(finding));

  // Places within the page.
  const path = (id) => encodeURIComponent(id).replaceAll("%2F", "/");
  const caseLink = (entry, at) => `#/case/${path(entry.id)}${at === undefined ? "" : `?at=${encodeURIComponent(at)}`}`;
  const findingLink = (finding) => `#/finding/${path(finding.of.id)}/${finding.id}`;
  function route() {
    const hash = location.hash.slice(1) || "/";
    const [place, query] = [hash.split("?")[0], new URLSearchParams(hash.split("?").slice(1).join("?"))];
    const kind = place.split("/")[1] ?? "";
    let id;
    try {
      id = decodeURIComponent(place.slice(kind.length + 2));
    } catch {
      id = place;
    }
    return { kind, id, query };
  }

  // Filters.
  const FILTERS = ["program", "toolchain", "abi", "version", "outcome", "verdict", "blame", "text"];
  /** The parameters that say how tables are sorted: a column, with - before it if from the end. */
  const ORDERS = ["cases", "findings", "known findings"];
  const texts = new Map();
  const textOf = (finding) => {
    if (!texts.has(finding)) {
      const { message, instruction, known, image } = finding;
      const says = finding.evidence.map((evidence) => evidence.says);
      texts.set(finding, [message, instruction, known, image, ...says].join("\n").toLowerCase());
    }
    return texts.get(finding);
  };
  function fits(finding, filter) {
    return (!filter.verdict || finding.verdict === filter.verdict) && (!filter.blame || finding.blame === filter.blame);
  }
  function selected(filter) {
    const text = (filter.text ?? "").toLowerCase();
    const kept = { cases: [], findings: [] };
    for (const entry of cases) {
      if (filter.program && !entry.program.includes(filter.program)) continue;
      if (filter.toolchain && entry.toolchain !== filter.toolchain) continue;
      if (filter.abi && entry.abi !== filter.abi) continue;
      if (filter.version && String(entry.version) !== filter.version) continue;
      if (filter.outcome && entry.outcome !== filter.outcome) continue;
      const inCase = text && `${entry.id}\n${entry.reason ?? ""}`.toLowerCase().includes(text);
      const own = entry.findings.filter((finding) => fits(finding, filter) && (!text || inCase || textOf(finding).includes(text)));
      if ((filter.verdict || filter.blame) && own.length === 0) continue;
      if (text && !inCase && own.length === 0) continue;
      kept.cases.push(entry);
      kept.findings.push(...own);
    }
    return kept;
  }
  function options(name, values) {
    byId(`f-${name}`).append(el("option", { value: "" }, "all"),
      ...values.map((value) => el("option", { value, title: meaningOf(name, value) }, value)));
  }
  const distinct = (values) => [...new Set(values)].sort();
  if (isRun) {
    byId("programs").append(...distinct(cases.map((entry) => entry.program)).map((value) => el("option", { value })));
    options("toolchain", distinct(cases.map((entry) => entry.toolchain)));
    options("abi", distinct(cases.map((entry) => entry.abi)));
    options("version", distinct(cases.map((entry) => String(entry.version))));
    options("outcome", OUTCOMES.filter((outcome) => cases.some((entry) => entry.outcome === outcome)));
    options("verdict", VERDICTS.filter((verdict) => findings.some((finding) => finding.verdict === verdict)));
    options("blame", distinct(findings.map((finding) => finding.blame)));
    const form = byId("filters");
    // On a phone, the first screen is for the verdict.
    const narrow = matchMedia("(max-width: 45rem)");
    const fold = () => (byId("fold").open = !narrow.matches || FILTERS.some((name) => route().query.has(name)));
    fold();
    narrow.addEventListener("change", fold);
    let waiting;
    form.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => {
        const query = new URLSearchParams();
        for (const name of FILTERS) if (byId(`f-${name}`).value) query.set(name, byId(`f-${name}`).value);
        for (const name of ORDERS) if (route().query.has(name)) query.set(name, route().query.get(name));
        location.replace(`#/${query.size ? `?${query}` : ""}`);
      }, 150);
    });
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", () => location.replace("#/"));
  }

  // Overview.
  const CLASSES = { PASS: "agree", FAIL: "unexpected", INCONCLUSIVE: "skipped" };
  /** The verdict on all of the report, which is the one that the terminal shows. */
  function sentence() {
    const word = index.conclusion.split(":")[0];
    return el("p", { class: `verdict ${CLASSES[word] ?? "broken"}` }, `${index.conclusion}.`);
  }
  const tile = (name, value, link, kind) =>
    el("li", { class: kind, title: meaningOf("outcome", name) }, el("b", {}, value), link ? el("a", { href: link }, name) : name);
  /** A share in percent, which is 100.0 only if nothing is missing. */
  const share = (part, whole) => `${(Math.floor((1000 * part) / Math.max(whole, 1)) / 10).toFixed(1)} %`;
  /** Totals of the cases that the filters keep. */
  function totals(kept) {
    const sum = (of) => kept.cases.reduce((sum, entry) => sum + of(entry), 0);
    const run = { cases: kept.cases.length, comparisons: sum((entry) => entry.comparisons), frames: sum((entry) => entry.frames),
      frames_derived: sum((entry) => entry.frames_derived), rows_total: 0, rows_exercised: 0 };
    for (const outcome of OUTCOMES) run[outcome] = kept.cases.filter((entry) => entry.outcome === outcome).length;
    for (const group of groupBy(kept.cases.filter((entry) => entry.rows[0]), (entry) => entry.build).values()) {
      run.rows_total += group[0].rows[0];
      run.rows_exercised += group[0].rows[0] - unexercised(group);
    }
    return run;
  }
  function tiles(kept) {
    const run = totals(kept);
    const short = (number) => (number < 1e6 ? grouped(number)
      : number.toLocaleString("en", { notation: "compact", compactDisplay: "long", maximumSignificantDigits: 3 }));
    return el("ul", { class: "tiles" },
      tile("cases", grouped(run.cases), "#/"),
      OUTCOMES.filter((outcome) => run[outcome]).map((outcome) => tile(outcome, grouped(run[outcome]), `#/?outcome=${outcome}`, outcome)),
      tile("instructions compared", short(run.comparisons)),
      run.frames_derived ? tile("frames derived", short(run.frames_derived)) : "",
      tile(`of ${grouped(run.rows_total)} rows exercised`, share(run.rows_exercised, run.rows_total)));
  }

  const COLOURS = ["#3b82c4", "#d9762b", "#8f5fc0", "#2f9e8f", "#c2487e", "#8a8a2a", "#6b7280", "#b3261e", "#4f9d3a", "#5b4bb5", "#a06a2c", "#257d9e",
    "#a0703c", "#5661c9", "#c9a227", "#7a3b3b", "#3a7a7a", "#935f93", "#d4a5a5", "#4a6fa5", "#b5651d"];
  /** Horizontal bars: each a name, its parts as [kind, number], and a whole if that is more. */
  function bars(title, rows, colour, label) {
    const [left, width, height] = [130, 480, 22];
    const most = Math.max(1, ...rows.map((row) => row.whole ?? row.parts.reduce((sum, part) => sum + part[1], 0)));
    const scale = (width - left - 125) / most;
    const drawing = svg("svg", { viewBox: `0 0 ${width} ${rows.length * height + 4}`, role: "img", "aria-label":
      `${title}: ${rows.map((row) => `${row.name}: ${label(row)}`).join("; ")}` });
    rows.forEach((row, position) => {
      const y = position * height + 3;
      let x = left;
      drawing.append(svg("text", { x: left - 8, y: y + 13, "text-anchor": "end" }, row.name));
      if (row.whole) drawing.append(svg("rect", { x, y, width: row.whole * scale, height: height - 6, class: "track" }));
      for (const [kind, number] of row.parts) {
        if (!number) continue;
        const bar = svg("rect", { x, y, width: number * scale, height: height - 6 }, svg("title", {}, `${row.name}: ${grouped(number)} ${kind}`));
        bar.style.fill = colour(kind);
        drawing.append(bar);
        x += number * scale;
      }
      const end = left + (row.whole ?? row.parts.reduce((sum, part) => sum + part[1], 0)) * scale;
      drawing.append(svg("text", { x: end + 6, y: y + 13 }, label(row)));
    });
    const kinds = [...new Set(rows.flatMap((row) => row.parts.filter((part) => part[1]).map((part) => part[0])))];
    const legend = el("ul", { class: "legend" }, kinds.map((kind) => {
      const swatch = el("i", { "aria-hidden": "true" });
      swatch.style.setProperty("--swatch", colour(kind));
      return el("li", { title: meaningOf("outcome", kind) ?? meaningOf("verdict", kind) }, swatch, kind);
    }));
    return el("figure", {}, el("figcaption", {}, title), rows.length ? drawing : el("p", { class: "faint" }, "none"), kinds.some((kind) => kind !== "exercised") ? legend : "");
  }
  /** Rows of a build that no case of it exercises. */
  function unexercised(group) {
    const key = ([name, start]) => `${start} ${name}`;
    const [first, ...others] = group;
    const sets = others.map((entry) => new Set(entry.unreached.map(key)));
    return first.unreached.filter((row) => sets.every((set) => set.has(key(row)))).length;
  }
  // Those with the most cases first.
  const casesOf = groupBy(cases, (entry) => entry.toolchain);
  const toolchainOrder = (a, b) => casesOf.get(b).length - casesOf.get(a).length || (a < b ? -1 : 1);
  function plots(kept) {
    const byToolchain = [...groupBy(kept.cases, (entry) => entry.toolchain)].sort(([a], [b]) => toolchainOrder(a, b));
    const outcomes = byToolchain.map(([name, group]) => ({
      name, parts: OUTCOMES.map((outcome) => [outcome, group.filter((entry) => entry.outcome === outcome).length]),
    }));
    const rows = byToolchain.map(([name, group]) => {
      let [whole, part] = [0, 0];
      for (const cases of groupBy(group.filter((entry) => entry.rows[0]), (entry) => entry.build).values()) {
        whole += cases[0].rows[0];
        part += cases[0].rows[0] - unexercised(cases);
      }
      return { name, whole, parts: [["exercised", part]] };
    });
    const verdicts = [...groupBy(kept.findings, (finding) => finding.of.toolchain)].sort(([a], [b]) => toolchainOrder(a, b))
      .map(([name, group]) => ({
        name, parts: VERDICTS.map((verdict) => [verdict, group.filter((finding) => finding.verdict === verdict).length]),
      }));
    const total = (row) => grouped(row.parts.reduce((sum, part) => sum + part[1], 0));
    return el("section", { class: "plots", "aria-label": "Plots" },
      bars("Cases by toolchain and outcome", outcomes, (kind) => `var(--${kind})`, total),
      bars("Rows exercised by toolchain", rows, () => "var(--agree)",
        (row) => `${share(row.parts[0][1], row.whole)} of ${grouped(row.whole)}`),
      bars("Rows with findings, known ones included, by verdict", verdicts, (kind) => COLOURS[VERDICTS.indexOf(kind)] ?? "gray", total));
  }

  function matrix(kept) {
    const columns = distinct(kept.cases.map((entry) => `${entry.toolchain}\t${entry.abi}`))
      .map((column) => column.split("\t")).sort(([a, abi], [b, other]) => toolchainOrder(a, b) || (abi < other ? -1 : abi > other ? 1 : 0));
    const programs = [...groupBy(kept.cases, (entry) => entry.program)].sort(([a], [b]) => (a < b ? -1 : 1));
    const toolchains = [...groupBy(columns, ([toolchain]) => toolchain)];
    const table = el("table", {},
      el("thead", {},
        el("tr", {}, el("th", { rowspan: 2, scope: "col" }, "program"),
          toolchains.map(([name, group]) => el("th", { colspan: group.length, scope: "colgroup" }, name))),
        el("tr", {}, columns.map(([, abi]) => el("th", { scope: "col" }, abi)))),
      el("tbody", {}, programs.map(([program, group]) => {
        const cells = groupBy(group, (entry) => `${entry.toolchain}\t${entry.abi}`);
        return el("tr", {}, el("th", { scope: "row" }, program), columns.map((column) =>
          el("td", {}, el("div", { class: "cells" }, (cells.get(column.join("\t")) ?? []).map((entry) => {
            const name = `${entry.id}: ${entry.outcome}${countOf(entry) ? `, ${counted(countOf(entry), "finding")}` : ""}`;
            return el("a", { href: caseLink(entry), class: entry.outcome, title: name, "aria-label": name, tabindex: -1 }, GLYPHS[entry.outcome]);
          })))));
      })));
    const links = [...table.querySelectorAll("a")];
    links[0]?.setAttribute("tabindex", "0");
    table.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      const vertical = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      const at = links.indexOf(document.activeElement);
      if (at < 0 || !(step || vertical)) return;
      let next = links[at + (step ?? 0)];
      if (vertical) {
        const cell = links[at].closest("td");
        let row = cell.parentElement;
        do {
          row = vertical > 0 ? row.nextElementSibling : row.previousElementSibling;
        } while (row && !row.children[cell.cellIndex].querySelector("a"));
        next = row?.children[cell.cellIndex].querySelector("a");
      }
      if (!next) return;
      event.preventDefault();
      links[at].setAttribute("tabindex", "-1");
      next.setAttribute("tabindex", "0");
      next.focus();
    });
    const legend = el("p", { class: "faint" }, "One mark for each case, in the order of variants: ",
      OUTCOMES.map((outcome) => `${GLYPHS[outcome]} ${outcome}`).join(", "), ". Arrow keys move between them.");
    return el("section", {}, el("h2", {}, "Programs and builds"), legend,
      el("div", { class: "scroll matrix", role: "region", "aria-label": "Programs and builds", tabindex: 0 }, table));
  }

  /** Findings about a whole run have no culprit. */
  const isUnknown = (finding) => finding.blame === "unknown";
  const isBlamed = (finding) => Boolean(finding.pc) || !isUnknown(finding);
  /** What a finding is to its reader, and the outcome whose colour it has. */
  const kindOf = (finding) => (finding.known !== undefined ? (finding.blame === "format" ? "format" : "known") : finding.fault !== undefined ? "known bug" : "unexpected");
  const colourOf = (finding) => (kindOf(finding) === "unexpected" ? "unexpected" : "known");
  const chipOf = (finding) => (finding.certainty === undefined ? chip(kindOf(finding), colourOf(finding))
    : term("certainty", finding.certainty, `chip ${finding.certainty === "proved" ? "unexpected" : "skipped"}`));
  const outcomeChip = (outcome) => term("outcome", outcome, `chip ${outcome}`);
  const findingsOf = (list) => list.reduce((sum, finding) => sum + (finding.stands_for ?? 1), 0);
  /** What the format can't express is nobody's fault, and no finding. */
  const beyondTheFormat = (list) => findingsOf(list.filter((finding) => kindOf(finding) === "format"));
  const countOf = (entry) => entry.count - beyondTheFormat(entry.findings);
  /** The outcome of a case; of a file whose result proves nothing, why. What the format can't express is nothing that is known. */
  function resultChip(entry) {
    if (entry.without_result) return chip(entry.without_result, entry.outcome);
    const beyond = entry.outcome === "known" && !countOf(entry) ? beyondTheFormat(entry.findings) : 0;
    return beyond ? chip(`right except for ${counted(beyond, "place")} that can't be expressed in SFrame`, entry.outcome) : outcomeChip(entry.outcome);
  }
  /** Findings of cases that the page has no room for. */
  const unlisted = (entries) => entries.reduce((sum, entry) => sum + entry.count - findingsOf(entry.findings), 0);
  /** Columns: a name, what to sort by, the contents of a cell, and what a CSV file has of it. */
  const findingColumns = (withCase) => [
    { name: "verdict", key: (finding) => finding.verdict, cell: (finding) => el("td", { class: "head" },
      el("a", { href: findingLink(finding), title: meaningOf("verdict", finding.verdict) }, finding.verdict), " ", chipOf(finding)) },
    { name: "function", key: (finding) => titleOf(finding),
      cell: (finding) => el("td", { class: "name" }, titleOf(finding)) },
    { name: "row, or what it is", key: (finding) => (finding.row ? `+${finding.row.start}: ${finding.row.rules}` : finding.message),
      cell: (finding) => (finding.row ? el("td", { class: "code" }, prose(`+${finding.row.start}: ${finding.row.rules}`)) : el("td", {}, prose(finding.message))) },
    { name: "blame", key: (finding) => (isBlamed(finding) ? finding.blame : ""), cell: (finding) => el("td", {}, isBlamed(finding) ? term("blame", finding.blame) : "") },
    { name: "places", isNumber: true, key: (finding) => finding.places, cell: (finding) => el("td", { class: "num" }, grouped(finding.places)) },
    { name: "times", isNumber: true, key: (finding) => finding.hits, cell: (finding) => el("td", { class: "num" }, grouped(finding.hits)) },
    ...(withCase ? [{ name: "case", key: (finding) => finding.of.id,
      cell: (finding) => el("td", {}, el("a", { href: caseLink(finding.of) }, finding.of.id)) }] : []),
  ];
  const caseColumns = [
    { name: "case", key: (entry) => entry.id, cell: (entry) => el("td", {}, el("a", { href: caseLink(entry) }, entry.id)) },
    { name: "outcome", key: (entry) => OUTCOMES.indexOf(entry.outcome), cell: (entry) => el("td", {}, outcomeChip(entry.outcome)) },
    { name: "toolchain", key: (entry) => entry.toolchain },
    { name: "ABI", key: (entry) => entry.abi },
    { name: "version", isNumber: true, key: (entry) => entry.version },
    { name: "findings", isNumber: true, key: countOf },
    { name: "compared", isNumber: true, key: (entry) => entry.comparisons },
    { name: "frames derived", isNumber: true, key: (entry) => entry.frames_derived },
    { name: "rows", isNumber: true, key: (entry) => entry.rows[0] },
    { name: "rows exercised", isNumber: true, key: (entry) => entry.rows[1] },
  ];
  const names = new Intl.Collator("en", { numeric: true });
  function compared(column, a, b) {
    const [one, other] = [column.key(a), column.key(b)];
    return typeof one === "number" ? one - other : names.compare(one, other);
  }
  /** A table whose columns can be sorted by, and a button that saves it in that order, if it has a form; the order is kept in the
   *  address, as this parameter. */
  function sortedTable(parameter, columns, list, name, csv) {
    let order = (parameter && route().query.get(parameter)) || "";
    const column = () => columns.find(({ name }) => name === order.replace(/^-/, ""));
    const cell = (column, item) => column.cell?.(item) ?? el("td", { class: column.isNumber ? "num" : "" },
      column.isNumber ? grouped(column.key(item)) : column.key(item));
    const heads = columns.map((column) => el("th", { scope: "col", class: column.isNumber ? "num" : undefined }, el("button", { type: "button", click: () => sort(column) }, column.name)));
    const box = el("div", {});
    const head = el("thead", {}, el("tr", {}, heads));
    const sorted = () => {
      const by = column();
      const items = by ? [...list].sort((a, b) => compared(by, a, b)) : list;
      return by && order.startsWith("-") ? items.reverse() : items;
    };
    const show = () => {
      const by = column();
      columns.forEach((column, position) => {
        if (column === by) heads[position].setAttribute("aria-sort", order.startsWith("-") ? "descending" : "ascending");
        else heads[position].removeAttribute("aria-sort");
      });
      box.replaceChildren(pagedTable(head, sorted(), (item) => el("tr", {}, columns.map((column) => cell(column, item)))));
    };
    function sort({ name, isNumber }) {
      // The largest numbers first, and then the other way round.
      order = isNumber ? (order === `-${name}` ? name : `-${name}`) : order === name ? `-${name}` : name;
      const focused = document.activeElement;
      show();
      focused?.focus?.();
      if (!parameter) return;
      const { query } = route();
      query.set(parameter, order);
      history.replaceState(null, "", `${location.hash.split("?")[0] || "#/"}?${query}`);
    }
    show();
    return [box, csv ? csvButton(name, () => csv(sorted())) : ""];
  }
  /** A table that grows by a hundred rows at a time. */
  function pagedTable(head, list, row) {
    const body = el("tbody", {});
    const box = el("div", {}, scrolled("table", el("table", {}, head, body)));
    const more = el("button", { type: "button", class: "more", click: () => add() });
    const rest = el("p", { class: "rest" });
    const STEP = 100;
    const add = () => {
      const shown = body.children.length;
      body.append(...list.slice(shown, shown + STEP).map(row));
      const left = list.length - body.children.length;
      more.textContent = `Show ${Math.min(left, STEP)} of ${grouped(left)} more`;
      rest.textContent = `${grouped(left)} more are not shown.`;
      if (left) box.append(more, rest);
      else [more, rest].forEach((element) => element.remove());
    };
    add();
    return box;
  }

  // Files for spreadsheets: RFC 4180. What would be taken for a formula gets an apostrophe in front.
  const csvCell = (value) => {
    let text = typeof value === "number" ? String(value) : clean(value ?? "");
    if (typeof value !== "number" && /^\s*[=+\-@\uff1d\uff0b\uff0d\uff20]/.test(text)) text = `'${text}`;
    return /[",\r\n']|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const csvOf = (heads, list, values) => [heads, ...list.map(values)].map((row) => `${row.map(csvCell).join(",")}\r\n`).join("");
  const csvOfCases = (list) => csvOf(
    ["case", "program", "toolchain", "abi", "variant", "version", "outcome", "reason", "findings", "instructions", "compared", "agree",
      "frames", "frames_derived", "rows", "rows_exercised", "reproduce"], list,
    (entry) => [entry.id, entry.program, entry.toolchain, entry.abi, entry.variant, entry.version, entry.outcome, entry.reason, countOf(entry),
      entry.instructions, entry.comparisons, entry.agree, entry.frames, entry.frames_derived, entry.rows[0], entry.rows[1], entry.command]);
  const csvOfFindings = (list) => csvOf(
    ["case", "verdict", "known", "fault", "image", "function", "pc", "row", "rules", "expected", "got", "blame", "confidence", "certainty",
      "places", "times", "message", "fingerprint", "reproduce"], list,
    (finding) => [finding.of.id, finding.verdict, finding.known, finding.fault, finding.image, finding.function, finding.pc, finding.row?.start,
      finding.row?.rules, finding.expected, finding.got, isBlamed(finding) ? finding.blame : "", isBlamed(finding) ? finding.confidence : "", finding.certainty,
      finding.places, finding.hits, finding.message, finding.id, finding.of.command]);
  function csvButton(name, text) {
    const save = () => {
      const url = URL.createObjectURL(new Blob([text()], { type: "text/csv;charset=utf-8" }));
      el("a", { href: url, download: `${name}.csv` }).click();
      setTimeout(() => URL.revokeObjectURL(url), 10_000);
    };
    return el("button", { type: "button", class: "csv", click: save }, `Save these ${name} as CSV`);
  }

  // Of one case, the first findings are shown whole, and some more can be unfolded.
  const [OPEN_DETAILS, MOST_DETAILS, FILLED_GROUPS] = [3, 50, 10];
  function findingDetails(finding, isOpen) {
    const details = el("details", { class: "finding", open: isOpen, toggle: () => fill() },
      el("summary", {}, el("b", {}, finding.verdict), ` in ${titleOf(finding)}: ${finding.certainty ?? kindOf(finding)}`));
    const fill = () => details.open && details.children.length === 1 && details.append(el("div", { class: "body" }, findingBody(finding)));
    fill();
    return details;
  }
  const halves = (list) => [false, true].map((isKnown) => list.filter((finding) => (finding.known !== undefined) === isKnown));
  /** The findings of several cases that nobody has accepted, under a name that the order of the table is kept by; or
   *  those of one. */
  function findingSection(list, missing, parameter) {
    // What nobody has explained comes first, and then what seems to be known.
    const sorted = [...list].sort((a, b) => Boolean(a.fault) - Boolean(b.fault) || a.case - b.case);
    const shown = findingsOf(list);
    const possible = findingsOf(list.filter((finding) => finding.certainty === "possible"));
    const count = missing > 0 ? `${grouped(shown)} of ${grouped(shown + missing)}`
      : possible ? `${grouped(shown - possible)} proved, ${grouped(possible)} possible` : grouped(shown);
    return el("section", {}, el("h2", {}, `Findings (${count})`),
      missing > 0 ? el("p", {}, `${counted(missing, "more finding")} ${missing === 1 ? "is" : "are"} in report.json only.`) : "",
      list.length ? [
        el("p", { class: "faint" }, "A line for each wrong row of a case, however many instructions it affects."),
        glossaryOf(list),
        sortedTable(parameter ?? "", findingColumns(parameter), sorted, "findings", csvOfFindings),
        parameter ? "" : sorted.slice(0, MOST_DETAILS).map((finding, rank) => findingDetails(finding, rank < OPEN_DETAILS)),
        !parameter && sorted.length > MOST_DETAILS ? el("p", { class: "faint" }, "Each of the others has a page of its own: see the table.") : "",
        parameter === "findings" ? el("div", { class: "printed" }, sorted.slice(0, MOST_DETAILS).map((finding) => findingDetails(finding, false)),
          sorted.length > MOST_DETAILS ? el("p", { class: "faint" }, "The others are in the table.") : "") : "",
      ] : el("p", {}, "None."));
  }
  const glossaryOf = (list) => glossary([["verdict", list.map((finding) => finding.verdict)], ["blame", list.filter(isBlamed).map((finding) => finding.blame)]]);
  /** What explains findings that are known: a fault, or the reason of an entry. */
  const explanationOf = (finding) => finding.fault ?? `\u0000${finding.known}`;
  /** What is no failure, folded, by the fault or the entry that explains it: the first ones can be searched and printed. */
  function knownSection(list, parameter) {
    if (!list.length) return "";
    const beyond = beyondTheFormat(list);
    const known = findingsOf(list) - beyond;
    const title = !known ? `Places that can't be expressed in SFrame (${grouped(beyond)})`
      : `Known findings (${grouped(known)}${beyond ? `, besides ${counted(beyond, "place")} that can't be expressed in SFrame` : ""})`;
    const groups = [...groupBy(list, explanationOf).values()].sort((a, b) => findingsOf(b) - findingsOf(a));
    return el("section", {}, el("h2", {}, title),
      el("p", { class: "faint" }, "Grouped by the fault or the entry that explains them."), glossaryOf(list),
      groups.map((group, rank) => knownDetails(group, parameter, rank < FILLED_GROUPS)), csvButton("findings", () => csvOfFindings(list)));
  }
  function knownDetails(group, parameter, isFilled) {
    const [{ fault, known }] = group;
    const places = group.reduce((sum, finding) => sum + finding.places, 0);
    const count = kindOf(group[0]) === "format" ? counted(findingsOf(group), "place")
      : `${counted(findingsOf(group), "finding")} at ${counted(places, "place")}`;
    const says = fault ? [el("b", {}, fault), `: ${index.faults[fault]?.title ?? known}`] : known;
    const details = el("details", { class: "group", toggle: () => details.open && fill() }, el("summary", {}, `${count}: `, says));
    const fill = () => details.children.length === 1 && details.append(el("div", {}, sortedTable(parameter ?? "", findingColumns(parameter), group)));
    if (isFilled) fill();
    return details;
  }
  function caseSection(list) {
    return el("section", { class: "cases" }, el("h2", {}, `Cases (${grouped(list.length)})`),
      list.length ? [glossary([["outcome", list.map((entry) => entry.outcome)]]), sortedTable("cases", caseColumns, list, "cases", csvOfCases)] : el("p", {}, "None."));
  }
  /** A sentence's first letter is a capital. */
  function begun(words) {
    return words.charAt(0).toUpperCase() + words.slice(1);
  }
  /** What is worse than in the baseline: of cases that are there no more as well. */
  function worseSection() {
    const worse = Object.entries(index.worse ?? {});
    if (!worse.length) return "";
    const here = new Map(cases.map((entry) => [entry.id, entry]));
    return el("section", {}, el("h2", {}, `${begun(index.worse_words)} (${grouped(worse.length)})`),
      scrolled(index.worse_words, el("table", {}, el("tbody", {}, worse.map(([id, changes]) =>
        el("tr", {}, el("td", {}, here.has(id) ? el("a", { href: caseLink(here.get(id)) }, id) : id), el("td", {}, changes.join("; "))))))));
  }
  function reasons(kept) {
    const told = kept.cases.filter((entry) => entry.reason);
    if (!told.length) return "";
    return el("section", {}, el("h2", {}, "Broken and skipped"), scrolled("broken and skipped", el("table", {}, el("tbody", {},
      told.map((entry) => el("tr", {}, el("td", {}, outcomeChip(entry.outcome)),
        el("td", {}, el("a", { href: caseLink(entry) }, entry.id)), el("td", {}, entry.reason)))))));
  }
  /** What findings come from: faults of components, and then what the corpus does on purpose. */
  function causes(kept) {
    const known = kept.findings.filter((finding) => finding.known);
    const groups = [...groupBy(known, explanationOf)].map(([name, group]) =>
      ({ name, group, fault: index.faults[name], cases: new Set(group.map((finding) => finding.case)).size }));
    groups.sort((a, b) => b.cases - a.cases);
    const first = ({ group }) => findingLink(group[0]);
    const ofFault = (entry) => {
      const [[, versions]] = Object.entries(entry.fault.component);
      const { state, version, link } = entry.fault.upstream;
      const upstream = `${state}${version ? ` in ${version}` : ""}`;
      return el("tr", {}, el("td", {}, el("a", { href: first(entry) }, entry.fault.title)), el("td", {}, versions),
        el("td", { class: "num" }, grouped(entry.cases)), el("td", {}, link?.startsWith("https://") ? el("a", { href: link }, upstream) : upstream));
    };
    const ofCorpus = (entry) => el("tr", {}, el("td", {}, el("a", { href: first(entry) }, entry.group[0].known)),
      el("td", {}, term("blame", entry.group[0].blame)), el("td", { class: "num" }, grouped(entry.cases)));
    const part = (title, names, list, row) => (list.length ? el("section", { class: "causes" }, el("h2", {}, title), pagedTable(headOf(names), list, row)) : "");
    return [
      part("Faults of toolchains", ["fault", "versions", "cases", "upstream"], groups.filter((entry) => entry.fault), ofFault),
      part("What is wrong on purpose, and other known findings", ["reason", "to blame", "cases"], groups.filter((entry) => !entry.fault), ofCorpus),
    ];
  }
  function leftOut() {
    if (!index.functions_left_out) return "";
    return el("p", {}, `${counted(index.functions_left_out, "function")} without a finding are not listed: the page has room for `
      + `${grouped(index.room)} different instructions. Each case names its own.`);
  }
  function overview(query) {
    const filter = Object.fromEntries(query);
    for (const name of FILTERS) byId(`f-${name}`).value = filter[name] ?? "";
    const kept = selected(filter);
    byId("count").textContent = `${grouped(kept.cases.length)} of ${counted(cases.length, "case")}`;
    const set = FILTERS.filter((name) => filter[name]).map((name) => `${name} ${filter[name]}`);
    const printed = set.length ? el("p", { class: "printed" }, `Only ${set.join(", ")}: ${byId("count").textContent}.`) : "";
    const [unexpected, known] = halves(kept.findings);
    // What is left out is not known to have what such filters ask for.
    const isOfFindings = Boolean(filter.verdict || filter.blame || filter.text);
    return [printed, tiles(kept), set.length ? "" : worseSection(), unexpected.length ? findingSection(unexpected, isOfFindings ? 0 : unlisted(kept.cases), "findings") : "", reasons(kept), ...causes(kept), plots(kept),
      matrix(kept), knownSection(known, "known findings"), caseSection(kept.cases), leftOut()];
  }

  // A finding.
  function instructions(finding) {
    const here = hereOf(finding);
    let last;
    const rows = finding.listing.map((line, position) => {
      const isNew = last !== line.row;
      last = line.row;
      return el("tr", { class: `${isNew ? "row" : ""} ${position === here ? "here" : ""}` },
        el("td", { class: "num" }, isNew ? (line.row === null ? "no row" : `+${line.row}`) : ""),
        el("td", { class: "arrow" }, position === here ? el("span", { role: "img", "aria-label": "here" }, "➜") : ""),
        el("td", {}, line.pc), el("td", {}, line.text));
    });
    return el("section", {}, el("h3", {}, "Instructions"), scrolled("instructions", el("table", { class: "code" },
      headOf(["row", "(here)", "address", "instruction"]), el("tbody", {}, rows))));
  }
  function stack(view) {
    const sp = BigInt(view.sp);
    const rows = [];
    let above;
    for (const slot of [...view.slots].reverse()) {
      const address = BigInt(slot.address);
      if (above !== undefined && above - address > 8n) {
        rows.push(el("tr", { class: "gap" }, el("td", { colspan: 4 }, 
          // A frame may be on another stack.
          above - address > 0x100000n ? "another part of memory" : `${counted(Number(above - address) - 8, "byte")} more`)));
      }
      above = address;
      const offset = address - sp;
      const isNear = offset > -0x100000n && offset < 0x100000n;
      const marks = slot.marks.map((mark) => el("span", {
        class: `mark ${mark.includes("by the section") ? "claim" : /true|the caller's/.test(mark) ? "true" : ""}`,
      }, mark));
      rows.push(el("tr", {}, el("td", {}, slot.address), el("td", { class: "num" }, isNear ? `SP${offset < 0n ? "" : "+"}${offset}` : ""),
        el("td", { class: "value" }, slot.value ?? "unreadable"), el("td", {}, marks)));
    }
    return el("section", {}, el("h3", {}, "The stack when it was first seen, higher addresses first"),
      scrolled("stack", el("table", { class: "stack code" },
        headOf(["address", "(from SP)", "value", "what it is"]), el("tbody", {}, rows))),
      el("p", { class: "faint" }, `SP = ${view.sp}, FP = ${view.fp}. `, el("span", { class: "mark claim" }, "what the section says"),
        el("span", { class: "mark true" }, "what is true")));
  }
  const SIDES = { "call-stack": "the call stack", section: "the section", neither: "neither" };
  function witnesses(finding) {
    return el("section", {}, el("h3", {}, "Witnesses"), scrolled("witnesses", el("table", {},
      headOf(["witness", "says", "agrees with"]),
      el("tbody", {}, finding.evidence.map((evidence) => el("tr", {}, el("td", {}, term("witness", evidence.witness)),
        el("td", { class: "code" }, prose(evidence.says)), el("td", {}, SIDES[evidence.agrees_with] ?? "undecided")))))));
  }
  const lines = (texts) => el("ul", {}, texts.map((text) => el("li", {}, text)));
  /** The page of the fault that a finding comes from, folded. */
  function faultView(name) {
    const fault = index.faults[name];
    if (!fault) return "";
    const { example, upstream } = fault;
    const [[tool, versions]] = Object.entries(fault.component);
    const block = (lines) => scrolled("source", el("pre", {}, document.createTextNode(lines.map(clean).join("\n"))));
    const at = example.row === undefined ? example.function : `${example.function}, row +${example.row}`;
    const isLink = upstream.link?.startsWith("https://");
    const state = [upstream.state, upstream.version ? ` in ${upstream.version}` : "", upstream.link ? ": " : "",
      isLink ? el("a", { href: upstream.link }, upstream.link) : upstream.link];
    const facts = [
      [tool, versions], ["section", el("code", {}, fault.section)], ["upstream", state],
      [`wrong in ${at}`, el("code", {}, prose(example.wrong))], ["right", el("code", {}, prose(example.right))],
      ["its page", el("code", {}, `sframe-testbench faults ${name}`)],
      ...Object.entries(fault.witnesses).map(([witness, says]) => [witness, says]),
    ];
    const sites = (fault.sites ?? []).map((site) =>
      `${site.file} for ${site.abi}: ${site.function}, row +${site.row}: ${site.wrong}; right: ${site.right}`);
    return el("details", { class: "fault" }, el("summary", {}, "Fault ", el("b", {}, name)),
      el("p", { class: "body" }, fault.summary),
      el("dl", { class: "body" }, facts.map(([key, value]) => [el("dt", {}, key), el("dd", {}, value)])),
      sites.length ? lines(sites) : "",
      Object.entries(index.sources[name]).map(([file, text]) => [el("p", { class: "body" }, el("code", {}, file)), block(text)]),
      el("p", { class: "body" }, `Made for ${example.abi} by ${example.toolchain}:`),
      block(example.commands.map((line) => `$ ${line}`)));
  }
  function findingView(finding) {
    const title = `${finding.verdict} in ${titleOf(finding)}`;
    return [el("h2", { tabindex: -1 }, isBlamed(finding) || finding.function ? title : finding.verdict, " ", chipOf(finding)), ...findingBody(finding)];
  }
  function findingBody(finding) {
    const entry = finding.of;
    const where = (finding.image ? `${finding.image}!` : "") + (addressOf(finding) ?? "");
    const facts = [
      ["case", el("a", { href: caseLink(entry) }, entry.id)],
      ...(finding.row ? [["row", el("code", {}, prose(`+${finding.row.start}: ${finding.row.rules}`))]] : []),
      [finding.sides[0], finding.got], [finding.sides[1], finding.expected],
      ...(isBlamed(finding) ? [["likely cause", [el("b", {}, finding.blame), isUnknown(finding) ? "" : ` (confidence ${finding.confidence})`, el("br", {}),
        el("span", { class: "faint" }, meaningOf("blame", finding.blame) ?? "", isUnknown(finding) ? "" : ` ${meaningOf("confidence", finding.confidence) ?? ""}`)]]] : []),
      ...(finding.hint ? [["hint", finding.hint]] : []),
      ["seen", `${counted(finding.hits, "time")}${finding.places > 1 ? `, at ${counted(finding.places, "place")}` : ""}`],
      ...(finding.doubts?.length ? [["not proved, as", lines(finding.doubts)]] : []),
      ...(finding.assumptions?.length ? [["assumed", lines(finding.assumptions)]] : []),
      ["Reproduce with", el("code", {}, entry.command)], ["fingerprint", el("code", {}, finding.id)],
    ];
    return [
      el("p", { class: "faint meaning" }, el("b", {}, finding.verdict), ": ", meaningOf("verdict", finding.verdict)),
      el("p", {}, prose(finding.message)),
      finding.known !== undefined ? el("p", { class: "reason" }, el("b", {}, "Known: "), finding.known)
        : finding.fault ? el("p", { class: "reason" }, el("b", {}, "A known bug: "), index.faults[finding.fault]?.title ?? finding.fault) : "",
      finding.fault === undefined ? "" : faultView(finding.fault),
      el("dl", {}, facts.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])),
      finding.brief ? el("p", {}, "Instructions, witnesses and stack are in report.json only: there are too many findings.") : "",
      el("div", { class: "pair" }, finding.listing.length ? instructions(finding) : "", finding.stack ? stack(finding.stack) : ""),
      finding.evidence.length ? witnesses(finding) : "",
      finding.pc && !isExplored ? el("p", {}, el("a", { href: caseLink(entry, where) }, "The whole function, with rows, CFI and call stack side by side")) : "",
    ];
  }

  // A case, and its functions.
  const parts = (rules) => rules.split(/, (?=RA |FP )/);
  const BITS = { CFA: 1, RA: 2, FP: 4 };
  function rulesCell(rules, wrong) {
    const spans = parts(rules).map((part, position) => {
      const isWrong = wrong & 8 || wrong & (BITS[part.split(" ")[0]] ?? 0);
      return [position ? ", " : "", el("span", isWrong ? { class: "wrong whole", title: "wrong here" } : { class: "whole" }, part)];
    });
    return spans;
  }
  /** The functions of a case, with the texts that their lists speak of. */
  function functionsOf(pool, entry) {
    const listing = pool.cases[entry.id];
    if (!listing) return [];
    return listing.functions.map(([image, start, body, course]) => ({
      image: pool.texts[image], start: BigInt(`0x${start}`), body: pool.bodies[body], course: pool.courses[course],
      name: pool.texts[pool.bodies[body].name],
    }));
  }
  function lengthOf({ body }) {
    let bytes = 0;
    for (let at = 0; at < body.code.length; at += 2) bytes += body.code[at];
    return bytes;
  }
  function hitsOf({ course }) {
    const hits = [];
    for (let at = 0; at < course.hits.length; at += 2) hits.push(...new Array(course.hits[at]).fill(course.hits[at + 1]));
    return hits;
  }
  /** From a flat list of changes, what holds at each line. */
  function changes(list, width) {
    const at = new Map();
    for (let position = 0; position < list.length; position += width) at.set(list[position], list.slice(position + 1, position + width));
    return at;
  }
  function functionTable(pool, item, marked) {
    const { body, course } = item;
    const hits = hitsOf(item);
    const [rows, cfi, frames, wrong] = [changes(body.rows, 3), changes(body.cfi, 2), changes(course.frames, 2), changes(course.wrong, 2)];
    const lines = [];
    let address = item.start;
    let [rules, cfiText, frameText] = ["", "", ""];
    for (let line = 0; line * 2 < body.code.length; line++) {
      const next = address + BigInt(body.code[line * 2]);
      const [row, told, frame] = [rows.get(line), cfi.get(line), frames.get(line)];
      const bits = wrong.get(line)?.[0] ?? 0;
      if (row) rules = pool.texts[row[1]];
      if (told) cfiText = pool.texts[told[0]];
      if (frame) frameText = pool.texts[frame[0]];
      const isHere = marked !== undefined && marked >= address && marked < next;
      lines.push(el("tr", { class: `${row ? "row" : ""} ${hits[line] ? "" : "never"} ${isHere ? "here" : ""}` },
        el("td", {}, hex(address)), el("td", {}, pool.texts[body.code[line * 2 + 1]]),
        el("td", { class: "num" }, hits[line] ? grouped(hits[line]) : "never"),
        el("td", {}, row ? el("span", { class: "start" }, row[1] ? `+${hex(row[0])}` : "") : "",
          row || bits ? (rules ? rulesCell(rules, bits) : bits ? el("span", { class: "wrong" }, "no row") : "no row") : ""),
        el("td", {}, row || told ? (cfiText && cfiText === rules ? "the same" : prose(cfiText || "none")) : ""),
        el("td", {}, row || frame ? prose(frameText || "not compared") : "")));
      address = next;
    }
    const heads = ["address", "instruction", "executed", "SFrame row", "CFI", "call stack, at the first comparison"];
    return scrolled(`listing of ${item.name}`, el("table", { class: "code listing" }, headOf(heads), el("tbody", {}, lines)));
  }
  function exercised(item) {
    const hits = hitsOf(item);
    const starts = [];
    for (let at = 0; at < item.body.rows.length; at += 3) starts.push(item.body.rows.slice(at, at + 3));
    const used = new Set();
    starts.forEach(([line, start, rules], position) => {
      const end = starts[position + 1]?.[0] ?? hits.length;
      if (rules && hits.slice(line, end).some(Boolean)) used.add(start);
    });
    return used.size;
  }
  const isAt = (item, at) => at.image === item.image && at.address >= item.start && at.address < item.start + BigInt(lengthOf(item));
  /** How many instructions of a function have executed, and how many there are. */
  const instructionsOf = (item) => item.course.folded ?? [hitsOf(item).filter(Boolean).length, item.body.code.length / 2];
  const executedOnce = (item) => instructionsOf(item)[0] > 0;
  function functionDetails(pool, entry, item, at, isFirst) {
    const isHere = at && isAt(item, at);
    const wrong = item.course.wrong.length / 2;
    const explored = wrongUnexercised(entry).get(item.name) ?? 0;
    const [executed, all] = instructionsOf(item);
    const link = `${item.image ? `${item.image}!` : ""}${hex(item.start)}`;
    const details = el("details", { toggle: () => open() },
      el("summary", {}, el("b", {}, nameAt(item.name, item.image, hex(item.start))), item.name === hex(item.start) ? ": " : ` at ${hex(item.start)}: `,
        item.body.row_count ? `${exercised(item)} of ${counted(item.body.row_count, "row")} exercised, ` : "no rows, ",
        `${grouped(executed)} of ${counted(all, "instruction")} executed `,
        wrong ? chip(`wrong at ${wrong}`, "unexpected") : "",
        explored ? chip(`${counted(explored, "row")} wrong that did not run`, "unexpected") : ""));
    const open = () => {
      if (!details.open || details.children.length > 1) return;
      const { folded } = item.course;
      details.append(el("p", { class: "body" }, el("a", { href: caseLink(entry, link) }, "Link to this function"),
        !folded ? "" : executed ? `. ${explored ? "What is wrong in it did not run" : "Nothing that was checked in it is wrong"}: each line is the first instruction of a row, with the executions of the one that ran most.`
          : `. It is not listed, since it did not run${explored ? "; the rows that are not exercised say what is wrong" : ", and nothing in it is wrong"}.`),
        ...(folded && !executed ? [] : [functionTable(pool, item, isHere ? at.address : undefined)]));
    };
    if (isHere || (wrong && isFirst)) {
      details.open = true;
      open();
    }
    if (isHere) details.dataset.here = "";
    return details;
  }
  /** How many rows exploring proves to be wrong that did not run, by function. */
  function wrongUnexercised(entry) {
    return entry.wrong_unexercised ??= entry.unreached.reduce((counts, [name, , , explored]) =>
      explored?.startsWith("wrong") ? counts.set(name, (counts.get(name) ?? 0) + 1) : counts, new Map());
  }
  const isWhole = (entry) => entry.comparisons === entry.instructions;
  /** Functions of a library in which nothing is wrong, folded. */
  function rightFunctions(pool, entry, image, items, at) {
    const executed = items.filter(executedOnce).length;
    const holds = at && items.some((item) => isAt(item, at));
    const details = el("details", { class: "library", toggle: () => fill() }, el("summary", {}, el("b", {}, image || "the program"),
      `: ${counted(items.length, "function")} in which nothing ${isWhole(entry) ? "is" : "that was checked is"} wrong, ${grouped(executed)} of them executed`));
    const fill = () => {
      if (!details.open || details.children.length > 1) return;
      const box = el("div", { class: "body" });
      const more = el("button", { type: "button", class: "more", click: () => add() });
      let shown = 0;
      const add = () => {
        const step = holds ? items.length : 200;
        box.append(...items.slice(shown, shown + step).map((item) => functionDetails(pool, entry, item, at)));
        shown = Math.min(shown + step, items.length);
        more.textContent = `Show ${grouped(Math.min(items.length - shown, step))} of ${grouped(items.length - shown)} more`;
        if (shown === items.length) more.remove();
      };
      details.append(box, more);
      add();
    };
    if (holds) {
      details.open = true;
      fill();
    }
    return details;
  }
  function functionSection(entry, at) {
    const section = el("section", {}, el("h2", {}, "Functions"), el("p", { class: "faint" },
      "Rows are given where they begin and where they are wrong; CFI and call stack there too, and where they change. The call stack's column says what was observed ",
      "of the frame before the instruction, without rules: “unchanged” is in the register, ", el("span", { class: "whole" }, "*(CFA-n)"), " a word stored since ",
      "the call which has the value; a frame pointer of 0 is not searched for."));
    const box = el("div", {}, el("p", {}, "Unpacking."));
    section.append(box);
    code().then((pool) => {
      const items = functionsOf(pool, entry).sort((a, b) => (a.image < b.image ? -1 : a.image > b.image ? 1 : a.start < b.start ? -1 : 1));
      const left = pool.cases[entry.id]?.left_out ?? [];
      const explored = wrongUnexercised(entry);
      const hasWrong = (item) => item.course.wrong.length > 0 || explored.has(item.name);
      const [wrong, right] = [true, false].map((isWrong) => items.filter((item) => hasWrong(item) === isWrong));
      box.replaceChildren(...wrong.map((item, rank) => functionDetails(pool, entry, item, at, rank < OPEN_DETAILS)),
        ...[...groupBy(right, (item) => item.image)].map(([image, group]) => rightFunctions(pool, entry, image, group, at)),
        ...(items.length ? [] : [el("p", {}, entry.instructions ? "None: the code was not listed where the case was run." : "None: the case was not run.")]),
        ...(left.length ? [el("p", {}, `Left out, since the page has room for ${grouped(index.room)} different instructions, and nothing in them is wrong: ${left.map((name) => pool.texts[name]).join(", ")}`)] : []));
      box.querySelector("[data-here] tr.here, [data-here]")?.scrollIntoView({ block: "center" });
    });
    return section;
  }
  /** The first functions without an FDE; the others are folded: of a large program these are hundreds of entries of its PLT. */
  function uncoveredNames({ uncovered }) {
    const [shown, listed] = [8, 100];
    const names = (from, to) => uncovered.slice(from, to).map(([name, count]) => `${name} (${counted(count, "instruction")})`).join(", ");
    const more = uncovered.length > listed ? `, and ${grouped(uncovered.length - listed)} more` : "";
    const rest = uncovered.length - shown;
    return [names(0, shown), rest > 0 ? el("details", {}, el("summary", {}, `and ${counted(rest, "more function")}`), `${names(shown, listed)}${more}`) : ""];
  }
  /** How the walks of a case ended, each with what that means. */
  function ends({ no_fde, entry_without_fde, ...others }) {
    // Those that end at the entry function are among those without an FDE.
    const counts = { ...others, no_fde: no_fde - entry_without_fde, entry_without_fde };
    const seen = Object.entries(counts).filter(([, count]) => count);
    return seen.map(([name, count], position) => [position ? ", " : "", `${grouped(count)} `, term("end", name)]);
  }
  function caseView(entry, query) {
    const where = query.get("at") ?? "";
    const [image, digits] = where.includes("!") ? [where.slice(0, where.lastIndexOf("!")), where.slice(where.lastIndexOf("!") + 1)] : ["", where];
    const at = /^0x[0-9a-f]{1,16}$/.test(digits) ? { image, address: BigInt(digits) } : undefined;
    const rows = `${grouped(entry.rows[1])} of ${grouped(entry.rows[0])} exercised, ${grouped(entry.rows[2])} as a caller's`;
    const others = casesByBuild.get(entry.build).filter((other) => other !== entry);
    const facts = [
      ...(isRun ? [["build", el("a", { href: `#/build/${path(entry.build)}` }, entry.build)]] : []),
      ["ABI", entry.abi], ["SFrame version", entry.version],
      ["instructions", `${grouped(entry.instructions)} executed, ${grouped(entry.comparisons)} compared, ${grouped(entry.agree)} agree`],
      ["frames", `${grouped(entry.frames_derived)} derived, ${grouped(entry.frames - entry.frames_derived)} unchanged, at most ${grouped(entry.depth)} deep`], ["rows", rows],
      ...(entry.ends ? [["walks ended", ends(entry.ends)]] : []),
      ...(entry.signals ? [["signals", grouped(entry.signals)]] : []),
      ...(entry.uncovered.length ? [["without FDE", uncoveredNames(entry)]] : []),
      ...(entry.sections ? [["sections", el("ul", {}, entry.sections.map((section) => el("li", {}, section)))]] : []),
      ...(entry.excluded ? [["excluded", el("ul", {}, entry.excluded.map((line) => el("li", {}, line.replace("excluded: ", ""))))]] : []),
      ...(entry.program_did ? [["the program", el("ul", {}, entry.program_did.map((line) => el("li", {}, line)))]] : []),
      ...(others.length ? [["same build", others.map((other, position) => [position ? ", " : "", el("a", { href: caseLink(other) }, other.id)])]] : []),
      ["Reproduce with", el("code", {}, entry.command)],
    ];
    const agreeing = entry.unreached_agree ?? 0;
    const unreached = entry.unreached.length + agreeing
      ? el("details", {}, el("summary", {}, `${counted(entry.unreached.length + agreeing, "row")} not exercised`,
          agreeing ? `; ${grouped(agreeing)} of them agree when they are explored, and are not listed` : ""),
        pagedTable("", entry.unreached, ([name, start, reason, explored]) =>
          el("tr", {}, el("td", {}, `${name} +${start}`), el("td", {}, reason || (isRun ? "no reason given" : "")),
            el("td", {}, explored ? `explored: ${explored}` : ""))))
      : "";
    const missing = unlisted([entry]);
    const [unexpected, known] = halves(entry.findings);
    return [
      el("h2", { tabindex: -1 }, entry.id, " ", resultChip(entry)),
      entry.reason ? el("p", { class: "reason" }, entry.reason) : "",
      entry.as_in_baseline ? el("p", { class: "reason" }, `It fails as in the ${index.baseline}.`) : "",
      index.worse?.[entry.id] ? el("p", { class: "reason" }, `${begun(index.worse_words)}: ${index.worse[entry.id].join("; ")}.`) : "",
      entry.missing_fde ? el("p", { class: "reason" }, `${entry.missing_fde}.`) : "",
      entry.sample ? el("p", { class: "reason" }, `${entry.sample}.`) : "",
      findingSection(unexpected, missing),
      knownSection(known),
      entry.omission ? el("p", {}, `${entry.omission}.`) : "",
      functionSection(entry, at),
      el("h2", {}, "What was run"),
      el("dl", {}, facts.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])),
      unreached,
    ];
  }

  // An explored file.
  function functionRows() {
    const heads = ["function", "address", "rows", "checked", "wrong", "possibly wrong", "not checked"];
    const functions = index.functions ?? [];
    return el("section", {}, el("h2", {}, `Functions with rows that don't agree (${grouped(functions.length)})`),
      functions.length ? pagedTable(headOf(heads), functions,
        ({ name, pc, rows, reasons }) => el("tr", {}, el("td", {}, name || "–"), el("td", {}, pc),
          rows.map((count) => el("td", { class: "num" }, grouped(count))), el("td", {}, reasons.join("; ")))) : el("p", {}, "None."));
  }
  function exploredView(entry) {
    const all = summary.explore;
    const facts = [["ABI", entry.abi], ["SFrame version", entry.version],
      ...(entry.sections ? [["section", lines(entry.sections)]] : []),
      ...(entry.program_did ? [["not decided", lines(entry.program_did)]] : []),
      ["Reproduce with", el("code", {}, entry.command)]];
    const missing = unlisted([entry]);
    const [unexpected, known] = halves(entry.findings);
    return [
      el("h2", { tabindex: -1 }, entry.id, " ", resultChip(entry)),
      el("ul", { class: "tiles" }, tile("functions explored", grouped(all.functions)),
        tile(`of ${grouped(all.rows_total)} rows checked`, share(all.rows_checked, all.rows_total)),
        [["wrong", all.rows_wrong, "unexpected"], ["possibly wrong", all.rows_possible], ["agree", all.rows_agree, "agree"],
          ["agree in part", all.rows_partly]].filter(([, count]) => count).map(([name, count, kind]) => tile(name, grouped(count), undefined, kind))),
      findingSection(unexpected, missing),
      knownSection(known),
      functionRows(),
      el("h2", {}, "What was explored"),
      el("dl", {}, facts.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])),
    ];
  }

  function content({ kind, id, query }) {
    if (isExplored && kind === "") return ["", exploredView(cases[0])];
    if (isExplored && kind === "case" && caseById.has(id)) return [id, exploredView(caseById.get(id))];
    if (kind === "case" && caseById.has(id)) return [id, caseView(caseById.get(id), query)];
    if (kind === "build" && casesByBuild.has(id)) return [id, casesByBuild.get(id).map((entry) => caseView(entry, query))];
    if (kind === "finding") {
      const cut = id.lastIndexOf("/");
      const finding = caseById.get(id.slice(0, cut))?.findings.find((finding) => finding.id === id.slice(cut + 1));
      if (finding) return [`${finding.verdict} in ${finding.of.id}`, findingView(finding)];
    }
    if (kind === "") return isRun ? ["", overview(query)] : ["", caseView(cases[0], query)];
    return ["not there", [el("h2", { tabindex: -1 }, "Not in this report"), el("p", {}, `Nothing here is called “${id}”.`),
      el("p", {}, el("a", { href: "#/" }, "To the overview"))]];
  }
  let lastKind;
  function render() {
    const place = route();
    const [title, children] = content(place);
    byId("filters").hidden = !isRun || place.kind !== "";
    main.replaceChildren(...(place.kind && isRun ? [el("p", {}, el("a", { href: "#/" }, "← Overview"))] : []), ...children.flat(2).filter(Boolean));
    document.title = `${title ? `${clean(title)} – ` : ""}SFrame test bench`;
    // In the overview the focus stays in the filters.
    if (place.kind !== "" || (lastKind ?? "") !== "") {
      main.querySelector("h2[tabindex]")?.focus({ preventScroll: true });
      if (!place.query.has("at")) scrollTo(0, 0);
    }
    lastKind = place.kind;
  }
  byId("skip").addEventListener("click", (event) => {
    event.preventDefault();
    main.focus();
  });
  byId("about").textContent = isRun
    ? "The unwinder's backtraces, compared with the real call stack."
    : isExplored ? `One file, each function by itself: ${clean(cases[0].id)}`
    : `One file, before every instruction: ${clean(cases[0].id)}`;
  // Where the report comes from.
  const { provenance } = index;
  if (provenance) {
    const took = ({ seconds }) => `${Math.max(seconds, 0.001).toFixed(seconds < 0.1 ? 3 : 1)} seconds`;
    const commit = provenance.commit ? ` (${provenance.commit.slice(0, 12)})` : " (development build)";
    const entries = [
      ["made by", `sframe-testbench ${provenance.version}${commit}`],
      ["command", el("code", {}, clean(provenance.command))],
      ["started", `${provenance.started}, took ${took(provenance)}`],
      ["on", clean(provenance.host)],
      ...Object.entries(provenance.digests).map(([name, digest]) => [`SHA-256 of ${clean(name)}`, el("code", {}, digest)]),
      ...(provenance.parts ?? []).map((part) => ["of", [el("code", {}, part.command), `, ${part.started}, took ${took(part)}, on ${part.host}`]]),
    ];
    byId("provenance").append(el("details", {}, el("summary", {}, `This report: ${provenance.started.slice(0, 10)}, sframe-testbench ${provenance.version}`),
      el("dl", {}, entries.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]))));
    byId("provenance").hidden = false;
  }
  byId("verdict").append(sentence());
  // On paper nothing can be unfolded.
  addEventListener("beforeprint", () => document.querySelectorAll("details.glossary, details.fault, details.finding, details.group, #provenance details")
    .forEach((details) => {
      details.open = true;
      // The browser's own event comes too late.
      details.dispatchEvent(new Event("toggle"));
    }));
  addEventListener("hashchange", render);
  render();
  document.body.dataset.ready = "";
})();
