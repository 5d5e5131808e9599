/*
 * viewer.js - the pictures of a run with what one asks of them: a held block, the cursor, two moments, the filter.
 */

const tagOf = (run, share) => run.who.tags[run.who.shareTag[share]];
const isOwn = (frame) => frame[0] === "*";
const frameText = (frame) => isOwn(frame) ? frame.slice(1) : frame;
const framesOf = (run, share) => (run.who.stacks[share] || []).map(frameText);
const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

function lifeWords(run, i) {
	const { birth, end, freed } = run.blocks;
	if (end[i] >= run.end)
		return `event ${number(birth[i])}, never freed`;
	return `event ${number(birth[i])} to ${number(freed[i])}, ${number(freed[i] - birth[i])} events`
		+ (freed[i] < end[i] ? `; pending until ${number(end[i])}` : "");
}

/* Frames that are in every stack. */
const PLUMBING = /unwind::|CapturedTraceback|gather_with_cpp| \?\?|_?Py[A-Z]\w+_|_start/;

/* Own frames first to the eye; runs of others are folded. */
function stackList(parent, frames) {
	const list = add(parent, "ol", null, { class: "stack" });
	let folded = [];
	const flush = () => {
		if (folded.length > 2) {
			const box = add(add(list, "li", null, { class: "others" }), "details");
			add(box, "summary", `${folded.length} frames of libraries: ${folded.find((frame) => !PLUMBING.test(frame)) ?? folded[0]} \u2026`);
			folded.forEach((frame) => add(box, "div", frame));
		} else {
			folded.forEach((frame) => add(list, "li", frame, { class: "others" }));
		}
		folded = [];
	};
	for (const frame of frames) {
		if (!isOwn(frame)) {
			folded.push(frame);
			continue;
		}
		flush();
		add(list, "li", frameText(frame), { class: "own" });
	}
	flush();
}

/* A whole stack of a block; undefined: there is none. */
const stackOf = (run, i, by) => run.section.stacks[run.blocks[by]?.[i] - 1];
const ownFirst = (frames) => frameText(frames?.find(isOwn) ?? frames?.[0] ?? "");

/* How often the address of each block was in use before, in the recording. */
function usesBefore(run) {
	if (!run.blocks.uses) {
		const seen = new Map();
		run.blocks.uses = Int32Array.from(run.blocks.address, (at) => {
			seen.set(at, (seen.get(at) ?? -1) + 1);
			return seen.get(at);
		});
	}
	return run.blocks.uses;
}

/* Bytes and blocks of each tag, of the blocks that `which` calls visit for. */
function sumByTag(run, which) {
	const sums = new Map();
	which((i) => {
		const tag = run.who.shareTag[run.blocks.who[i]], sum = sums.get(tag) || { tag, bytes: 0, blocks: 0 };
		sum.bytes += run.blocks.bytes[i];
		sum.blocks++;
		sums.set(tag, sum);
	});
	return sums;
}

/* What is live after b and not after a, and what was at a and is gone, by tag; the largest change first. */
function between(run, a, b) {
	const { birth, end } = run.blocks, { history } = run, rows = new Map();
	const fresh = sumByTag(run, (visit) => history.liveAt(b, (i) => { if (birth[i] > a) visit(i); }));
	const gone = sumByTag(run, (visit) => history.liveAt(a, (i) => { if (end[i] <= b) visit(i); }));
	for (const tag of new Set([...fresh.keys(), ...gone.keys()])) {
		const more = fresh.get(tag) || { bytes: 0, blocks: 0 }, less = gone.get(tag) || { bytes: 0, blocks: 0 };
		rows.set(tag, { tag, fresh: more.bytes, blocks: more.blocks, gone: less.bytes });
	}
	return [...rows.values()].sort((x, y) => Math.abs(y.fresh - y.gone) - Math.abs(x.fresh - x.gone) || y.fresh - x.fresh);
}

const viewers = [];                     /* all that were made */

