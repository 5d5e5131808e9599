"use strict";
/* page.js - Files in, an answer out; each question is one run of the program in the worker. */

const $ = (id) => document.getElementById(id);
const PAGE = "fragsim-page.html";       /* what the program is told to write */
const SQLITE = "SQLite format 3\0";
const WASM_MAX = 4 * 2 ** 30;           /* bytes that a module of 32 bits can have */

/* Questions: the words before the files, and for how many files each is. */
const ASKS = [
  { key: "explain", label: "Why did it fail?", words: ["explain"], fits: (n) => n === 1 },
  { key: "diff", label: "What changed, OLD to NEW?", words: ["diff"], fits: (n) => n === 2 },
  { key: "ranks", label: "Which rank differs?", words: ["ranks"], fits: (n) => n > 1 },
  { key: "fit", label: "Which GPU is large enough?", words: ["fit"], fits: (n) => n === 1 },
  { key: "leaks", label: "Does it grow?", words: ["leaks"], fits: (n) => n === 1 },
  { key: "run", label: "Simulate it", words: ["run"], fits: (n) => n === 1 },
  { key: "info", label: "What is in it?", words: ["trace", "info"], fits: (n) => n === 1 },
];
/* Commands that write a page. */
const DRAWN = ["explain", "diff", "ranks", "fit", "leaks", "run"];
const SETTINGS = [
  "expandable_segments:True", "max_split_size_mb:128", "roundup_power2_divisions:4",
  "garbage_collection_threshold:0.8",
];

let files = [];         /* [path, Blob], in the order that they were given */
let ask = ASKS[0];
let worker = null, ready = null, running = null, pageUrl = null;
let runs = 0;           /* that were begun: an older one must not show its end */
let cards = null;       /* the list of GPUs, while it is read */

/* The worker ----------------------------------------------------------------- */

function moduleBytes() {
  const text = atob($("module").textContent);
  return Uint8Array.from(text, (c) => c.charCodeAt(0));
}

/* Starts it and sends it the module; a second call returns the same promise. */
function start() {
  if (ready) return ready;
  const url = URL.createObjectURL(new Blob([$("worker").textContent], { type: "text/javascript" }));
  worker = new Worker(url);
  ready = new Promise((resolve, reject) => {
    worker.onmessage = ({ data }) => (data.ready ? resolve() : reject(new Error(data.failed)));
    worker.onerror = (e) => reject(new Error(e.message));
  });
  worker.postMessage({ module: moduleBytes() });
  return ready;
}

/* Ends the run, with its worker: nothing else stops a module. */
function stop() {
  worker?.terminate();
  worker = ready = null;
  running?.({ stopped: true });
}

/* One run. Resolves to the worker's answer, { stopped } or { failed }. */
async function runModule(words, own, page, progress) {
  await start();
  return new Promise((resolve) => {
    running = (answer) => {
      running = null;
      resolve(answer);
    };
    worker.onmessage = ({ data }) => {
      if ("progress" in data) progress(data.progress);
      else running?.(data.answer || { failed: data.failed });
    };
    worker.onerror = (e) => running?.({ failed: e.message });
    worker.postMessage({ words, files: own, page });
  });
}

/* Words of a line ------------------------------------------------------------- */

function quoted(word) {
  return /^[\w.,:=/+@%-]+$/.test(word) ? word : `'${word.replace(/'/g, "'\\''")}'`;
}

/* As a shell splits them: blanks, quotes, backslashes. */
function split(line) {
  const words = [];
  let word = null, quote = "";
  for (let i = 0; i < line.length; i++) {
    const c = line[i];
    if (quote ? c === quote : c === "'" || c === '"') {
      quote = quote ? "" : c;
      word ??= "";
    } else if (c === "\\" && quote !== "'" && i + 1 < line.length) {
      word = (word ?? "") + line[++i];
    } else if (!quote && /\s/.test(c)) {
      if (word !== null) words.push(word);
      word = null;
    } else {
      word = (word ?? "") + c;
    }
  }
  if (word !== null) words.push(word);
  return words;
}

/* Of the files: one name each; those of one folder are that folder. */
function operands() {
  const folders = new Set(files.map(([path]) => path.split("/")[0]));
  if (files.length > 1 && folders.size === 1 && files[0][0].includes("/")) return [...folders];
  return files.map(([path]) => path);
}

function commandWords() {
  const words = [...ask.words];
  if ($("card").value) words.push("--device", $("card").value);
  if ($("setting").value) words.push("--alloc-conf", $("setting").value);
  return [...words, ...operands()];
}

function showLine() {
  $("line").value = ["fragsim", ...commandWords()].map(quoted).join(" ");
}

/* Answers --------------------------------------------------------------------- */

