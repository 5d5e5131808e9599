/*
 * pictures.js - what is drawn: timelines, the map of addresses, the devices on which a run survives.
 *
 * All pictures of a section show the same steps: they look at one View, and steer it.
 */

function add(parent, name, text, attributes) {
	const node = document.createElement(name);
	if (text !== undefined && text !== null)
		node.textContent = text;
	for (const [key, value] of Object.entries(attributes || {}))
		node.setAttribute(key, value);
	parent.append(node);
	return node;
}

function legend(parent, entries) {
	const list = add(parent, "ul", null, { class: "legend" });
	for (const [colour, text] of entries) {
		const item = add(list, "li", null, { title: text });
		add(item, "i").style.background = colour;
		item.append(text);
	}
}

/* ---- One picture, and how it is steered ---- */

const LEFT = 72, RIGHT = 10;
let everything = [];                    /* what is drawn again when the window changes */

/* A canvas as wide as the page; draw(context, width, height) in CSS pixels. */
function picture(parent, height, label, draw) {
	const canvas = add(parent, "canvas", null, { tabindex: 0, role: "img", "aria-label": label });
	canvas.style.height = `${height}px`;
	const redraw = () => {
		const width = canvas.clientWidth, ratio = window.devicePixelRatio || 1;
		if (!width)
			return;
		canvas.width = Math.round(width * ratio);
		canvas.height = Math.round(height * ratio);
		const c = canvas.getContext("2d");
		c.setTransform(ratio, 0, 0, ratio, 0, 0);
		c.font = "12px system-ui, sans-serif";
		draw(c, width, height);
	};
	everything.push({ canvas, redraw });
	return { canvas, redraw };
}

function redrawAll() {
	everything = everything.filter(({ canvas }) => canvas.isConnected);
	everything.forEach(({ redraw }) => redraw());
}

/* The steps that a section shows, and the one that is looked at. */
class View {
	constructor(section, end) {
		this.end = end ?? Math.max(1, ...section.runs.map((run) => run.end));
		this.from = 0;
		this.to = this.end;
		const run = section.runs[0];
		this.step = section.look ?? run?.ooms[0]?.step ?? run?.live_step ?? 0;
		this.watchers = [];
		if (section.look !== undefined)
			this.show(this.step - 255, this.step + 257);    /* these steps are there one by one */
	}
	changed() {
		for (const watcher of this.watchers)
			watcher();
	}
	show(from, to) {
		const width = Math.min(this.end, Math.max(8, to - from));
		this.from = Math.max(0, Math.min(from, this.end - width));
		this.to = this.from + width;
		this.changed();
	}
	zoom(factor) {
		const width = (this.to - this.from) * factor;
		this.show(this.step - width / 2, this.step + width / 2);
	}
	look(step) {
		this.step = Math.max(0, Math.min(this.end - 1, Math.round(step)));
		this.changed();
	}
	x(step, width) {
		return LEFT + (step - this.from) / (this.to - this.from) * (width - LEFT - RIGHT);
	}
	stepAt(x, width) {
		const share = (x - LEFT) / (width - LEFT - RIGHT);
		return this.from + Math.max(0, Math.min(1, share)) * (this.to - this.from);
	}
}

/* Drag to zoom, click to look, double click for all; keys do the same. */
function steer(canvas, view, hover) {
	let start = null;
	const at = (event) => event.clientX - canvas.getBoundingClientRect().left;
	canvas.addEventListener("pointerdown", (event) => {
		start = at(event);
		canvas.setPointerCapture(event.pointerId);
	});
	canvas.addEventListener("pointermove", (event) => {
		view.drag = start !== null && Math.abs(at(event) - start) > 4 ? [start, at(event)] : null;
		if (view.drag)
			view.changed();
		hover(event);
	});
	canvas.addEventListener("pointerup", (event) => {
		const width = canvas.clientWidth;
		const from = start;
		start = view.drag = null;
		if (from === null)
			return;
		if (Math.abs(at(event) - from) > 4)
			view.show(...[view.stepAt(from, width), view.stepAt(at(event), width)].sort((a, b) => a - b));
		else
			view.look(Math.floor(view.stepAt(at(event), width)));
	});
	canvas.addEventListener("pointercancel", () => { start = view.drag = null; });
	canvas.addEventListener("dblclick", () => view.show(0, view.end));
	canvas.addEventListener("keydown", (event) => {
		const pixel = (view.to - view.from) / (canvas.clientWidth - LEFT - RIGHT);
		const stride = Math.max(1, pixel);
		const pan = (view.to - view.from) / 4;
		const keys = {
			ArrowLeft: () => event.shiftKey ? view.show(view.from - pan, view.to - pan) : view.look(view.step - stride),
			ArrowRight: () => event.shiftKey ? view.show(view.from + pan, view.to + pan) : view.look(view.step + stride),
			"+": () => view.zoom(0.5), "=": () => view.zoom(0.5), "-": () => view.zoom(2),
			0: () => view.show(0, view.end), Home: () => view.look(view.from), End: () => view.look(view.to - 1),
		};
		if (keys[event.key]) {
			keys[event.key]();
			event.preventDefault();
		}
	});
}