class Viewer {
	/* Its pictures go into `parent`, the held block into `side`, its tables into `below`. */
	constructor(parent, side, below, section, run, view) {
		Object.assign(this, { section, run, view, history: run.history, look: new Look(run, section), manual: null, cut: true, side });
		this.tiles = new Tiles(this.history, this.look);
		this.mapCost = 0;
		this.toolbar(parent);
		const left = add(parent, "div");
		this.mini = new Pixels(left, 46, "overview of the run: drag to move, arrows move the cursor");
		const head = add(left, "h3", "Blocks over time ");
		this.rule = add(head, "small");
		this.blocks = new Pixels(left, 400, "blocks over time, stacked by age; the tables below have the same values");
		this.legend = add(left, "ul", null, { class: "legend" });
		this.told = add(left, "div", null, { class: "figures", "aria-live": "polite" });
		add(left, "h3", "Addresses over time ");
		this.map = new Pixels(left, 230, "addresses over time: segments, blocks and holes");
		legend(left, [[style("free"), "free"], [style("releasable"), "free, in a segment without blocks: releasable"],
			[style("unmapped"), "not reserved"], ...(run.blocks.dropped ? [[style("small"), "small blocks, summed up"]] : [])]);
		add(left, "p", "Wheel zooms, drag moves, Shift and drag zooms to a part, Alt and wheel zooms bytes, double click shows all, click holds a"
			+ " block. Keys: left and right move the cursor (with Shift the part), up and down hold the block above or below, + and - zoom,"
			+ " 0 all, P peak, F cuts the constant part, A and B set moments, Esc releases.", { class: "keys" });
		side.replaceChildren();
		this.held = add(side, "div");
		const two = add(left, "div", null, { class: "two" });         /* beside it the held block stays in view */
		const part = (parent, title) => { const box = add(parent, "div"); return [add(box, "h3", title), add(box, "div")]; };
		[this.atHead, this.at] = part(side, "At the cursor");
		this.list = new EventList(add(two, "div"), this);
		this.state = new StatePicture(add(two, "div"), this);
		[this.diffHead, this.diff] = part(two, "Between A and B");
		this.pools = add(below, "div");
		this.flame = add(below, "div");
		viewers.push(this);
		this.steer();
		this.showLegend();
		this.hold(-1);
		view.watchers.push(() => this.draw());
		everything.push({ canvas: this.blocks.canvas, redraw: () => { this.look.paint(); this.showLegend(); this.draw(); } });
	}

	toolbar(parent) {
		const bar = add(parent, "div", null, { class: "bar", role: "toolbar", "aria-label": "view" });
		const choice = (title, values, then) => {
			const select = add(add(bar, "label", title), "select");
			values.forEach(([value, text]) => add(select, "option", text, { value }));
			select.onchange = () => then(select.value);
			return select;
		};
		this.kindShown = choice("show ", [["blocks", "blocks"], ["segments", "segments"],
			...(privatePools(this.section).length ? [["pools", "private pools, whole"]] : [])], (kind) => this.show?.(kind));
		choice("colour ", [["line", "by line"], ...Object.keys(this.look.groups).map((key) => [key, `by ${key}`]), ["block", "by block"],
			["life", "by lifetime"]], (by) => {
			this.look.by = by;
			this.repaint();
			this.showLegend();
		});
		this.filter = add(bar, "input", null, { type: "search", "aria-label": "filter",
			placeholder: "filter: a regex of tags and stacks, >64MiB, class:weights, stream:0, an address" });
		this.filter.oninput = () => this.setFilter(this.filter.value);
		this.found = add(bar, "span", null, { class: "note", "aria-live": "polite" });
		const button = (text, click) => add(bar, "button", text, { type: "button" }).addEventListener("click", click);
		for (const [text, key] of [["Peak", "p"], ["Whole run", "0"], ["Set A", "a"], ["Set B", "b"]])
			button(text, () => this.key({ key }));
		this.cutButton = add(bar, "button", "Cut the constant part", { type: "button", "aria-pressed": "true" });
		this.cutButton.addEventListener("click", () => this.key({ key: "f" }));
	}
	setFilter(text) {
		this.filter.value = text;
		this.look.filter = readFilter(text);
		this.repaint();
		this.later();
	}
	repaint() {
		this.look.paint();
		this.view.changed();
	}
	only(tag) {
		this.setFilter(`^${escaped(this.run.who.tags[tag])}$`);
	}

	showLegend() {
		const { section, run } = this;
		this.legend.replaceChildren();
		const entry = (colour, text, filter) => {
			const button = add(add(this.legend, "li", null, { title: text }), "button", null, { type: "button" });
			add(button, "i").style.background = colour;
			button.append(text);
			button.addEventListener("click", () => this.setFilter(filter === this.filter.value ? "" : filter));
		};
		const { by } = this.look, group = this.look.group();
		if (group)
			group.order.slice(0, PALETTE.length).forEach((k, i) => entry(PALETTE[i], `${by} ${group.names[k]}`, `${by}:${group.names[k]}`));
		else if (by === "line")
			section.kinds.forEach((kind, i) => entry(PALETTE[i], kind, `^${escaped(kind).replace(/#/g, "\\d+")}$`));
		if (group ? group.order.length > PALETTE.length : by === "line" && run.kindOf.includes(OTHER))
			entry(OTHERS[0], group ? "others" : "other tags", "");
		if (run.blocks.sum_step.length)
			entry(dark() ? "#59636e" : "#b9c1ca", "small blocks, in the page as one sum", "");
		entry(style("soft"), "line: reserved", "");
		if (section.beside)
			entry(style("bad"), `line: live in ${section.beside.path}`, "");
	}

	/* ---- what is shown ---- */