/* The first lines, up to what the memory holds. Rows are "  label  words"; others continue one. */
function verdictOf(text) {
  const lines = text.split("\n").filter((x) => x);
  const rows = [];
  for (const line of lines.slice(1, 8)) {
    const m = /^ {2}(\S+) {2,}(.*)$/.exec(line);
    if (m) rows.push([m[1], m[2]]);
  }
  return { title: lines[0] || "", rows: rows.filter(([label]) => ["verdict", "cause", "set", "try"].includes(label)) };
}

function showVerdict(answer) {
  const { title, rows } = verdictOf(answer.out || answer.err.replace(/^fragsim: /, ""));
  const box = $("verdict"), heading = document.createElement("h2");
  heading.textContent = title;
  box.replaceChildren(heading);
  box.className = answer.out ? "" : "bad";
  for (const [label, words] of rows) {
    const row = document.createElement("p"), name = document.createElement("b");
    name.textContent = label;
    row.append(name, " ", words);
    box.append(row);
  }
}

/* What the page knows of a failure and the program, which does not know of browsers, does not say. */
async function hintOf(answer) {
  for (const [path, blob] of files)
    if ((await blob.slice(0, SQLITE.length).text()) === SQLITE)
      return `${path} is a database of Nsight Systems. This page has no SQLite: install fragsim and run the same command there.`;
  if (answer.crash?.includes("memory access out of bounds") || answer.crash?.includes("unreachable") || /out of memory/i.test(answer.out ? "" : answer.err))
    return `The file is too large for a browser: a module of WebAssembly has at most ${WASM_MAX / 2 ** 30} GiB of memory, and this run had ${(answer.memory / 2 ** 30).toFixed(1)} GiB. Install fragsim and run the same command there.`;
  return answer.crash ? `The program ended early: ${answer.crash}` : "";
}

function save(name, bytes, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([bytes], { type }));
  link.download = name;
  link.textContent = `save ${name}`;
  return link;
}

async function showAnswer(answer) {
  $("result").hidden = false;
  showVerdict(answer);
  const hint = await hintOf(answer);
  $("hint").textContent = hint;
  $("hint").hidden = !hint;
  $("answer").textContent = answer.out + (answer.err ? `\n${answer.err}` : "");
  $("text").open = !answer.page;
  if (pageUrl) URL.revokeObjectURL(pageUrl);
  pageUrl = answer.page ? URL.createObjectURL(new Blob([answer.page], { type: "text/html" })) : null;
  $("page").hidden = !pageUrl;
  if (pageUrl) $("page").src = pageUrl;
  $("saves").replaceChildren(...(answer.page ? [save("answer.html", answer.page, "text/html"), " · "] : []),
    save("answer.txt", answer.out, "text/plain"));
}

/* The last state of the line that the program draws for a terminal. */
function progressText(text) {
  return text.split(/[\r\n]/).map((x) => x.trim()).filter((x) => x).pop() || "";
}

/* The answer is without the line of progress, which the program has taken away by blanks. */
function withoutProgress(text) {
  return text.split("\n").map((line) => line.split("\r").pop()).filter((x) => x.trim()).join("\n");
}

async function runLine(words) {
  const mine = ++runs;
  let told = "";
  const state = $("state"), begun = performance.now();
  const tick = setInterval(() => {
    state.textContent = progressText(told) || `running: ${((performance.now() - begun) / 1000).toFixed(0)} s`;
  }, 200);
  $("stop").hidden = false;
  document.documentElement.dataset.state = "running";
  state.textContent = "running";
  let answer;
  try {
    await cards;
    const hear = (text) => (told = (told + text).slice(-2000));
    const page = DRAWN.includes(words[0]) && !words.includes("-o") ? ["-o", PAGE] : [];
    answer = await runModule([...words, ...page], files, PAGE, hear);
    if (/a page is of a trace/.test(answer.err)) answer = await runModule(words, files, PAGE, hear);
  } catch (e) {
    answer = { failed: e.message };
  }
  clearInterval(tick);
  if (mine !== runs) return;
  $("stop").hidden = true;
  if (answer.stopped) {
    state.textContent = "stopped";
  } else if (answer.failed) {
    state.textContent = `This browser did not run the program: ${answer.failed}`;
    stop();
  } else {
    await showAnswer({ ...answer, err: withoutProgress(answer.err) });
    state.textContent = `status ${answer.status}, ${(answer.ms / 1000).toFixed(2)} s, ${(answer.memory / 2 ** 20).toFixed(0)} MiB of memory`;
  }
  document.documentElement.dataset.state = "done";
}

/* Runs what the line says, or, without a change of the line, what the buttons say. */
function run() {
  if (running && !cards) stop();
  const words = split($("line").value);
  return runLine(words[0] === "fragsim" ? words.slice(1) : words);
}

