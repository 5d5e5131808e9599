/*
 * pictures.js - how pictures are steered; timelines, and the devices on which a run survives.
 *
 * All pictures of a section show the same events: they look at one View, and steer it.
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
let layouts = 0;                        /* how often: no picture is measured in between */

/* A canvas as wide as the page; draw(context, width, height) in CSS pixels. */
function picture(parent, height, label, draw) {
	const canvas = add(parent, "canvas", null, { tabindex: 0, role: "img", "aria-label": label });
	canvas.style.height = `${height}px`;
	let seen = -1, width = 0;
	const redraw = () => {
		const ratio = window.devicePixelRatio || 1;
		width = seen === layouts ? width : canvas.clientWidth;
		seen = layouts;
		if (!width)
			return;
		const c = canvas.getContext("2d"), wide = Math.round(width * ratio), high = Math.round(height * ratio);
		if (canvas.width !== wide || canvas.height !== high)
			Object.assign(canvas, { width: wide, height: high });
		c.setTransform(ratio, 0, 0, ratio, 0, 0);
		c.clearRect(0, 0, width, height);
		c.font = "12px system-ui, sans-serif";
		draw(c, width, height);
	};
	everything.push({ canvas, redraw });
	return { canvas, redraw, resize: (to) => { height = to; } };
}

function redrawAll() {
	layouts++;
	everything = everything.filter(({ canvas }) => canvas.isConnected);
	everything.forEach(({ redraw }) => redraw());
}

