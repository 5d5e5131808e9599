/*
 * page.js - the document around the pictures: who holds memory, marks, how it was made.
 */

/* Heads are [title, is text]; a cell is a text or a node. */
function table(parent, heads, rows) {
	const box = add(parent, "div", null, { class: "scroll", tabindex: 0, role: "region", "aria-label": heads.map(([title]) => title).join(", ") });
	const t = add(box, "table");
	const head = add(add(t, "thead"), "tr");
	for (const [title, text] of heads)
		add(head, "th", title, { class: text ? "text" : "", scope: "col" });
	const body = add(t, "tbody");
	for (const row of rows) {
		const tr = add(body, "tr");
		row.forEach((cell, i) => {
			const text = !(cell instanceof Node), td = add(tr, "td", text ? cell : null, { class: heads[i][1] ? "text" : "" });
			if (!text)
				td.append(cell);
		});
	}
	return box;
}

/* ---- Who holds memory ---- */

/* Nodes { bytes, under, share }: what is below has its bytes too. */
function tree(run, holders, all) {
	const root = { bytes: 0, under: new Map(), deepest: 0 };
	for (const holder of holders) {
		const { share, bytes } = holder;
		let node = root;
		root.bytes += bytes;
		flamePath(run, holder, all).slice(0, 40).forEach((name, depth) => {
			if (!node.under.has(name))
				node.under.set(name, { bytes: 0, under: new Map(), share });
			node = node.under.get(name);
			node.bytes += bytes;
			root.deepest = Math.max(root.deepest, depth + 1);
		});
	}
	return root;
}

const byBytes = (node) => [...node.under].sort((a, b) => b[1].bytes - a[1].bytes);

/* The same as text, with totals: a node's children are made when it is opened. */
function outline(parent, node, total) {
	for (const [name, child] of byBytes(node).slice(0, 30)) {
		const words = `${size(child.bytes)}, ${(100 * child.bytes / total).toFixed(1)} %: ${name}`;
		if (!child.under.size) {
			add(parent, "div", words, { class: "leaf" });
			continue;
		}
		const box = add(parent, "details");
		add(box, "summary", words);
		box.addEventListener("toggle", () => outline(box, child, total), { once: true });
	}
}

/* Bars below a node, as wide as their share of it; enter(names): one was clicked. */
function icicle(parent, run, node, total, enter) {
	const box = add(parent, "div", null, { class: "icicle" });
	let deepest = 0;
	const put = (of, left, depth, names) => {
		for (const [name, child] of byBytes(of)) {
			const width = child.bytes / (node.bytes || 1) * 100, way = [...names, name];
			if (width < 0.15)
				continue;
			deepest = Math.max(deepest, depth + 1);
			const words = `${name}: ${size(child.bytes)}, ${(100 * child.bytes / (total || 1)).toFixed(1)} %`;
			const bar = add(box, "button", width > 2 ? name : "", { title: words, "aria-label": words, type: "button" });
			Object.assign(bar.style, {
				left: `${left}%`, width: `${width}%`, top: `${1.6 * depth}em`,
				background: `color-mix(in srgb, ${run.colours[child.share]} ${depth % 2 ? 45 : 65}%, white)`,
			});
			bar.addEventListener("click", () => enter(way));
			put(child, left, depth + 1, way);
			left += width;
		}
	};
	put(node, 0, 0, []);
	box.style.height = `${1.6 * deepest}em`;
}

/* Stacks of one tag are one row. */
function holdersTable(parent, run, shares, total) {
	const tags = new Map();
	for (const { share, bytes, blocks } of shares) {
		const who = run.who.tags[run.who.shareTag[share]];
		const sum = tags.get(who) || { who, bytes: 0, blocks: 0 };
		sum.bytes += bytes;
		sum.blocks += blocks;
		tags.set(who, sum);
	}
	const holders = [...tags.values()].sort((a, b) => b.bytes - a.bytes);
	const search = add(parent, "input", null, { type: "search", placeholder: "search tags", "aria-label": "search tags" });
	const box = add(parent, "div");
	search.hidden = holders.length < 8;
	const show = () => {
		const found = holders.filter((h) => h.who.toLowerCase().includes(search.value.toLowerCase()));
		box.replaceChildren();
		if (search.value)
			add(box, "p", `${number(found.length)} of ${number(holders.length)} tags, `
				+ `${size(found.reduce((sum, h) => sum + h.bytes, 0))}`, { class: "note" });
		table(box, [["bytes", false], ["share", false], ["blocks", false], ["tag", true]], found.slice(0, 40).map((h) => [
			size(h.bytes), `${(100 * h.bytes / total).toFixed(1)} %`, number(h.blocks), h.who,
		]));
	};
	search.addEventListener("input", show);
	show();
}