	/* The bytes from the ground up that live through all of the window. */
	constant() {
		const { end, bytes } = this.run.blocks, until = Math.min(this.history.end, this.view.to);
		let sum = 0;
		this.history.liveAt(Math.max(0, Math.floor(this.view.from)), (i) => {
			if (end[i] < until)
				return true;
			sum += bytes[i];
		});
		return sum;
	}
	scale() {
		const { view, history } = this, p = this.blocks, whole = view.to - view.from >= view.end;
		if (this.manual)
			return { ...this.manual, pixels: p.h / (this.manual.high - this.manual.low) };
		const k = history.levelOf((view.to - view.from) / p.w), top = history.topOf(k), unit = 2 ** k;
		let high = whole ? Math.max(0, ...this.run.reservedLine.map((x) => x[1])) : 0;
		for (let c = Math.max(0, Math.floor(view.from / unit)); c < top.length && c * unit < view.to; c++)
			high = Math.max(high, history.totalOf(top[c]));
		if (whole && this.section.beside)
			high = Math.max(high, ...this.section.beside.runs[0].line.allocated_most);
		const floor = this.cut && !whole ? this.constant() : 0;
		const low = floor > 0.2 * high && floor < high ? Math.max(0, floor - 0.05 * (high - floor)) : 0;
		high = Math.max(low + 512, high + 0.04 * (high - low));
		return { low, high, pixels: p.h / (high - low) };
	}

	draw() {
		const { view, blocks: p, map, mini } = this, start = performance.now();
		p.fit(8, 22);
		if (!p.wide)
			return;
		map.fit(8, 22);
		mini.fit(1, 1);
		this.range = this.scale();
		const key = `${view.from},${view.to},${this.range.low},${this.range.high},${this.look.generation},${style("paper")}`;
		if (p.seen !== key) {
			this.tiles.missing = false;
			this.said = drawBlocks(p, view, this.history, this.look, this.tiles, this.range, p.seen ? start + FRAME_MS : Infinity);
			p.seen = this.tiles.missing ? "again" : key;
			this.say();
		}
		p.put();
		this.drawMap(key);
		this.overlays();
		this.drawMini();
		if (this.tiles.missing)
			view.changed();
		if (this.panelsAt !== this.panelKey())
			this.later();
	}
	/* Where the map takes long, its picture is stretched while it moves, and drawn at rest. */
	drawMap(key) {
		const { map, view } = this, place = `${view.from},${view.to},${this.look.generation},${style("paper")}`;
		if (map.seen && map.seen !== place && this.mapCost > FRAME_MS && this.movedKey !== key) {
			this.movedKey = key;
			clearTimeout(this.rest);
			this.rest = setTimeout(() => view.changed(), 150);
			this.copy ??= document.createElement("canvas");
			if (this.copyOf !== map.seen) {
				Object.assign(this.copy, { width: map.w, height: map.h });
				this.copy.getContext("2d").putImageData(map.image, 0, 0);
				this.copyOf = map.seen;
			}
			const { c } = map, unit = map.w / (view.to - view.from);
			c.save();
			c.beginPath();
			c.rect(map.left, map.top, map.w, map.h);
			c.clip();
			c.fillStyle = style("unmapped");
			c.fillRect(map.left, map.top, map.w, map.h);
			c.drawImage(this.copy, map.left + (this.drawn.from - view.from) * unit, map.top, (this.drawn.to - this.drawn.from) * unit, map.h);
			c.restore();
			return;
		}
		if (map.seen !== place) {
			const start = performance.now();
			drawMap(map, view, this.run, this.history, this.look);
			this.mapCost = performance.now() - start;
			this.drawn = { from: view.from, to: view.to };
			map.seen = place;
		}
		map.put();
	}
	say() {
		const { k, q, all, single } = this.said, share = all ? Math.floor(1000 * single / all) / 10 : 100, { blocks } = this.run;
		this.rule.textContent = `oldest at the bottom; ${k ? `a column shows the fullest of ${number(2 ** k)} events` : "a column an event"}; `
			+ `${share} % drawn block by block, what is below ${size(2 ** q).replace(".00", "")} summed by colour`
			+ (blocks.dropped ? `; ${number(blocks.dropped)} of ${number(blocks.dropped + blocks.birth.length)} blocks are in the page as a sum` : "");
	}