/* The events that pictures show, the one that is looked at, and two moments, A and B. What changes is drawn in the next frame. */
class View {
	constructor(section, end) {
		this.end = end ?? Math.max(1, ...section.drawn.map((run) => run.end));
		this.from = 0;
		/* beside a longer run with the remedy: what there is of the run that fails */
		this.to = Math.max(16, ...section.runs.map((run) => Math.ceil(1.1 * run.end)));
		this.to = this.to < this.end / 2 ? this.to : this.end;
		this.a = this.b = this.drag = null;
		const run = section.runs[0];
		this.step = section.look ?? run?.ooms[0]?.step ?? run?.live_step ?? 0;
		this.watchers = [];
	}
	changed() {
		if (this.due)
			return;
		this.due = true;
		requestAnimationFrame(() => {
			this.due = false;
			for (const watcher of this.watchers)
				watcher();
		});
	}
	show(from, to) {
		const width = Math.min(this.end, Math.max(8, to - from));
		this.from = Math.max(0, Math.min(from, this.end - width));
		this.to = this.from + width;
		this.changed();
	}
	zoom(factor, at) {
		const middle = at ?? (this.step >= this.from && this.step <= this.to ? this.step : (this.from + this.to) / 2);
		this.show(middle - (middle - this.from) * factor, middle + (this.to - middle) * factor);
	}
	look(step) {
		this.step = Math.max(0, Math.min(this.end - 1, Math.round(step)));
		if (this.step < this.from || this.step > this.to)
			this.show(this.step - (this.to - this.from) / 2, this.step + (this.to - this.from) / 2);
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

/* Keys of a picture; own(event) has those of its own, and says whether it took one. */
function addKeys(canvas, view, own) {
	canvas.addEventListener("keydown", (event) => {
		const stride = Math.max(1, (view.to - view.from) / canvas.clientWidth), pan = (view.to - view.from) / 4;
		const keys = {
			ArrowLeft: () => event.shiftKey ? view.show(view.from - pan, view.to - pan) : view.look(view.step - stride),
			ArrowRight: () => event.shiftKey ? view.show(view.from + pan, view.to + pan) : view.look(view.step + stride),
			"+": () => view.zoom(0.5), "=": () => view.zoom(0.5), "-": () => view.zoom(2),
			0: () => view.show(0, view.end), Home: () => view.look(view.from), End: () => view.look(view.to - 1),
		};
		if (event.ctrlKey || event.metaKey || event.altKey)
			return;
		const taken = own?.(event);
		if (!taken && !keys[event.key])
			return;
		if (!taken)
			keys[event.key]();
		event.preventDefault();
	});
}

/*
 * The wheel zooms, and a drag moves; with Shift the wheel moves, and a drag zooms to a part. does: what hovering and a click do; bytes and
 * shift: what the wheel with Alt and a drag do upwards, where the picture has such an axis.
 */
function steer(canvas, view, does) {
	let start = null;
	const at = (event) => event.clientX - canvas.getBoundingClientRect().left;
	const share = (x) => Math.max(0, Math.min(1, (x - LEFT) / (canvas.clientWidth - LEFT - RIGHT)));
	canvas.addEventListener("wheel", (event) => {
		event.preventDefault();
		const turn = event.deltaY || event.deltaX, by = (view.to - view.from) * turn / 600;
		if (event.altKey && does.bytes)
			does.bytes(Math.exp(Math.max(-1, Math.min(1, turn / 300))), event);
		else if (event.shiftKey || !event.deltaY)
			view.show(view.from + by, view.to + by);
		else
			view.zoom(Math.exp(Math.max(-1, Math.min(1, turn / 300))), view.stepAt(at(event), canvas.clientWidth));
	}, { passive: false });
	canvas.addEventListener("pointerdown", (event) => {
		start = { x: at(event), y: event.clientY, from: view.from, to: view.to, part: event.shiftKey, moved: false };
		canvas.setPointerCapture(event.pointerId);
	});
	canvas.addEventListener("pointermove", (event) => {
		if (!start) {
			does.hover?.(event);
			return;
		}
		start.moved ||= Math.abs(at(event) - start.x) > 4 || Math.abs(event.clientY - start.y) > 4;
		if (!start.moved)
			return;
		if (start.part) {
			view.drag = [share(start.x), share(at(event))];
			view.changed();
			return;
		}
		const by = (at(event) - start.x) / (canvas.clientWidth - LEFT - RIGHT) * (start.to - start.from);
		does.shift?.(event.clientY - start.y);
		start.y = event.clientY;
		view.show(start.from - by, start.to - by);
	});
	canvas.addEventListener("pointerup", (event) => {
		const from = start;
		start = null;
		if (!from)
			return;
		if (view.drag) {
			const [a, b] = view.drag.map((part) => view.from + part * (view.to - view.from)).sort((x, y) => x - y);
			view.drag = null;
			view.show(a, b);
		} else if (!from.moved) {
			does.click(event);
		}
	});
	canvas.addEventListener("pointercancel", () => { start = view.drag = null; });
	canvas.addEventListener("dblclick", () => view.show(0, view.end));
	addKeys(canvas, view, does.key);
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
			const beyond = Math.max(to, Math.floor(from) + 1);
			for (let i = countUpTo(m.step, Math.floor(from) - 1); i < m.step.length && m.step[i] < beyond; i++) {
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
		const wide = width - LEFT - RIGHT;
		c.fillRect(LEFT + Math.min(...view.drag) * wide, top, Math.abs(view.drag[1] - view.drag[0]) * wide, bottom - top);
	}
}

/* Where a mark says that the program is: after what it ends. */
function markPlace(name) {
	return name.replace(/^(.+) \(end\)$/, "after $1").replace(/(.) \(start\)$/, "$1");
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
	return run.ooms.length ? `OOM at event ${number(run.ooms[0].step)}`
		: `${run.room && run.status === "fits" ? `${section.claim}, ` : ""}peak reserved ${size(run.peak_reserved)}`;
}

function timeline(parent, run, section, view, { most, height, name }) {
	const figures = ["reserved", "allocated", "requested", "non_releasable"];
	const far = run.room > 1.35 * most;
	const top = 30, highest = run.room && !far ? Math.max(most, run.room) : most;
	add(parent, "h3", `${name}${title(run, section)}: ${outcome(run, section)}`);
	const { canvas, redraw } = picture(parent, height, `timeline of ${title(run, section)}`, (c, width, height) => {
		const y = (bytes) => height - 22 - bytes / highest * (height - 22 - top);
		axes(c, view, width, height, top, highest, "event");
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
			words.textContent = `event ${number(Math.floor(from))}: the run ended at event ${number(run.end - 1)}`;
			return;
		}
		const text = figures.map((f) => {
			const [least, high] = range(run, f, from, to);
			return `${f} ${least === high ? size(high) : `${size(least)} to ${size(high)}`}`;
		});
		const name = run.mark_names[[...run.mark_step].findLastIndex((s) => s <= from)];
		words.textContent = `event ${number(Math.floor(from))}${name ? `, ${markPlace(name)}` : ""}: ${text.join(", ")}`;
	};
	view.watchers.push(() => { redraw(); tell(view.step, view.step + 1); });
	const at = (event, more) => view.stepAt(event.clientX - canvas.getBoundingClientRect().left + more, canvas.clientWidth);
	steer(canvas, view, {
		hover: (event) => tell(at(event, 0), at(event, 1)),
		click: (event) => view.look(Math.floor(at(event, 0))),
	});
	tell(view.step, view.step + 1);
}

/* The neighbours that a request lacked, where their segment is among those that are kept. */
function holeOf(run, oom) {
	const { who, y, birth, end, bytes } = run.segments;
	if (oom.hole_bytes === undefined)
		return null;
	for (let i = who.length - 1; i >= 0; i--)
		if (who[i] === oom.hole_segment && birth[i] <= oom.step && end[i] > oom.step - 1)
			return { y: y[i] + Math.min(oom.hole_offset, bytes[i]), bytes: oom.hole_bytes };
	return null;
}

/* What an OOM lacked, and the blocks that keep it from being one piece. p: the map, as Pixels. */
function oomHole(p, view, run, history, oom) {
	const hole = holeOf(run, oom), { birth, end, y: place, bytes } = run.blocks, { c } = p;
	if (!hole || oom.step < view.from - 1 || oom.step > view.to)
		return;
	const x = (event) => Math.max(p.left, Math.min(p.left + p.w, p.left + (event - view.from) / (view.to - view.from) * p.w));
	const y = (at) => p.top + p.h - at / run.height * p.h;
	c.strokeStyle = style("ink");
	history.liveAt(Math.max(0, oom.step - 1), (i) => {
		if (place[i] < hole.y + hole.bytes && place[i] + bytes[i] > hole.y)
			c.strokeRect(x(birth[i]), y(place[i] + bytes[i]), x(end[i]) - x(birth[i]), Math.max(1, y(place[i]) - y(place[i] + bytes[i])));
	});
	c.strokeStyle = style("bad");
	c.lineWidth = 2 * p.r;
	const right = Math.max(x(oom.step + 1), x(oom.step) + 3), left = Math.max(p.left, right - 40 * p.r);
	c.strokeRect(left, y(hole.y + hole.bytes), right - left, Math.max(3, y(hole.y) - y(hole.y + hole.bytes)));
	c.lineWidth = 1;
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