function moment(parent, run, m) {
	const holders = Array.from(m.share, (share, i) => ({ share, bytes: m.held[i], blocks: m.blocks[i] }));
	const total = holders.reduce((sum, h) => sum + h.bytes, m.rest_bytes);
	const oom = m.what === "oom" && run.ooms.find((o) => o.step === m.at);
	const words = m.what === "look" ? `Event ${number(m.at)}: ${size(total)} active.`
		: m.what === "peak" ? `Peak, event ${number(m.at)}: ${size(total)} active.`
		: `OOM at event ${number(m.at)}: ${oom ? `${size(oom.size)} requested, ${size(oom.free)} free, `
			+ `largest free block ${size(oom.largest)}; ` : ""}${size(total)} active.`;
	add(parent, "p", words);
	const root = tree(run, holders, false);
	flame(parent, run, holders, "By stack");
	if (root.deepest > 1)
		outline(add(parent, "div", null, { class: "outline" }), root, root.bytes || 1);
	holdersTable(parent, run, holders, total);
}

/* ---- A section: one trace ---- */

/* Buttons of which one is pressed; make(i) fills the box. */
function tabs(parent, names, make, first = 0) {
	const bar = add(parent, "div", null, { class: "tabs" });
	const box = add(parent, "div");
	const choose = (k) => {
		[...bar.children].forEach((b, i) => b.setAttribute("aria-pressed", i === k));
		box.replaceChildren();
		make(box, k);
	};
	names.forEach((name, i) => add(bar, "button", name, { type: "button" }).addEventListener("click", () => choose(i)));
	bar.hidden = names.length < 2;
	if (names.length)
		choose(first);
}

function growthWords(section, run) {
	const g = section.growth;
	if (!g)
		return null;
	const of = `${g.iterations} iterations${g.mark ? ` (\u201c${g.mark}\u201d)` : ""}`;
	switch (g.verdicts[run.device]) {
	case "none":
		return `Over ${of} live memory does not rise.`;
	case "unknown":
		return `Over ${of} it is unknown whether live memory rises on.`;
	default:
		return `Over ${of} live memory rises by ${size(g.devices[run.device])} an iteration.`;
	}
}

/* Of each iteration the event with the least live bytes: what is there then it keeps. At most so many, evenly. */
const ROUNDS_SHOWN = 300;
function levels(run, starts) {
	const { history } = run, out = [], stride = Math.ceil((starts.length - 1) / ROUNDS_SHOWN);
	for (let i = 0; i + 1 < starts.length; i += stride) {
		let at = starts[i];
		for (let m = at; m < Math.min(starts[i + 1], run.end); m++)
			at = history.totalOf(m) < history.totalOf(at) ? m : at;
		if (at < run.end)
			out.push({ round: i, at, bytes: history.liveBytes(at), sums: sumByTag(run, (visit) => history.liveAt(at, visit)) });
	}
	return out;
}