	overlays() {
		const { blocks: p, map, view, run, look, range } = this, { c } = p;
		this.axes(p, range.low, range.high);
		this.axes(map, 0, run.height);
		this.reserved(p, range);
		if (this.section.beside)
			this.total(p, range, this.section.beside, style("bad"));
		if (look.held >= 0) {
			this.outline(p, range);
			this.outlineMap(map);
		}
		for (const oom of run.ooms)
			oomHole(map, view, run, this.history, oom);
		for (const each of [p, map]) {
			for (const oom of run.ooms)
				this.line(each, oom.step, style("bad"), "");
			this.line(each, view.step, style("cursor"), "");
			this.line(each, view.a, style("focus"), "A");
			this.line(each, view.b, style("bad"), "B");
			if (view.drag) {
				each.c.fillStyle = "rgba(86, 180, 233, 0.3)";
				each.c.fillRect(each.left + Math.min(...view.drag) * each.w, each.top, Math.abs(view.drag[1] - view.drag[0]) * each.w, each.h);
			}
		}
		c.globalAlpha = 1;
	}
	x(p, event) {
		return p.left + (event - this.view.from) / (this.view.to - this.view.from) * p.w;
	}
	y(p, range, bytes) {
		return p.top + p.h - (bytes - range.low) / (range.high - range.low) * p.h;
	}
	line(p, event, colour, name) {
		const x = Math.round(this.x(p, event + 0.5));
		if (event === null || event < this.view.from || event > this.view.to)
			return;
		p.c.fillStyle = colour;
		p.c.fillRect(x, p.top, Math.max(1, p.r), p.h);
		p.c.textAlign = "left";
		if (name)
			p.c.fillText(name, x + (name === "A" ? -11 : 3) * p.r, p.top + 11 * p.r);
	}
	axes(p, low, high) {
		const { c, r, left, top, w, h } = p, { view } = this;
		c.fillStyle = style("soft");
		c.textAlign = "right";
		for (const t of ticks(low, high, Math.max(2, h / r / 55), 1024)) {
			const y = Math.round(this.y(p, { low, high }, t));
			c.fillText(t ? size(t).replace(/\.00 /, " ") : "0", left - 6 * r, y + 4 * r);
			c.fillRect(left - 4 * r, y, 4 * r, 1);
		}
		c.textAlign = "center";
		for (const t of ticks(view.from, view.to, Math.max(3, w / r / 110), 10)) {
			const x = this.x(p, t);
			if (t % 1 === 0 && x > left + 24 * r && x < left + w - 30 * r)
				c.fillText(number(t), x, top + h + 16 * r);
		}
		c.textAlign = "left";
		c.fillText("event", 2 * r, top + h + 16 * r);
	}
	/* What is live in another recording, at the fullest event of each column. */
	total(p, range, other, colour) {
		const { history } = other.runs[0], k = history.levelOf((this.view.to - this.view.from) / p.w), top = history.topOf(k);
		p.c.fillStyle = colour;
		for (let x = 0, before = null; x < p.w; x++) {
			const at = columnAt(this.view, p, history, k, x + 0.5);
			if (at < 0)
				break;
			const y = Math.max(p.top, Math.min(p.top + p.h, this.y(p, range, history.totalOf(top[at]))));
			before ??= y;
			p.c.fillRect(p.left + x, Math.min(y, before), 1, Math.max(1.5 * p.r, Math.abs(y - before)));
			before = y;
		}
	}
	reserved(p, range) {
		const { c } = p, changes = this.run.reservedLine, first = Math.max(0, countUpTo(this.run.reservedSteps, this.view.from) - 1);
		c.save();
		c.beginPath();
		c.rect(p.left, p.top, p.w, p.h);
		c.clip();
		c.beginPath();
		let before = null;
		for (let i = first; i < changes.length && changes[i][0] <= this.view.to; i++) {
			const x = this.x(p, changes[i][0]);
			if (before !== null)
				c.lineTo(x, before);
			before = this.y(p, range, changes[i][1]);
			c.lineTo(x, before);
		}
		if (before !== null)
			c.lineTo(this.x(p, this.run.end), before);
		c.lineWidth = 1.5 * p.r;
		c.strokeStyle = style("soft");
		c.stroke();
		c.restore();
	}
	/* The held block: in each column it lies on what is older. */
	outline(p, range) {
		const { history, view, look, tiles } = this, { k, q } = this.said, { birth, end, bytes } = this.run.blocks, i = look.held;
		const up = [], down = [];
		for (let x = 0, before = -1, low = 0; x < p.w; x++) {
			const at = columnAt(view, p, history, k, x + 0.5);
			if (at < 0 || history.topOf(k)[at] < birth[i] || history.topOf(k)[at] >= end[i])
				continue;
			if (at !== before) {
				const tile = tiles.get(k, q, Math.floor(at / TILE), Infinity), n = (at - tile.from) >> tile.shift;
				low = 0;
				for (let s = tile.at[n]; s < tile.at[n + 1] && tile.id[s] < i; s++)
					low += tile.bytes[s];
				before = at;
			}
			const y0 = Math.min(p.top + p.h + 1, this.y(p, range, low));
			const y1 = Math.max(p.top - 2, Math.min(y0 - 2 * p.r, this.y(p, range, low + bytes[i])));
			up.push([p.left + x, y1], [p.left + x + 1, y1]);
			down.push([p.left + x, y0], [p.left + x + 1, y0]);
		}
		p.c.beginPath();
		[...up, ...down.reverse()].forEach(([x, y]) => p.c.lineTo(x, y));
		p.c.closePath();
		this.strokes(p);
	}
	outlineMap(p) {
		const { birth, end, bytes, y } = this.run.blocks, i = this.look.held, range = { low: 0, high: this.run.height };
		const x0 = Math.max(p.left, this.x(p, birth[i])), x1 = Math.min(p.left + p.w, this.x(p, end[i]));
		if (x1 < x0)
			return;
		const y0 = this.y(p, range, y[i]), y1 = Math.min(y0 - 2 * p.r, this.y(p, range, y[i] + bytes[i]));
		p.c.beginPath();
		p.c.rect(x0, y1, Math.max(2 * p.r, x1 - x0), y0 - y1);
		this.strokes(p);
	}
	strokes(p) {
		for (const [width, colour] of [[3.5, "paper"], [1.8, "cursor"]]) {
			p.c.lineWidth = width * p.r;
			p.c.strokeStyle = style(colour);
			p.c.stroke();
		}
		p.c.lineWidth = 1;
	}
	drawMini() {
		const { mini: p, history, view } = this, { c } = p;
		this.peak ??= Math.max(1, history.totalOf(history.topOf(history.least + history.top.length - 1)[0]));
		if (p.seen !== style("paper")) {
			const k = history.levelOf(view.end / p.w), top = history.topOf(k);
			const paper = packed(...rgbOf(style("paper"))), full = packed(...rgbOf(style("allocated")));
			p.pixels.fill(paper);
			for (let x = 0; x < p.w; x++) {
				const at = Math.floor((x + 0.5) / p.w * view.end / 2 ** k);
				for (let y = at < top.length ? Math.round(history.totalOf(top[at]) / this.peak * p.h) : 0; y > 0; y--)
					p.pixels[(p.h - y) * p.w + x] = full;
			}
			p.seen = style("paper");
		}
		p.put();
		const x0 = p.left + view.from / view.end * p.w, x1 = p.left + view.to / view.end * p.w;
		c.fillStyle = style("paper");
		c.globalAlpha = 0.65;
		c.fillRect(p.left, 0, x0 - p.left, p.canvas.height);
		c.fillRect(x1, 0, p.left + p.w - x1, p.canvas.height);
		c.globalAlpha = 1;
		c.strokeStyle = style("focus");
		c.lineWidth = 2 * p.r;
		c.strokeRect(x0, p.r, Math.max(3, x1 - x0), p.canvas.height - 2 * p.r);
		c.fillStyle = style("soft");
		c.textAlign = "right";
		c.fillText("overview", p.left - 6 * p.r, p.top + p.h / 2 + 4 * p.r);
	}

