/*
 * page.js - the document around the pictures: who holds memory, marks, how it was made.
 */

/* Heads are [title, is text]; a cell is a text or a node. */
function table(parent, heads, rows) {
	const box = add(parent, "div", null, { class: "scroll", tabindex: 0 });
	const t = add(box, "table");
	const head = add(add(t, "thead"), "tr");
	for (const [title, text] of heads)
		add(head, "th", title, { class: text ? "text" : "", scope: "col" });
	const body = add(t, "tbody");
	for (const row of rows) {
		const tr = add(body, "tr");
		row.forEach((cell, i) => add(tr, "td", cell, { class: heads[i][1] ? "text" : "" }));
	}
	return box;
}

/* ---- Who holds memory ---- */

/* From the outside in: frames of a stack; else the parts of a tag, the last one first. */
function path(run, share) {
	const stack = run.who.stacks[share];
	return stack && stack.length ? [...stack].reverse()
		: run.who.tags[run.who.shareTag[share]].split(" | ").reverse();
}

/* Nodes { bytes, under, share }: what is below has its bytes too. */
function tree(run, holders) {
	const root = { bytes: 0, under: new Map(), deepest: 0 };
	for (const { share, bytes } of holders) {
		let node = root;
		root.bytes += bytes;
		path(run, share).slice(0, 30).forEach((name, depth) => {
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

function icicle(parent, run, root) {
	const box = add(parent, "div", null, { class: "icicle", role: "img", "aria-label": "memory by stack or tag" });
	box.style.height = `${1.6 * root.deepest}em`;
	const put = (node, left, depth) => {
		for (const [name, child] of byBytes(node)) {
			const width = child.bytes / root.bytes * 100;
			if (width < 0.15)
				continue;
			const bar = add(box, "div", width > 2 ? name : "", { title: `${name}: ${size(child.bytes)}` });
			Object.assign(bar.style, {
				left: `${left}%`, width: `${width}%`, top: `${1.6 * depth}em`,
				background: `color-mix(in srgb, ${run.colours[child.share]} ${depth % 2 ? 45 : 65}%, white)`,
			});
			put(child, left, depth + 1);
			left += width;
		}
	};
	put(root, 0, 0);
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
	const words = m.what === "look" ? `Step ${number(m.at)}: ${size(total)} active.`
		: m.what === "peak" ? `Peak, step ${number(m.at)}: ${size(total)} active.`
		: `OOM at step ${number(m.at)}: ${oom ? `${size(oom.size)} requested, ${size(oom.free)} free, `
			+ `largest contiguous block ${size(oom.largest)}; ` : ""}${size(total)} active.`;
	add(parent, "p", words);
	const root = tree(run, holders);
	icicle(parent, run, root);
	if (root.deepest > 1)
		outline(add(parent, "div", null, { class: "outline" }), root, root.bytes || 1);
	holdersTable(parent, run, holders, total);
}

/* The map of one step: addresses from left to right; and who holds then, of what is large. */
function cross(parent, run, view) {
	const words = add(parent, "p", null, { "aria-live": "polite" });
	const { redraw } = picture(parent, 46, "the addresses at the selected step", (c, width) => {
		const x = (bytes) => LEFT + bytes / run.height * (width - LEFT - RIGHT);
		const draw = (areas, paint) => {
			const { birth, life, y, bytes } = areas;
			for (let i = 0; i < birth.length && birth[i] <= view.step; i++)
				if (view.step < birth[i] + life[i])
					paint(i, x(y[i]), Math.max(0.5, x(y[i] + bytes[i]) - x(y[i])));
		};
		c.fillStyle = style("unmapped");
		c.fillRect(LEFT, 4, width - LEFT - RIGHT, 38);
		c.fillStyle = style("free");
		draw(run.segments, (i, left, w) => c.fillRect(left, 4, w, 38));
		draw(run.blocks, (i, left, w) => {
			c.fillStyle = run.colours[run.blocks.who[i]];
			c.fillRect(left, 4, w, 38);
		});
	});
	const box = add(parent, "div");
	const show = () => {
		const { birth, life, bytes, who } = run.blocks;
		const sums = new Map();
		let all = 0;
		for (let i = 0; i < birth.length && birth[i] <= view.step; i++)
			if (view.step < birth[i] + life[i]) {
				const sum = sums.get(who[i]) || { share: who[i], bytes: 0, blocks: 0 };
				sum.bytes += bytes[i];
				sum.blocks++;
				all += bytes[i];
				sums.set(who[i], sum);
			}
		const [least, most] = range(run, "allocated", view.step, view.step + 1);
		words.textContent = `At step ${number(view.step)}: ${size(all)} in blocks that are large or allocated long enough to be`
			+ ` drawn, of ${least === most ? size(most) : `${size(least)} to ${size(most)}`} allocated.`;
		box.replaceChildren();
		holdersTable(box, run, [...sums.values()], all || 1);
	};
	let waiting = 0;
	view.watchers.push(() => {
		redraw();
		clearTimeout(waiting);
		waiting = setTimeout(show, 60);
	});
	show();
}

/* ---- A section: one trace ---- */

/* Buttons of which one is pressed; make(i) fills the box. */
function tabs(parent, names, make) {
	const bar = add(parent, "div", null, { class: "tabs" });
	const box = add(parent, "div");
	const choose = (k) => {
		[...bar.children].forEach((b, i) => b.setAttribute("aria-pressed", i === k));
		box.replaceChildren();
		make(box, k);
	};
	names.forEach((name, i) => add(bar, "button", name, { type: "button" }).addEventListener("click", () => choose(i)));
	bar.hidden = names.length < 2;
	choose(0);
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

function marksTable(parent, section, run) {
	if (!run.marks)
		return;
	add(parent, "h3", "Marks");
	const words = growthWords(section, run);
	if (words)
		add(parent, "p", words);
	const leaks = section.growth ? section.growth.leaks.filter((l) => l.device === run.device) : [];
	if (leaks.length)
		table(parent, [["per iteration", false], ["tag", true]],
			leaks.map((l) => [size(l.bytes), l.tag || `blocks of ${size(l.size)}`]));
	if (run.marks > run.mark_names.length)
		add(parent, "p", `The first and the last ${run.mark_names.length / 2} of ${number(run.marks)} marks.`, { class: "note" });
	table(parent, [["step", false], ["mark", true], ["reserved", false], ["allocated", false], ["fi_device", false]],
		run.mark_names.map((name, i) => [number(run.mark_step[i]), name, size(run.mark_reserved[i]),
			size(run.mark_allocated[i]), `${(run.mark_fi_device[i] / 100).toFixed(1)} %`]));
}

function settings(parent, section, facts) {
	add(parent, "h3", "How this was made");
	const list = add(parent, "dl");
	const say = (name, text) => {
		add(list, "dt", name);
		add(list, "dd", text);
	};
	say("trace", `${section.path} (${section.form}, ${number(section.events)} events, content ${section.content})`);
	for (const run of section.runs)
		say(title(run, section), `${run.status}, ${number(run.steps)} steps, ${number(run.allocs)} allocations, `
			+ `${number(run.segment_allocs)} segments obtained and ${number(run.segment_frees)} released; device: `
			+ `${run.total ? `${size(run.total)}, ${size(run.outside)} of it for context and others` : "unlimited"}, `
			+ `pages of ${size(run.granularity)}`);
	say("command", facts.command);
	say("fragsim", facts.version);
}

/* The map and all that is below it, of one run. */
function details(parent, section, run, view) {
	add(parent, "h3", "Addresses over time");
	legend(parent, [...section.kinds.map((kind, i) => [PALETTE[i], kind]), [OTHERS[0], "other tags"],
		[style("small"), "small blocks, summed up"], [style("free"), "free"], [style("unmapped"), "not reserved"]]);
	map(parent, run, section, view);
	add(parent, "h3", "The selected step");
	cross(parent, run, view);
	add(parent, "h3", "Memory by tag");
	const moments = run.moments.filter((m) => m.share.length
		&& (m.what !== "look" || run.moments.every((other) => other === m || other.at !== m.at)));
	moments.sort((a, b) => (b.what === "oom") - (a.what === "oom"));
	const names = { peak: () => "at the peak", oom: (m) => `OOM at step ${number(m.at)}`, look: (m) => `at step ${number(m.at)}` };
	tabs(parent, moments.map((m) => names[m.what](m)), (box, i) => moment(box, run, moments[i]));
	marksTable(parent, section, run);
}

/* The highest of what a section's runs reserve. */
function highest(section) {
	return Math.max(1, ...section.drawn.map((run) => Math.max(...run.line.reserved_most, 0)));
}

/* axes: those that all sections share, and where their timelines go; undefined: each has its own. */
function showSection(parent, section, facts, axes) {
	const view = new View(section, axes?.end);
	/* beside the run with the remedy: all steps of both */
	const whole = section.cured.length ? new View({ runs: section.drawn }) : view;
	const box = add(parent, "section");
	if (facts.sections.length > 1)
		add(box, "h2", section.path);
	if (section.fits)
		survival(box, section.fits, section.claim);
	if (!section.runs.length)
		return;
	const lines = axes?.box ?? box, first = !axes?.box.childElementCount;
	const look = {
		most: axes?.most ?? highest(section), height: axes || section.drawn.length > 1 ? 150 : 210,
		name: axes ? `${section.path}, ` : "",
	};
	if (first)
		legend(lines, [[style("reserved"), "reserved"], [style("allocated"), "allocated"], [style("requested"), "requested"],
			[style("non_releasable"), "non_releasable: free, but not releasable"], [style("bad"), "OOM; the device"]]);
	for (const run of section.drawn)
		timeline(lines, run, section, whole, look);
	whole.watchers.push(() => {
		if (whole.step !== view.step) {
			view.look(whole.step);
			view.zoom(1);
		}
	});
	if (first)
		add(lines, "p", "Drag to zoom, double click for all, click a step to select it. Keys: arrows, Shift and arrows, +, -, 0.",
			{ class: "keys" });
	const lasting = view.watchers.length;
	tabs(box, section.runs.map((run) => title(run, section)), (inner, i) => {
		view.watchers.length = lasting;
		details(inner, section, section.runs[i], view);
		redrawAll();
	});
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
	for (const section of facts.sections)
		await readSection(section);
	const axes = facts.beside && {
		box: add(page, "section"),
		most: Math.max(...facts.sections.map(highest)),
		end: Math.max(...facts.sections.flatMap((section) => section.runs.map((run) => run.end))),
	};
	for (const section of facts.sections)
		showSection(page, section, facts, axes || undefined);
	redrawAll();
	addEventListener("resize", redrawAll);
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawAll);
	document.documentElement.dataset.ready = "yes";
}

main().catch((error) => {
	document.getElementById("page").textContent = `This page cannot be drawn: ${error.message}`;
	throw error;
});