/* A bar an iteration: its level by tag, those that leak on top. */
function staircase(parent, run, leaks, view, rounds) {
	if (rounds.length < 2)
		return;
	const leaking = new Set(leaks.map((l) => l.tag)), most = Math.max(...rounds.map((r) => r.bytes), 1);
	const kind = new Map();
	run.who.shareTag.forEach((tag, share) => kind.set(tag, run.colours[share]));
	const isLeak = (tag) => leaking.has(run.who.tags[tag]);
	add(parent, "h3", "What each iteration keeps ");
	legend(parent, [[style("bad"), "tags that leak"], [OTHERS[0], "other tags, in the colours of the blocks"]]);
	const { canvas, redraw } = picture(parent, 190, "the fewest live bytes of each iteration, by tag; the table below has them", (c, width, height) => {
		const wide = (width - LEFT - RIGHT) / rounds.length, y = (bytes) => height - 22 - bytes / most * (height - 34);
		c.fillStyle = style("soft");
		c.textAlign = "right";
		for (const t of ticks(0, most, 4, 1024))
			c.fillText(t ? size(t).replace(".00 ", " ") : "0", LEFT - 6, y(t) + 4);
		rounds.forEach((r, i) => {
			let low = 0;
			for (const sum of [...r.sums.values()].sort((a, b) => isLeak(a.tag) - isLeak(b.tag) || a.tag - b.tag)) {
				c.fillStyle = isLeak(sum.tag) ? style("bad") : kind.get(sum.tag);
				c.fillRect(LEFT + i * wide, y(low + sum.bytes), Math.max(1, wide - 1), y(low) - y(low + sum.bytes));
				low += sum.bytes;
			}
			c.fillStyle = style("soft");
			c.textAlign = "center";
			if (wide * (i % Math.ceil(46 / wide) === 0 ? 99 : 0) > 0)
				c.fillText(number(r.round + 1), LEFT + (i + 0.5) * wide, height - 6);
		});
	});
	canvas.addEventListener("click", (event) => {
		const box = canvas.getBoundingClientRect();
		const r = rounds[Math.floor((event.clientX - box.left - LEFT) / (box.width - LEFT - RIGHT) * rounds.length)];
		if (r)
			view.look(r.at);
	});
	redraw();
	const box = add(parent, "details");
	add(box, "summary", "As a table");
	table(box, [["iteration", false], ["event", false], ["fewest live bytes", false], ["of tags that leak", false]], rounds.map((r) => [
		number(r.round + 1), number(r.at), size(r.bytes),
		size([...r.sums.values()].reduce((sum, x) => sum + (isLeak(x.tag) ? x.bytes : 0), 0)),
	]));
}

function growthParts(parent, section, run, view) {
	const words = growthWords(section, run);
	if (!words)
		return;
	const leaks = section.growth.leaks.filter((l) => l.device === run.device);
	add(parent, "h3", "Growth");
	add(parent, "p", words);
	if (leaks.length)
		table(parent, [["per iteration", false], ["tag", true]],
			leaks.map((l) => [size(l.bytes), l.tag || `blocks of ${size(l.size)}`]));
	if (!run.history.least)
		staircase(parent, run, leaks, view, levels(run, section.growth.rounds));
}

function marksTable(parent, section, run) {
	if (!run.marks)
		return;
	add(parent, "h3", "Marks");
	if (run.marks > run.mark_names.length)
		add(parent, "p", `The first and the last ${run.mark_names.length / 2} of ${number(run.marks)} marks.`, { class: "note" });
	table(parent, [["event", false], ["mark", true], ["reserved", false], ["allocated", false], ["fi_device", false]],
		run.mark_names.map((name, i) => [number(run.mark_step[i]), name, size(run.mark_reserved[i]),
			size(run.mark_allocated[i]), `${(run.mark_fi_device[i] / 100).toFixed(1)} %`]));
}

function settings(parent, section, facts) {
	add(parent, "h3", "How this was made");
	const list = add(parent, "dl");
	const say = (name, text) => {
		add(list, "dt", name);
		return add(list, "dd", text);
	};
	say("trace", `${section.path} (${section.form}, ${number(section.events)} events, content ${section.content})`);
	for (const run of section.runs)
		say(title(run, section), `${run.status}, ${number(run.steps)} events, ${number(run.allocs)} allocations, `
			+ `${number(run.segment_allocs)} segments obtained and ${number(run.segment_frees)} released; device: `
			+ `${run.total ? `${size(run.total)}, ${size(run.outside)} of it for context and others` : "unlimited"}, `
			+ `pages of ${size(run.granularity)}`);
	if (section.recorded_settings)
		say("recorded settings", section.recorded_settings);
	if (section.allocator_settings) {
		const all = add(say("all of the allocator's", ""), "details");
		add(all, "summary", "as the snapshot has them");
		add(all, "pre", JSON.stringify(section.allocator_settings, null, 2));
	}
	say("command", facts.command);
	say("fragsim", facts.version);
}

/* The blocks of one run, or its segments, and all that is below them. */
function details(parent, aside, below, section, run, view, kind) {
	const viewer = new Viewer(add(parent, "div"), aside, below, section, kind === "segments" ? segmentsRun(run) : kind === "pools" ? poolsRun(run) : run, view);
	viewer.kindShown.value = kind;
	growthParts(below, section, run, view);
	add(below, "h3", "Memory by tag");
	const moments = run.moments.filter((m) => m.share.length
		&& (m.what !== "look" || run.moments.every((other) => other === m || other.at !== m.at)));
	moments.sort((a, b) => (b.what === "oom") - (a.what === "oom"));
	const names = { peak: () => "at the peak", oom: (m) => `OOM at event ${number(m.at)}`, look: (m) => `at event ${number(m.at)}` };
	tabs(below, moments.map((m) => names[m.what](m)), (box, i) => moment(box, run, moments[i]));
	marksTable(below, section, run);
	return viewer;
}