	/* ---- what is asked ---- */

	/* The moment that a place in a picture shows, and the block there: exact, however small it is. */
	hit(p, event) {
		const box = p.canvas.getBoundingClientRect(), { view, history, run } = this;
		const x = (event.clientX - box.left) * p.r - p.left, y = p.top + p.h - (event.clientY - box.top) * p.r;
		const k = history.levelOf((view.to - view.from) / this.blocks.w), at = columnAt(view, p, history, k, Math.max(0, Math.min(p.w - 0.5, x)));
		const moment = at < 0 ? history.end - 1 : history.topOf(k)[at];
		if (at < 0 || y < 0 || y > p.h || x < 0 || x > p.w)
			return { moment, block: -1 };
		if (p === this.blocks)
			return { moment, block: history.blockAt(moment, this.range.low + y / p.h * (this.range.high - this.range.low)) };
		const address = y / p.h * run.height, { y: place, bytes } = run.blocks;
		let block = -1;
		history.liveAt(moment, (i) => {
			block = place[i] <= address && address < place[i] + bytes[i] ? i : -1;
			return block >= 0;
		});
		return { moment, block };
	}
	tell(moment, block) {
		const { run, history } = this, { bytes, who } = run.blocks;
		const name = run.marksShown?.findLast((mark) => mark[0] <= moment)?.[1];
		this.told.textContent = `event ${number(moment)}${name ? `, ${markPlace(name)}` : ""}: ${size(history.liveBytes(moment))} live, `
			+ `${size(this.reservedAt(moment))} reserved`
			+ (block < 0 ? "" : ` \u2014 ${size(bytes[block])} of \u201c${tagOf(run, who[block])}\u201d, ${lifeWords(run, block)}`);
	}
	reservedAt(event) {
		const changes = this.run.reservedLine, at = countUpTo(this.run.reservedSteps, event);
		return at ? changes[at - 1][1] : 0;
	}
	hold(i) {
		this.look.held = i;
		this.repaint();
		this.describe(i);
	}
	/* While none is held, the block under the pointer. */
	peek(i) {
		if (this.look.held < 0 && i >= 0 && i !== this.described)
			this.describe(i);
	}
	describe(i) {
		const { run, look, held: side, view } = this;
		this.described = i;
		side.replaceChildren();
		add(side, "h3", i < 0 ? "Click a block" : `Block ${number(i)}: ${size(run.blocks.bytes[i])}`);
		if (i < 0) {
			add(side, "p", "Its size, life, stack, and what the same line holds.", { class: "note" });
			return;
		}
		const { who } = run.blocks, tag = run.who.shareTag[who[i]], list = add(side, "dl");
		const say = (name, text) => { add(list, "dt", name); return add(list, "dd", text); };
		let all = 0;
		for (const share of who)
			all += run.who.shareTag[share] === tag;
		say("line", run.who.tags[tag]);
		say("life", lifeWords(run, i));
		this.sayRecorded(i, say);
		say("live after it", size(this.history.liveBytes(run.blocks.birth[i])));
		this.same = say("same line", "");
		this.sameAll = all;
		this.sayLine(view.step);
		const bar = add(side, "div", null, { class: "bar" });
		add(bar, "button", "Only this line", { type: "button" }).addEventListener("click", () => this.only(tag));
		if (look.held === i)
			add(bar, "button", "Release", { type: "button" }).addEventListener("click", () => this.hold(-1));
		else
			add(bar, "button", "Hold", { type: "button" }).addEventListener("click", () => this.hold(i));
		const made = stackOf(run, i, "made_by") ?? run.who.stacks[who[i]] ?? [], freed = stackOf(run, i, "freed_by");
		const [context, ...forward] = run.section.origins[run.blocks.origin?.[i] - 1] ?? [];
		if (context)
			say("compilation", context);
		if (made.length)
			stackList(side, made);
		else
			add(side, "p", "The recording has no stack of its allocation: it began later, its ring dropped it, or it recorded none.", { class: "note" });
		this.freedBy = this.showMore("Freed by", freed?.length ? (box) => stackList(box, freed) : null, ownFirst(freed));
		this.showMore("Forward pass", forward.length ? (box) => add(box, "pre", forward.join("")) : null, "");
	}
	showMore(title, fill, words) {
		if (!fill)
			return null;
		const box = add(this.held, "details");
		add(box, "summary", `${title}${words ? `: ${words}` : ""}`);
		fill(box);
		return box;
	}
	/* Of what is no block. */
	showStack(title, frames) {
		this.held.replaceChildren();
		add(this.held, "h3", title);
		stackList(this.held, frames ?? []);
	}
	/* What the data says of a block besides: how many bytes, which class, stream and pool, and where and when the recording had it. */
	sayRecorded(i, say) {
		const { run } = this, { bytes, rounding, life_class, queue, address, time, first_time, y } = run.blocks;
		say("bytes", rounding?.[i] ? `${number(bytes[i])}, ${number(bytes[i] - rounding[i])} of them requested` : number(bytes[i]));
		if (life_class)
			say("class", className(run, i));
		if (queue)
			say("stream, pool", `${queueName(run, i, 0)}, ${queueName(run, i, POOL)}`);
		if (address?.[i])
			say("recorded at", addressText(address[i], usesBefore(run)[i]));
		if (time)
			say("time", `${(time[i] / 1000).toFixed(3)} s after the first event, ${new Date((first_time / 1000) + time[i]).toISOString()}`);
		say("on the map", `at ${size(y[i])}`);
	}
	sayLine(moment) {
		const { run } = this, tag = run.who.shareTag[run.blocks.who[this.described]];
		const sum = sumByTag(run, (visit) => this.history.liveAt(moment, (i) => { visit(i); })).get(tag) || { bytes: 0, blocks: 0 };
		this.same.textContent = `${number(sum.blocks)} blocks, ${size(sum.bytes)} at the cursor; ${number(this.sameAll)} in the run`;
	}
	/* The block above or below the held one, at the cursor. */
	neighbour(above) {
		const { look, history, view } = this;
		let before = -1, found = -1, past = look.held < 0;
		history.liveAt(view.step, (i) => {
			if (above ? past : i === look.held)
				found = above ? i : before;
			past ||= i === look.held;
			before = i;
			return found >= 0 || (!above && i === look.held);
		});
		if (found >= 0) {
			this.hold(found);
			this.tell(view.step, found);
		}
	}
	key({ key }) {
		const { view, history, look } = this;
		const keys = {
			ArrowUp: () => this.neighbour(true), ArrowDown: () => this.neighbour(false),
			p: () => view.look(history.topOf(history.least + history.top.length - 1)[0]),
			f: () => {
				this.cut = !this.cut;
				this.cutButton.setAttribute("aria-pressed", this.cut);
			},
			a: () => { view.a = view.step; }, b: () => { view.b = view.step; },
			0: () => { this.manual = null; view.show(0, view.end); },
			Escape: () => this.hold(-1),
		};
		if (!keys[key])
			return false;
		keys[key]();
		this.tell(view.step, look.held);
		this.later();
		view.changed();
		return true;
	}
	steer() {
		const { view } = this;
		for (const p of [this.blocks, this.map])
			steer(p.canvas, view, {
				hover: (event) => { const { moment, block } = this.hit(p, event); this.tell(moment, block); this.peek(block); },
				click: (event) => {
					const { moment, block } = this.hit(p, event);
					view.look(moment);
					this.hold(block);
					this.tell(moment, block);
				},
				bytes: p === this.blocks ? (factor, event) => this.zoomBytes(factor, event) : null,
				shift: p === this.blocks ? (pixels) => this.moveBytes(pixels) : null,
				key: (event) => this.key(event),
			});
		const { mini } = this;
		const go = (event) => {
			const at = ((event.clientX - mini.canvas.getBoundingClientRect().left) * mini.r - mini.left) / mini.w * view.end;
			if (event.buttons)
				view.show(at - (view.to - view.from) / 2, at + (view.to - view.from) / 2);
		};
		mini.canvas.addEventListener("pointerdown", (event) => { mini.canvas.setPointerCapture(event.pointerId); go(event); });
		mini.canvas.addEventListener("pointermove", go);
		addKeys(mini.canvas, view, (event) => this.key(event));
	}
	zoomBytes(factor, event) {
		const { low, high } = this.range, p = this.blocks, box = p.canvas.getBoundingClientRect();
		const at = low + (p.top + p.h - (event.clientY - box.top) * p.r) / p.h * (high - low), most = Math.max(high, 1.1 * this.peak);
		const span = Math.min(most, Math.max(1 << 16, (high - low) * factor)), from = Math.max(0, at - (at - low) * span / (high - low));
		this.manual = { low: Math.min(from, most - span), high: Math.min(from, most - span) + span };
		this.view.changed();
	}
	moveBytes(pixels) {
		if (!this.manual)
			return;
		const { low, high } = this.manual, by = pixels * this.blocks.r / this.blocks.h * (high - low), from = Math.max(0, low + by);
		this.manual = { low: from, high: from + high - low };
	}