/* Files ----------------------------------------------------------------------- */

function showAsks() {
  const count = files.length;
  const buttons = ASKS.filter((a) => a.fits(count)).map((a) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = a.label;
    button.setAttribute("aria-pressed", String(a === ask));
    button.onclick = () => {
      ask = a;
      showAsks();
      showLine();
      run();
    };
    return button;
  });
  if (count === 2) {
    const swap = document.createElement("button");
    swap.type = "button";
    swap.textContent = "Swap OLD and NEW";
    swap.onclick = () => take([files[1], files[0]]);
    buttons.push(swap);
  }
  $("asks").replaceChildren(...buttons);
}

/* Of two files: those of ranks are named so. */
function askOf(given) {
  const ranks = given.filter(([path]) => /rank[-_]?\d+/i.test(path)).length;
  const key = given.length === 1 ? "explain" : given.length === 2 && ranks < 2 ? "diff" : "ranks";
  return ASKS.find((a) => a.key === key);
}

/* These files replace the previous ones, and the first question is asked. */
function take(given) {
  if (!given.length) return;
  files = given;
  ask = askOf(given);
  document.body.classList.add("loaded");
  $("work").hidden = false;
  $("names").replaceChildren(...given.map(([path, blob], i) => {
    const item = document.createElement("li");
    const role = ask.key === "diff" ? ["OLD: ", "NEW: "][i] : "";
    item.textContent = `${role}${path}, ${(blob.size / 2 ** 20).toFixed(2)} MiB`;
    return item;
  }));
  showAsks();
  showLine();
  run();
}

/* The names of files dropped together are theirs; two of one name get a folder each. */
function named(list) {
  const seen = new Map();
  return [...list].map((file) => {
    const path = file.webkitRelativePath || file.name;
    const n = seen.get(path) || 0;
    seen.set(path, n + 1);
    return [n ? `${n + 1}/${path}` : path, file];
  });
}

/* All files below an entry that was dropped, with their paths. */
async function below(entry) {
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
    return [[entry.fullPath.slice(1), file]];
  }
  const reader = entry.createReader(), all = [];
  for (;;) {
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) break;
    for (const one of some) all.push(...(await below(one)));
  }
  return all.sort(([a], [b]) => (a < b ? -1 : 1));
}

async function dropped(transfer) {
  const entries = [...transfer.items].map((x) => x.webkitGetAsEntry?.()).filter((x) => x?.isDirectory);
  const plain = named(transfer.files);
  if (!entries.length) return plain;
  return (await Promise.all(entries.map(below))).flat();
}

/* The page -------------------------------------------------------------------- */

function listen() {
  const drop = $("drop");
  addEventListener("dragover", (e) => {
    e.preventDefault();
    drop.classList.add("over");
  });
  addEventListener("dragleave", () => drop.classList.remove("over"));
  addEventListener("drop", async (e) => {
    e.preventDefault();
    drop.classList.remove("over");
    take(await dropped(e.dataTransfer));
  });
  $("choose").onclick = () => $("files").click();
  $("choose-folder").onclick = () => $("folder").click();
  $("files").onchange = (e) => take(named(e.target.files));
  $("folder").onchange = (e) => take(named(e.target.files));
  $("explain-message").onclick = () => take([["message.txt", new Blob([$("message").value])]]);
  $("card").onchange = $("setting").onchange = () => {
    showLine();
    run();
  };
  $("run").onclick = run;
  $("line").onkeydown = (e) => e.key === "Enter" && run();
  $("stop").onclick = stop;
}

/* The GPUs that the program knows. */
async function listCards() {
  const answer = await runModule(["list", "cards", "--json", "-"], [], null, () => {});
  for (const card of answer.stopped ? [] : JSON.parse(answer.out).cards)
    $("card").add(new Option(`${card.name}, ${(card.bytes / 2 ** 30).toFixed(1)} GiB`, card.key));
}

async function begin() {
  for (const setting of SETTINGS) $("setting").add(new Option(setting));
  listen();
  const lacking = ["DecompressionStream", "WebAssembly", "Worker"].filter((x) => !(x in window));
  if (lacking.length) {
    $("work").hidden = false;
    $("state").textContent = `This browser lacks ${lacking.join(", ")}: Chrome 80, Firefox 113, Safari 16.4 and later have it.`;
    return;
  }
  try {
    await start();
    cards = listCards();
    await cards;
    cards = null;
  } catch (e) {
    cards = null;
    $("work").hidden = false;
    $("state").textContent = `This browser did not start the program: ${e.message}`;
  }
  document.documentElement.dataset.ready = "yes";
}

begin();