/* The highest of what a section's runs reserve. */
function highest(section) {
	return Math.max(1, ...section.drawn.map((run) => Math.max(...run.line.reserved_most, 0)));
}

/* axes: those that all sections share, and where their timelines go; undefined: each has its own. place: what the address says. */
function showSection(parent, section, facts, axes, place) {
	const view = axes?.view ?? new View(section);
	const box = add(parent, "section");
	if (facts.sections.length > 1)
		add(box, "h2", section.path);
	if (section.fits)
		survival(box, section.fits, section.claim);
	if (!section.runs.length)
		return;
	/* pictures on the left, the held block beside them */
	const grid = add(box, "div", null, { class: "viewer" }), left = add(grid, "div"), aside = add(grid, "aside");
	const lines = axes?.box ?? left, first = !axes?.box.childElementCount, below = add(box, "div");
	const look = {
		most: axes?.most ?? highest(section), height: axes || section.drawn.length > 1 ? 150 : 170,
		name: axes ? `${section.path}, ` : "",
	};
	if (first)
		legend(lines, [[style("reserved"), "reserved"], [style("allocated"), "allocated"], [style("requested"), "requested"],
			[style("non_releasable"), "non_releasable: free, but not releasable"], [style("bad"), "OOM; the device"]]);
	for (const run of section.drawn)
		timeline(lines, run, section, view, look);
	const mine = place?.[0] === section.number ? place : null;
	let viewed = [];
	const show = (inner, i, kind) => {
		view.watchers = view.watchers.filter((watcher) => !viewed.includes(watcher));
		inner.replaceChildren();
		below.replaceChildren();
		const before = view.watchers.length, viewer = details(inner, aside, below, section, section.runs[i], view, kind);
		viewer.show = (other) => show(inner, i, other);
		viewed = view.watchers.slice(before);
		if (kind === "blocks" && mine && mine[1] === i && mine[5] >= 0 && mine[5] < section.runs[i].blocks.birth.length)
			viewer.hold(mine[5]);
		redrawAll();
	};
	tabs(left, section.runs.map((run) => title(run, section)), (inner, i) => show(inner, i, "blocks"), mine ? Math.min(mine[1], section.runs.length - 1) : 0);
	if (mine) {
		[view.a, view.b] = mine.slice(6).map((moment) => moment < 0 ? null : moment);
		view.step = Math.min(view.end - 1, mine[4]);
		view.show(mine[2], mine[3]);
	}
	settings(box, section, facts);
}

function copyButtons() {
	for (const code of document.querySelectorAll(".verdict code")) {
		const button = add(code.parentNode, "button", "Copy", { type: "button" });
		button.addEventListener("click", async () => {
			await navigator.clipboard.writeText(code.textContent);
			button.textContent = "Copied";
		});
	}
}

async function main() {
	const facts = JSON.parse(document.getElementById("facts").textContent);
	const page = document.getElementById("page");
	copyButtons();
	answerPictures(page, facts.answer, facts.curve);
	for (const [i, section] of facts.sections.entries()) {
		await readSection(section);
		section.number = i;
	}
	if (facts.beside && facts.sections.length === 2 && facts.sections.every((section) => section.runs.length))
		facts.sections.forEach((section, i) => { section.beside = facts.sections[1 - i]; });
	const axes = facts.beside && {
		box: add(add(page, "section", null, { class: "viewer" }), "div"),
		most: Math.max(...facts.sections.map(highest)),
		view: new View(facts.sections[0], Math.max(...facts.sections.flatMap((section) => section.drawn.map((run) => run.end)))),
	};
	for (const section of facts.sections)
		showSection(page, section, facts, axes || undefined, readPlace());
	redrawAll();
	addEventListener("resize", redrawAll);
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
		styles = new Map();
		redrawAll();
	});
	document.documentElement.dataset.ready = "yes";
}

main().catch((error) => {
	document.getElementById("page").textContent = `This page cannot be drawn: ${error.message}`;
	throw error;
});