	/* ---- tables ---- */

	panelKey() {
		const { view, look } = this;
		return `${view.step},${view.a},${view.b},${look.held},${this.filter.value},${view.from},${view.to}`;
	}
	later() {
		clearTimeout(this.waiting);
		this.waiting = setTimeout(() => { if (this.blocks.canvas.isConnected) this.panels(); }, 80);
	}
	panels() {
		const { view, run, history, look } = this;
		this.panelsAt = this.panelKey();
		let all = 0, count = 0, shown = 0, passing = 0;
		const sums = sumByTag(run, (visit) => history.liveAt(view.step, (i) => {
			all += run.blocks.bytes[i];
			count++;
			if (look.fits(i)) {
				shown += run.blocks.bytes[i];
				passing++;
				visit(i);
			}
		}));
		const summed = history.summedAt(view.step);
		this.list.show();
		this.found.textContent = this.filter.value ? `${number(passing)} of ${number(count)} blocks, ${size(shown)} at the cursor; ${number(this.list.blocks)} blocks in the run` : "";
		this.atHead.textContent = `At event ${number(view.step)}: ${size(all + summed)} in ${number(count)} blocks${summed ? " and a sum" : ""}`;
		const button = (tag) => {
			const b = document.createElement("button");
			Object.assign(b, { type: "button", className: "plain", textContent: run.who.tags[tag], onclick: () => this.only(tag) });
			return b;
		};
		this.at.replaceChildren();
		table(this.at, [["bytes", false], ["share", false], ["blocks", false], ["line", true]], [...sums.values()].sort((a, b) => b.bytes - a.bytes)
			.slice(0, 24).map((sum) => [size(sum.bytes), `${(100 * sum.bytes / (all || 1)).toFixed(1)} %`, number(sum.blocks), button(sum.tag)]));
		this.showPools();
		this.state.show(view.step);
		this.diff.replaceChildren();
		if (view.a === null || view.b === null) {
			add(this.diff, "p", "Set two moments, A and B: blocks of B that are not there at A, by line.", { class: "note" });
		} else {
			const [a, b] = [Math.min(view.a, view.b), Math.max(view.a, view.b)], change = history.liveBytes(b) - history.liveBytes(a);
			this.diffHead.textContent = `Between A (${number(a)}) and B (${number(b)}): ${change < 0 ? "-" : "+"}${size(Math.abs(change))}`;
			table(this.diff, [["new at B", false], ["blocks", false], ["gone since A", false], ["line", true]],
				between(run, a, b).slice(0, 12).map((row) => [size(row.fresh), number(row.blocks), size(row.gone), button(row.tag)]));
		}
		if (look.held >= 0)
			this.sayLine(view.step);
		flameAt(this.flame, run, history, view.step);
		writePlace(this);
	}
	/* Of each stream and pool what is reserved and allocated at the cursor; a private pool keeps what nothing else can use. */
	showPools() {
		const { view, run } = this, { queue, bytes } = run.blocks;
		this.pools.replaceChildren();
		if (!queue || run.section.queues.length < 2)
			return;
		const rows = new Map();
		for (const one of segmentsAt(run, view.step)) {
			const by = one.blocks[0] ?? (run.reservers ??= reservers(run))[one.piece];
			const row = rows.get(by >= 0 ? queue[by] : -1) ?? { reserved: 0, live: 0, blocks: 0, segments: 0 };
			row.reserved += one.bytes;
			row.live += one.blocks.reduce((sum, i) => sum + bytes[i], 0);
			row.blocks += one.blocks.length;
			row.segments++;
			rows.set(by >= 0 ? queue[by] : -1, row);
		}
		add(this.pools, "h3", `Streams and pools at event ${number(view.step)}`);
		const name = (q, which) => q < 0 ? "unknown" : queueText(run.section, q, which);
		table(this.pools, [["pool", true], ["stream", true], ["reserved", false], ["allocated", false], ["free", false], ["segments", false], ["blocks", false]],
			[...rows].sort((a, b) => b[1].reserved - a[1].reserved).slice(0, 40).map(([q, row]) => [name(q, POOL), name(q, 0), size(row.reserved),
				size(row.live), size(row.reserved - row.live), number(row.segments), number(row.blocks)]));
	}
}