/* Round values of about `count` ticks. */
function ticks(least, most, count, base) {
	const raw = (most - least) / count;
	if (!(raw > 0))
		return [];
	const power = base ** Math.floor(Math.log(raw) / Math.log(base));
	const steps = base === 10 ? [1, 2, 5, 10] : [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
	const step = power * steps.find((s) => power * s >= raw);
	const out = [];
	for (let t = Math.ceil(least / step) * step; t <= most; t += step)
		out.push(t);
	return out;
}

function axes(c, view, width, height, top, most, unit) {
	c.strokeStyle = style("rule");
	c.fillStyle = style("soft");
	c.textAlign = "right";
	for (const t of ticks(0, most, height / 50, 1024)) {
		const y = Math.round(height - 22 - t / most * (height - 22 - top)) + 0.5;
		c.beginPath();
		c.globalAlpha = 0.6;
		c.moveTo(LEFT, y);
		c.lineTo(width - RIGHT, y);
		c.stroke();
		c.globalAlpha = 1;
		c.fillText(t ? size(t).replace(/\.00 /, " ") : "0", LEFT - 6, y + 4);
	}
	c.textAlign = "center";
	for (const t of ticks(view.from, view.to, Math.max(3, (width - LEFT) / 110), 10)) {
		const x = view.x(t, width);
		if (x > LEFT + 24 && x < width - 44)
			c.fillText(number(t), x, height - 6);
	}
	c.textAlign = "left";
	c.fillText(unit, 4, height - 6);
}

/* The least and the most of a figure between two steps; of single steps where they are known. */
function range(run, figure, from, to) {
	for (const m of run.moments)
		if (m.step.length && from >= m.step[0] && to <= m.step[m.step.length - 1] + 1) {
			let least = Infinity, most = 0;
			for (let i = 0; i < m.step.length; i++)
				if (m.step[i] >= Math.floor(from) && m.step[i] < Math.max(to, Math.floor(from) + 1)) {
					least = Math.min(least, m[figure][i]);
					most = Math.max(most, m[figure][i]);
				}
			if (least <= most)
				return [least, most];
		}
	const width = 2 ** run.line.shift;
	const low = run.line[`${figure}_least`], high = run.line[`${figure}_most`];
	let least = Infinity, most = 0;
	for (let i = Math.max(0, Math.floor(from / width)); i < low.length && i * width < to; i++) {
		least = Math.min(least, low[i]);
		most = Math.max(most, high[i]);
	}
	return [least === Infinity ? 0 : least, most];
}

/*
 * What is reserved, from the ground up: what is always allocated in a column of pixels, what is at
 * times (paler), what is non_releasable above it, and the rest, which could be given back.
 */
function bands(c, run, view, width, y) {
	const fill = (x, from, to, colour) => {
		c.fillStyle = colour;
		c.fillRect(x, y(to), 1, Math.max(0, y(from) - y(to)));
	};
	const colours = Object.fromEntries(["reserved", "allocated", "requested", "non_releasable"].map((name) => [name, style(name)]));
	for (let x = LEFT; x < Math.min(width - RIGHT, view.x(run.end, width)); x++) {
		const from = view.stepAt(x, width), to = view.stepAt(x + 1, width);
		const reserved = range(run, "reserved", from, to)[1];
		const allocated = range(run, "allocated", from, to);
		const requested = range(run, "requested", from, to);
		fill(x, 0, reserved, colours.reserved);
		fill(x, 0, Math.min(reserved, allocated[0] + range(run, "non_releasable", from, to)[1]), colours.non_releasable);
		fill(x, 0, allocated[0], colours.allocated);
		c.globalAlpha = 0.75;
		fill(x, allocated[0], allocated[1], colours.allocated);
		c.globalAlpha = 1;
		c.fillStyle = colours.requested;
		c.fillRect(x, y(requested[1]), 1, Math.max(1.5, Math.min(3, y(requested[0]) - y(requested[1]))));
	}
}

function overlay(c, run, view, width, height, top) {
	const bottom = height - 22;
	for (const oom of run.ooms) {
		const x = view.x(oom.step, width);
		if (x < LEFT - 1 || x > width - RIGHT + 1)
			continue;
		c.fillStyle = style("bad");
		c.fillRect(x - 1, top, 2, bottom - top);
		c.beginPath();
		c.moveTo(x - 6, top - 9);
		c.lineTo(x + 6, top - 9);
		c.lineTo(x, top);
		c.fill();
	}
	const x = view.x(view.step + 0.5, width);
	c.strokeStyle = style("cursor");
	if (x >= LEFT && x <= width - RIGHT) {
		c.setLineDash([2, 3]);
		c.beginPath();
		c.moveTo(x, top);
		c.lineTo(x, bottom);
		c.stroke();
		c.setLineDash([]);
	}
	if (view.drag) {
		c.fillStyle = "rgba(86, 180, 233, 0.3)";
		c.fillRect(Math.min(...view.drag), top, Math.abs(view.drag[1] - view.drag[0]), bottom - top);
	}
}

/* Marks as short ticks at the foot; a name only where there is room for it. */
function marks(c, run, view, width, height) {
	let free = LEFT, last = -9;
	c.textAlign = "left";
	run.mark_step.forEach((step, i) => {
		const x = view.x(step, width);
		if (x < LEFT || x > width - RIGHT || x - last < 2)
			return;
		last = x;
		c.fillStyle = style("soft");
		c.fillRect(x, height - 22, 1, 5);
		const name = run.mark_names[i].slice(0, 24), length = c.measureText(name).width;
		if (x < free || x + length + 4 > width - RIGHT || run.mark_step.length > 400)
			return;
		c.fillText(name, x + 3, 12);
		c.fillRect(x, 3, 1, 12);
		free = x + length + 14;
	});
}

function outcome(run, section) {
	return run.ooms.length ? `OOM at step ${number(run.ooms[0].step)}`
		: `${run.room && run.status === "fits" ? `${section.claim}, ` : ""}peak reserved ${size(run.peak_reserved)}`;
}

function timeline(parent, run, section, view, { most, height, name }) {
	const figures = ["reserved", "allocated", "requested", "non_releasable"];
	const far = run.room > 1.35 * most;
	const top = 30, highest = run.room && !far ? Math.max(most, run.room) : most;
	add(parent, "h3", `${name}${title(run, section)}: ${outcome(run, section)}`);
	const { canvas, redraw } = picture(parent, height, `timeline of ${title(run, section)}`, (c, width, height) => {
		const y = (bytes) => height - 22 - bytes / highest * (height - 22 - top);
		axes(c, view, width, height, top, highest, "step");
		bands(c, run, view, width, y);
		marks(c, run, view, width, height);
		c.fillStyle = c.strokeStyle = style("bad");
		const crowded = run.ooms.some((oom) => view.x(oom.step, width) < LEFT + 170);
		const side = crowded ? width - RIGHT - 2 : LEFT + 4;
		c.textAlign = crowded ? "right" : "left";
		if (far) {
			c.fillText(`\u2191 usable: ${size(run.room)}`, side, 27);
		} else if (run.room) {
			c.setLineDash([6, 4]);
			c.beginPath();
			c.moveTo(LEFT, y(run.room));
			c.lineTo(width - RIGHT, y(run.room));
			c.stroke();
			c.setLineDash([]);
			c.fillText(`usable: ${size(run.room)}`, side, y(run.room) - 4);
		}
		overlay(c, run, view, width, height, top);
	});
	const words = add(parent, "div", null, { class: "figures", "aria-live": "polite" });
	const tell = (from, to) => {
		if (from >= run.end) {
			words.textContent = `step ${number(Math.floor(from))}: the run ended at step ${number(run.end - 1)}`;
			return;
		}
		const text = figures.map((f) => {
			const [least, high] = range(run, f, from, to);
			return `${f} ${least === high ? size(high) : `${size(least)} to ${size(high)}`}`;
		});
		const name = run.mark_names[[...run.mark_step].findLastIndex((s) => s <= from)];
		words.textContent = `step ${number(Math.floor(from))}${name ? `, ${name}` : ""}: ${text.join(", ")}`;
	};
	view.watchers.push(() => { redraw(); tell(view.step, view.step + 1); });
	steer(canvas, view, (event) => {
		const x = event.clientX - canvas.getBoundingClientRect().left;
		tell(view.stepAt(x, canvas.clientWidth), view.stepAt(x + 1, canvas.clientWidth));
	});
	tell(view.step, view.step + 1);
}

/* ---- The map ---- */

function hatch(c, colour) {
	const tile = document.createElement("canvas");
	tile.width = tile.height = 6;
	const t = tile.getContext("2d");
	t.strokeStyle = colour;
	t.lineWidth = 2;
	t.beginPath();
	for (const i of [-6, 0, 6]) {
		t.moveTo(i, 6);
		t.lineTo(i + 6, 0);
	}
	t.stroke();
	return c.createPattern(tile, "repeat");
}

function drawRaster(c, areas, x, y, colour) {
	const columns = areas.columns, width = 2 ** areas.column_shift, height = 2 ** areas.row_shift;
	c.fillStyle = colour;
	for (const { base, rows, cells } of areas.raster)
		for (let r = 0; r < rows; r++)
			for (let i = 0; i < columns; i++) {
				const shade = cells[r * columns + i];
				if (!shade)
					continue;
				const x0 = x(i * width), y1 = y(base + r * height), y0 = y(base + (r + 1) * height);
				c.globalAlpha = 0.15 + 0.75 * shade / 255;
				c.fillRect(x0, y0, x((i + 1) * width) - x0, y1 - y0);
			}
	c.globalAlpha = 1;
}

/* The neighbours that a request lacked, where their segment is among those that are kept. */
function holeOf(run, oom) {
	const { who, y, birth, life, bytes } = run.segments;
	if (oom.hole_bytes === undefined)
		return null;
	for (let i = who.length - 1; i >= 0; i--)
		if (who[i] === oom.hole_segment && birth[i] <= oom.step && birth[i] + life[i] > oom.step - 1)
			return { y: y[i] + Math.min(oom.hole_offset, bytes[i]), bytes: oom.hole_bytes };
	return null;
}

/* The blocks that keep it from being one piece. */
function pins(c, run, oom, hole, x, y) {
	const { birth, life, y: place, bytes } = run.blocks;
	c.strokeStyle = style("ink");
	for (let i = 0; i < birth.length && birth[i] <= oom.step; i++)
		if (birth[i] + life[i] >= oom.step && place[i] < hole.y + hole.bytes && place[i] + bytes[i] > hole.y)
			c.strokeRect(x(birth[i]), y(place[i] + bytes[i]), x(birth[i] + life[i]) - x(birth[i]),
				Math.max(1, y(place[i]) - y(place[i] + bytes[i])));
}

function blockAt(run, step, address) {
	const { birth, life, y, bytes } = run.blocks;
	for (let i = 0; i < birth.length; i++)
		if (birth[i] <= step && step < birth[i] + life[i] && y[i] <= address && address < y[i] + bytes[i])
			return i;
	return -1;
}

function describe(run, i) {
	const { birth, life, pending, bytes, who } = run.blocks;
	const end = birth[i] + life[i];
	const stack = run.who.stacks[who[i]] || [];
	return `${size(bytes[i])} of \u201c${run.who.tags[run.who.shareTag[who[i]]]}\u201d, requested at step `
		+ `${number(birth[i])}, ${end >= run.end ? "never freed" : `freed at ${number(end - pending[i])}`}`
		+ (pending[i] ? `, pending until ${number(end)}` : "")
		+ (stack.length ? `; ${stack.slice(0, 6).join(" < ")}` : "");
}

function map(parent, run, section, view) {
	const top = 12;
	const { canvas, redraw } = picture(parent, 380, `map of the addresses of ${title(run, section)}`, (c, width, height) => {
		const x = (step) => Math.max(LEFT, Math.min(width - RIGHT, view.x(step, width)));
		const y = (bytes) => height - 22 - bytes / run.height * (height - 22 - top);
		const draw = (areas, paint) => {
			const { birth, life, y: place, bytes } = areas;
			for (let i = 0; i < birth.length; i++) {
				if (birth[i] + life[i] <= view.from || birth[i] >= view.to)
					continue;
				const x0 = x(birth[i]), y0 = y(place[i] + bytes[i]);
				paint(i, x0, y0, Math.max(0.7, x(birth[i] + life[i]) - x0), Math.max(0.5, y(place[i]) - y0));
			}
		};
		c.fillStyle = style("unmapped");
		c.fillRect(LEFT, top, width - LEFT - RIGHT, height - 22 - top);
		c.fillStyle = style("free");
		drawRaster(c, run.segments, x, y, style("free"));
		draw(run.segments, (i, x0, y0, w, h) => c.fillRect(x0, y0, w, h));
		drawRaster(c, run.blocks, x, y, style("small"));
		const stripes = hatch(c, style("ink"));
		draw(run.blocks, (i, x0, y0, w, h) => {
			c.fillStyle = run.colours[run.blocks.who[i]];
			c.fillRect(x0, y0, w, h);
			if (run.blocks.pending[i]) {
				const from = x(run.blocks.birth[i] + run.blocks.life[i] - run.blocks.pending[i]);
				c.fillStyle = stripes;
				c.fillRect(from, y0, x0 + w - from, h);
			}
		});
		for (const oom of run.ooms) {
			const hole = holeOf(run, oom);
			if (!hole)
				continue;
			pins(c, run, oom, hole, x, y);
			c.strokeStyle = style("bad");
			c.lineWidth = 2;
			const right = Math.max(x(oom.step + 1), x(oom.step) + 3), left = Math.max(LEFT, right - 40);
			c.strokeRect(left, y(hole.y + hole.bytes), right - left, Math.max(3, y(hole.y) - y(hole.y + hole.bytes)));
			c.lineWidth = 1;
		}
		axes(c, view, width, height, top, run.height, "step");
		overlay(c, run, view, width, height, top);
	});
	const words = add(parent, "div", null, { class: "figures", "aria-live": "polite" });
	words.textContent = "Point at a block to see its tag.";
	steer(canvas, view, (event) => {
		const box = canvas.getBoundingClientRect();
		const address = (box.bottom - 22 - event.clientY) / (box.height - 22 - top) * run.height;
		const i = blockAt(run, view.stepAt(event.clientX - box.left, box.width), address);
		words.textContent = i < 0 ? "No block here is large enough to be drawn individually." : describe(run, i);
	});
	view.watchers.push(redraw);
}

/* ---- Capacities ---- */

/*
 * On which devices each policy survives: a bar each, and nothing where nobody knows. Of a recording
 * that is a part of its program `claim` says what fits.
 */
function survival(parent, fits, claim) {
	const bounds = fits.flatMap((f) => f.capacities.flatMap(([least, beyond]) => [least, beyond || 1.02 * least]));
	const low = Math.min(...fits.map((f) => 0.98 * f.floor)), high = Math.max(1.02 * low + 1, ...bounds);
	const row = 36, bottom = 22;
	add(parent, "h3", `The devices that ${claim.replace("fits", "fit")}`);
	legend(parent, [[style("focus"), claim], [style("bad"), "OOM"], [style("unmapped"), "not examined"]]);
	picture(parent, row * fits.length + bottom, "the devices that fit under each policy", (c, width, height) => {
		const x = (bytes) => 12 + (bytes - low) / (high - low) * (width - 24);
		const bar = (from, to, top, colour) => {
			c.fillStyle = style(colour);
			c.fillRect(x(Math.max(low, from)), top, Math.max(1, x(to) - x(Math.max(low, from))), 12);
		};
		c.strokeStyle = style("rule");
		c.textAlign = "center";
		for (const t of ticks(low, high, width / 130, 1024)) {
			c.fillStyle = style("rule");
			c.fillRect(x(t), 0, 1, height - bottom + 4);
			c.fillStyle = style("soft");
			if (x(t) > 40 && x(t) < width - 40)
				c.fillText(size(t), x(t), height - 5);
		}
		c.textAlign = "left";
		fits.forEach((f, i) => {
			bar(low, high, row * i + 18, "unmapped");
			bar(low, f.floor, row * i + 18, "bad");
			for (const [least, beyond, survives] of f.capacities)
				bar(least, beyond ?? high, row * i + 18, survives ? "focus" : "bad");
			c.fillStyle = style("ink");
			const smallest = f.smallest ? size(f.smallest) : "none";
			c.fillText(`${f.name}: ${f.at_least ? `at least ${size(f.at_least)}; ${smallest} ${claim}` : smallest}`, 12, row * i + 14, width - 24);
		});
	});
}