/* ---- A flame graph of the bytes at the cursor ---- */

/* From the outside in: own frames, and the tag where there are none; all frames where they are asked for. */
function flamePath(run, { share, stack }, all) {
	const frames = (all && run.section.stacks[stack - 1]) || run.who.stacks[share] || [], shown = all ? frames : frames.filter(isOwn);
	return shown.length ? [...shown].reverse().map(frameText) : tagOf(run, share).split(/ \| | < /).reverse();
}

function flameAt(box, run, history, step) {
	const { who, made_by, bytes } = run.blocks, many = run.section.stacks.length + 1, sums = new Map();
	history.liveAt(step, (i) => {
		const key = who[i] * many + (made_by?.[i] ?? 0);
		sums.set(key, (sums.get(key) || 0) + bytes[i]);
	});
	box.replaceChildren();
	flame(box, run, [...sums].map(([key, sum]) => ({ share: Math.floor(key / many), stack: key % many, bytes: sum })),
		`Bytes at event ${number(step)} by stack`);
}

/* Buttons for all frames and for the way back; a bar that is clicked becomes the whole. */
function flame(parent, run, holders, heading) {
	add(parent, "h3", heading);
	const bar = add(parent, "div", null, { class: "bar" }), box = add(parent, "div");
	let root = null, path = [], all = flame.all ?? false;
	const draw = () => {
		let node = root = tree(run, holders, all);
		path = path.filter((name) => { const next = node.under.get(name); node = next ?? node; return next; });
		bar.replaceChildren();
		[["all", -1], ...path.map((name, k) => [name, k])].forEach(([name, k]) =>
			add(bar, "button", name, { type: "button", class: "plain" }).addEventListener("click", () => { path = path.slice(0, k + 1); draw(); }));
		const mixed = (frames) => frames.some(isOwn) && !frames.every(isOwn);
		if (run.who.stacks.some(mixed) || holders.some(({ stack }) => stack && mixed(run.section.stacks[stack - 1])))
			add(bar, "button", "Frames of libraries", { type: "button", "aria-pressed": all }).addEventListener("click", () => {
				all = flame.all = !all;
				draw();
			});
		box.replaceChildren();
		/* the bar that became the whole stays on top */
		const shown = path.length ? { bytes: node.bytes, under: new Map([[path.at(-1), node]]) } : node;
		icicle(box, run, shown, root.bytes, (names) => { path = [...path.slice(0, -1), ...names]; draw(); });
	};
	draw();
}

/* ---- The place in the address of the page ---- */

function writePlace({ view, look, section, run }) {
	const numbers = [section.number, run.number, Math.round(view.from), Math.round(view.to), view.step, run.ofSegments ? -1 : look.held,
		view.a ?? -1, view.b ?? -1];
	try {
		window.history.replaceState(null, "", `#${numbers.join(",")}`);
	} catch { /* a page within a page has no address of its own */ }
}

function readPlace() {
	const found = location.hash.match(/^#(\d+),(\d+),(\d+),(\d+),(\d+),(-?\d+),(-?\d+),(-?\d+)$/);
	return found ? found.slice(1).map(Number) : null;
}
