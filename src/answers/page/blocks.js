/*
 * blocks.js - blocks over time and addresses over time, as pixels that are written here: the work is bounded by pixels.
 *
 * Not polygons: a column of pixels is a state (history.js), and what is thinner than a pixel is added up as coverage.
 */

const SPANS_KEPT = 6e6;                 /* of all tiles */
const FRAME_MS = 5;                     /* for new tiles; a coarser one is shown for a frame otherwise */

const rgbOf = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
const packed = (r, g, b) => (0xff000000 | b << 16 | g << 8 | r) >>> 0;
const dark = () => matchMedia("(prefers-color-scheme: dark)").matches;

/* ---- Which blocks, in which colours ---- */

/* What a recording calls an address, as PyTorch's viewer writes it: how often it was in use before is behind it. */
const addressText = (address, before) => `b${address.toString(16)}_${before}`;

/*
 * "conv|linear >64MiB <1GiB class:weights stream:3 b7f1c40a00": a regular expression for tags and frames, bounds of sizes, a
 * class, a stream, a pool, and a part of a recorded address, or one within a block. Half of an expression is none.
 */
function readFilter(text) {
	const filter = { low: 0, high: Infinity, pattern: null, named: {}, address: "" };
	const rest = text.replace(/(^|\s)(class|stream|pool):(\S*)/gi, (_, before, name, value) => {
		filter.named[name.toLowerCase()] = value;
		return before;
	}).replace(/(^|\s)(?:0x|[bs]'?(?=[\da-f]{8}))([\da-f]+)(?:_\d+)?(?=\s|$)/gi, (_, before, digits) => {
		filter.address = digits.toLowerCase();
		return before;
	}).replace(/(^|\s)([<>])=?\s*([\d.]+)\s*([kmgt]?)(?:i?b|bytes)?(?=\s|$)/gi, (_, before, sign, digits, unit) => {
		const bytes = digits * 1024 ** " kmgt".indexOf(unit.toLowerCase() || " ");
		if (sign === ">")
			filter.low = bytes;
		else
			filter.high = bytes;
		return before;
	}).trim();
	try {
		filter.pattern = rest ? new RegExp(rest, "i") : null;
	} catch {
		filter.pattern = null;
	}
	return filter;
}

const lifeClass = (events) => [4, 0, 2, 1, 5, 3][Math.min(5, Math.floor(Math.log10(Math.max(1, events)) * 1.2))];

const POOL = 1;                         /* of a queue: its stream, and its pool */
const queueText = (section, queue, which) => {
	const name = section.queues[queue][which];
	return which === POOL ? String(name || "default") : section.streamNames.get(name);
};
const queueName = (run, i, which) => queueText(run.section, run.blocks.queue[i], which);
const className = (run, i) => run.section.classes[run.blocks.life_class[i]];

/*
 * Blocks by a name that each has: { of: number by block, names, colours: by number }. The names that hold most bytes for the
 * longest have a colour each.
 */
function grouping(run, nameOf) {
	const { birth, end, bytes } = run.blocks, numbers = new Map(), of = new Uint16Array(bytes.length), weight = [];
	for (let i = 0; i < bytes.length; i++) {
		const name = nameOf(i);
		if (!numbers.has(name))
			numbers.set(name, weight.push(0) - 1);
		of[i] = Math.min(65535, numbers.get(name));
		weight[of[i]] += (end[i] - birth[i]) * bytes[i];
	}
	const order = weight.map((_, k) => k).sort((a, b) => weight[b] - weight[a]);
	const colours = Uint8Array.from(weight, (_, k) => Math.min(OTHER, order.indexOf(k)));
	return { of, names: [...numbers.keys()], colours, order };
}

/* The groups that the data of this run has. */
function groupings(run) {
	const out = {}, { blocks } = run;
	if (blocks.life_class)
		out.class = () => grouping(run, (i) => className(run, i));
	if (blocks.queue && run.section.queues.length > 1) {
		out.stream = () => grouping(run, (i) => queueName(run, i, 0));
		out.pool = () => grouping(run, (i) => queueName(run, i, POOL));
	}
	return out;
}

/* What is drawn of a run, and how: the filter, the colours, the block that is held. */
class Look {
	constructor(run, section) {
		Object.assign(this, { run, section, by: "line", filter: readFilter(""), held: -1, generation: 0, groups: groupings(run) });
		this.paint();
	}

	/* Of each share: does it pass the filter's pattern? */
	passes(share) {
		const { pattern } = this.filter;
		return !pattern || pattern.test(tagOf(this.run, share)) || framesOf(this.run, share).some((frame) => pattern.test(frame));
	}
	fits(i) {
		const { bytes, who } = this.run.blocks, { low, high, named, address } = this.filter;
		return bytes[i] >= low && bytes[i] <= high && this.matches(i, who[i]) && (!address || this.isAt(i, address))
			&& Object.entries(named).every(([name, value]) => this.nameIs(i, name, value.toLowerCase()));
	}
	/* Its tag, a frame of the stack that allocated it, or its compilation. */
	matches(i, share) {
		const { made_by, origin } = this.run.blocks;
		return this.sharesPass[share] || (made_by?.[i] && this.stacksPass[made_by[i] - 1]) || (origin?.[i] && this.originsPass[origin[i] - 1]);
	}
	/* Names are whole; a stream has its number and its handle; what the data does not say is not found. */
	nameIs(i, name, value) {
		const { run } = this, { life_class, queue } = run.blocks;
		if (name === "class")
			return Boolean(life_class) && className(run, i).toLowerCase() === value;
		const named = queue && run.section.queues[queue[i]][name === "pool" ? POOL : 0];
		return Boolean(queue) && (String(named ?? "default").toLowerCase() === value
			|| queueName(run, i, name === "pool" ? POOL : 0).split(" ")[0] === value);
	}
	isAt(i, digits) {
		const { address, bytes } = this.run.blocks, at = parseInt(digits, 16);
		return Boolean(address) && (address[i].toString(16).includes(digits) || (at >= address[i] && at < address[i] + bytes[i]));
	}
	/* The groups of the present colours; null: these are of the lines, of single blocks, or of lifetimes. */
	group() {
		if (typeof this.groups[this.by] === "function")
			this.groups[this.by] = this.groups[this.by]();
		return this.groups[this.by] ?? null;
	}

	/* Classes of shares, and a colour for each block; held: the others pale. */
	paint() {
		const { run } = this, { bytes, who, birth, end } = run.blocks, shares = run.who.shareTag.length;
		const { pattern } = this.filter, passing = (texts) => !pattern || texts.some((text) => pattern.test(frameText(text)));
		this.sharesPass = Uint8Array.from({ length: shares }, (_, share) => this.passes(share));
		this.stacksPass = pattern ? Uint8Array.from(run.section.stacks, passing) : [];
		this.originsPass = pattern ? Uint8Array.from(run.section.origins, passing) : [];
		const held = this.held < 0 ? -1 : run.who.shareTag[who[this.held]], group = this.group();
		this.colourOf ??= new Uint8Array(bytes.length);
		for (let i = 0; i < bytes.length; i++) {
			let c = this.fits(i) ? run.kindOf[who[i]] : FILTERED;
			if (c !== FILTERED && group)
				c = group.colours[group.of[i]];
			else if (c !== FILTERED && this.by === "block")
				c = (i * 2654435761 >>> 16) % 8;
			else if (c !== FILTERED && this.by === "life")
				c = lifeClass(end[i] - birth[i]);
			this.colourOf[i] = 3 * c + (isIdle(run, i) ? 1 : (i * 40503 >>> 4) % 3) + (held >= 0 && run.who.shareTag[who[i]] !== held ? PALER : 0);
		}
		this.heldClass = held < 0 ? -1 : Math.floor((this.colourOf[this.held] & PALER - 1) / 3);
		this.generation++;
	}

	/* Colours by number: three shades of each class, and PALER on the same but paler. */
	table() {
		const paper = rgbOf(style("paper")), out = new Float64Array(6 * PALER);
		const hues = [...PALETTE, OTHERS[0], dark() ? "#2b343d" : "#dde2e7", dark() ? "#59636e" : "#b9c1ca"].map(rgbOf);
		hues.forEach((hue, c) => {
			for (let shade = 0; shade < 3; shade++)
				for (let x = 0; x < 3; x++) {
					const full = Math.min(255, hue[x] * [0.9, 1, 1.1][shade]);
					out[3 * (3 * c + shade) + x] = full;
					out[3 * (PALER + 3 * c + shade) + x] = 0.25 * full + 0.75 * paper[x];
				}
		});
		return out;
	}
	/* The colour of the sum of a class. */
	spanColour(c) {
		return 3 * c + 1 + (this.heldClass >= 0 && c !== this.heldClass ? PALER : 0);
	}
}

/* ---- A picture of pixels, with lines and text above ---- */

class Pixels {
	constructor(parent, height, label) {
		this.canvas = add(parent, "canvas", null, { tabindex: 0, role: "img", "aria-label": label });
		this.canvas.style.height = `${height}px`;
		this.seen = "";
	}
	/* Its sizes in device pixels; the pixels are new where these have changed. */
	fit(top, bottom) {
		const r = Math.min(2, window.devicePixelRatio || 1), { canvas } = this;
		if (this.measured !== layouts)
			Object.assign(this, { wide: canvas.clientWidth, high: canvas.clientHeight, measured: layouts });
		const width = Math.max(16, Math.round(this.wide * r)), height = Math.max(16, Math.round(this.high * r));
		if (canvas.width !== width || canvas.height !== height || this.r !== r || !this.image) {
			Object.assign(canvas, { width, height });
			Object.assign(this, { r, left: Math.round(LEFT * r), top: Math.round(top * r) });
			this.w = Math.max(8, width - this.left - Math.round(RIGHT * r));
			this.h = Math.max(8, height - this.top - Math.round(bottom * r));
			this.image = new ImageData(this.w, this.h);
			this.pixels = new Uint32Array(this.image.data.buffer);
			this.seen = "";
		}
		this.c = canvas.getContext("2d");
		this.c.setTransform(1, 0, 0, 1, 0, 0);
		this.c.clearRect(0, 0, width, height);
		this.c.font = `${12 * r}px system-ui, sans-serif`;
		this.c.lineWidth = 1;
	}
	put() {
		this.c.putImageData(this.image, this.left, this.top);
	}
}

/* ---- Blocks over time ---- */

class Tiles {
	constructor(history, look) {
		Object.assign(this, { history, look, kept: new Map(), spans: 0, generation: -1 });
	}
	/* The tile, or where there is no time to make it a coarser one; missing is set then. */
	get(k, q, j, deadline) {
		if (this.generation !== this.look.generation) {
			this.kept.clear();
			this.spans = 0;
			this.generation = this.look.generation;
		}
		const key = `${k},${q},${j}`, found = this.kept.get(key);
		if (found)
			return found;
		if (performance.now() > deadline)
			for (const [dk, dq] of [[1, 0], [0, 1], [0, -1], [1, 1], [1, -1], [2, 0], [2, 1], [2, -1], [3, 0]]) {
				const coarse = this.kept.get(`${k + dk},${q + dq},${j >> dk}`);
				if (!coarse)
					continue;
				this.missing = true;
				return { ...coarse, from: coarse.from << dk, to: coarse.to << dk, shift: dk };
			}
		const made = this.history.tile(k, j, 2 ** q, this.look);
		made.shift = 0;
		this.kept.set(key, made);
		this.spans += made.id.length;
		for (const [old, tile] of this.kept) {
			if (this.spans <= SPANS_KEPT || old === key)
				break;
			this.kept.delete(old);
			this.spans -= tile.id.length;
		}
		return made;
	}
}

/* Where a column of pixels is: a number of columns of a level. */
function columnAt(view, p, history, k, x) {
	const event = view.from + x / p.w * (view.to - view.from);
	return Math.floor(event / 2 ** k) < history.topOf(k).length && event < history.end ? Math.max(0, Math.floor(event / 2 ** k)) : -1;
}

/* One column of pixels from the ground up; what a pixel shows of several spans is their mean by coverage. */
function drawColumn(p, x, spans, first, last, look, colours, scale, paper, said) {
	const { w, h, pixels } = p, { id, bytes } = spans, { colourOf } = look, perByte = scale.pixels, p0 = paper[0], p1 = paper[1], p2 = paper[2];
	const ground = (h - 1) * w + x;                         /* of row y the pixel is at ground - y w */
	let to = -scale.low * perByte, row = -1, r = 0, g = 0, b = 0, cover = 0, all = 0, single = 0;
	for (let s = first; s < last; s++) {
		const i = id[s], at = to;
		all += bytes[s];
		if (i >= 0)
			single += bytes[s];
		to += bytes[s] * perByte;
		const low = at > 0 ? at : 0, high = to < h ? to : h;
		if (high <= low)
			continue;
		const o = 3 * (i >= 0 ? colourOf[i] : look.spanColour(-1 - i)), c0 = colours[o], c1 = colours[o + 1], c2 = colours[o + 2];
		const y0 = low | 0, y1 = high | 0;
		if (y0 !== row) {
			if (cover > 0)
				pixels[ground - row * w] = packed(r + p0 * (1 - cover), g + p1 * (1 - cover), b + p2 * (1 - cover));
			row = y0;
			r = g = b = cover = 0;
		}
		let part = (y0 === y1 ? high : y0 + 1) - low;
		r += c0 * part;
		g += c1 * part;
		b += c2 * part;
		cover += part;
		if (y0 === y1)
			continue;
		pixels[ground - y0 * w] = packed(r + p0 * (1 - cover), g + p1 * (1 - cover), b + p2 * (1 - cover));
		const full = packed(c0, c1, c2);
		let pixel = ground - y0 * w;
		for (let y = y0 + 1; y < y1; y++)
			pixels[pixel -= w] = full;
		if (y1 - y0 > 4 && i >= 0)
			pixels[pixel] = packed(c0 * 0.72, c1 * 0.72, c2 * 0.72);        /* an edge */
		row = y1;
		cover = part = high - y1;
		r = c0 * part;
		g = c1 * part;
		b = c2 * part;
	}
	if (cover > 0 && row < h)
		pixels[ground - row * w] = packed(r + p0 * (1 - cover), g + p1 * (1 - cover), b + p2 * (1 - cover));
	said.all += all;
	said.single += single;
}

/* Draws the stack of each column; says which share of the bytes is drawn block by block. */
function drawBlocks(p, view, history, look, tiles, scale, deadline) {
	const { w, h, pixels } = p, k = history.levelOf((view.to - view.from) / w);
	const q = Math.max(9, Math.floor(Math.log2(1 / scale.pixels))), paper = rgbOf(style("paper")), colours = look.table();
	const said = { all: 0, single: 0, k, q };
	pixels.fill(packed(...paper));
	for (let x = 0, before = -2, tile = null; x < w; x++) {
		const c = columnAt(view, p, history, k, x + 0.5);
		if (c < 0)
			break;
		if (c === before) {
			for (let y = x; y < w * h; y += w)
				pixels[y] = pixels[y - 1];
			continue;
		}
		before = c;
		if (!tile || c < tile.from || c >= tile.to)
			tile = tiles.get(k, q, Math.floor(c / TILE), deadline);
		const at = (c - tile.from) >> tile.shift;
		drawColumn(p, x, tile, tile.at[at], tile.at[at + 1], look, colours, scale, paper, said);
	}
	return said;
}

/* ---- Addresses over time ---- */

/* From when to when which segment had no block, and could be given back: [segment, from, to], of whole segments. */
function emptyTimes(run) {
	const { birth, end, y, order } = run.blocks, s = run.segments, out = [];
	const base = run.lanes.length > 1 ? run.lanes[1].base : Infinity;       /* expandable ones are above */
	const active = [], since = new Float64Array(s.birth.length), count = new Int32Array(s.birth.length), of = new Int32Array(birth.length);
	const find = (place) => {
		let low = 0, high = active.length;
		while (low < high) {
			const middle = (low + high) >> 1;
			if (s.y[active[middle]] <= place)
				low = middle + 1;
			else
				high = middle;
		}
		return low;
	};
	let b = 0, d = 0, a = 0, z = 0;
	const close = (k, at) => { if (at > since[k]) out.push([k, since[k], at]); };
	for (;;) {
		const next = Math.min(a < s.birth.length ? s.birth[a] : Infinity, z < s.order.length ? s.end[s.order[z]] : Infinity,
			b < birth.length ? birth[b] : Infinity, d < order.length ? end[order[d]] : Infinity);
		if (next === Infinity)
			return out;
		for (; d < order.length && end[order[d]] === next; d++) {
			const k = of[order[d]];
			if (k >= 0 && !--count[k])
				since[k] = next;
		}
		for (; z < s.order.length && s.end[s.order[z]] === next; z++) {
			const k = s.order[z], at = active.indexOf(k);
			if (at < 0)
				continue;
			active.splice(at, 1);
			if (!count[k])
				close(k, next);
		}
		for (; a < s.birth.length && s.birth[a] === next; a++) {
			since[a] = next;
			if (s.y[a] < base)
				active.splice(find(s.y[a]), 0, a);
		}
		for (; b < birth.length && birth[b] === next; b++) {
			const k = active[find(y[b]) - 1] ?? -1;
			of[b] = k >= 0 && y[b] < s.y[k] + s.bytes[k] ? k : -1;
			if (of[b] >= 0 && !count[of[b]]++)
				close(of[b], next);
		}
	}
}

function drawSmall(p, areas, x, y, colour) {
	const width = 2 ** areas.column_shift, height = 2 ** areas.row_shift, { w, h, pixels } = p;
	for (const { base, rows, cells } of areas.raster)
		for (let r = 0; r < rows; r++)
			for (let i = 0; i < areas.columns; i++) {
				const shade = cells[r * areas.columns + i];
				const x0 = x(i * width), x1 = x((i + 1) * width);
				if (!shade || x1 <= x0)
					continue;
				const low = Math.max(0, Math.round(y(base + r * height))), high = Math.min(h, Math.max(low + 1, Math.round(y(base + (r + 1) * height))));
				for (let row = low; row < high; row++)
					pixels.fill(colour, (h - 1 - row) * w + x0, (h - 1 - row) * w + x1);
			}
}

/* Blocks do not move: each is a rectangle. What is thinner than a pixel is added up as differences along a row. */
function drawMap(p, view, run, history, look) {
	const { w, h, pixels } = p, k = history.levelOf((view.to - view.from) / w), top = history.topOf(k), colours = look.table();
	const { birth, end, freed, bytes, y: place } = run.blocks, s = run.segments, scale = h / Math.max(1, run.height);
	const free = rgbOf(style("free")), unmapped = packed(...rgbOf(style("unmapped"))), blank = packed(...free), empty = packed(...rgbOf(style("releasable")));
	const x = (event) => Math.max(0, Math.min(w, Math.round((event - view.from) / (view.to - view.from) * w)));
	const fill = (x0, x1, from, to, colour) => {
		for (let row = Math.max(0, Math.round(from * scale)), last = Math.min(h, Math.max(Math.round(to * scale), row + 1)); row < last; row++)
			pixels.fill(colour, (h - 1 - row) * w + x0, (h - 1 - row) * w + x1);
	};
	pixels.fill(unmapped);
	drawSmall(p, s, x, (at) => at * scale, blank);
	for (let i = 0; i < s.birth.length && s.birth[i] < view.to; i++)
		if (s.end[i] > view.from && x(s.end[i]) > x(s.birth[i]))
			fill(x(s.birth[i]), x(s.end[i]), s.y[i], s.y[i] + s.bytes[i], blank);
	run.empty ??= emptyTimes(run);
	for (const [i, from, to] of run.empty)
		if (to > view.from && from < view.to && x(to) > x(from))
			fill(x(from), x(to), s.y[i], s.y[i] + s.bytes[i], empty);
	drawSmall(p, run.blocks, x, (at) => at * scale, packed(...rgbOf(style("small"))));
	if (p.cover?.length !== 4 * (w + 1) * h)
		p.cover = new Float32Array(4 * (w + 1) * h);
	const cover = p.cover.fill(0), first = Math.max(0, columnAt(view, p, history, k, 0.5)), last = columnAt(view, p, history, k, w - 0.5);
	const columns = last < 0 ? top.length - 1 : last, unit = 2 ** k;
	const paint = (i) => {
		/* the columns that show it */
		let a = Math.max(first, Math.floor(birth[i] / unit)), z = Math.min(columns, Math.floor(end[i] / unit));
		a += top[a] < birth[i];
		z -= z < top.length && top[z] >= end[i];
		const x0 = x(a * unit), x1 = Math.max(x((z + 1) * unit), x0 + 1);
		if (z < a || x0 >= w)
			return;
		const y0 = place[i] * scale, y1 = y0 + bytes[i] * scale, o = 3 * look.colourOf[i];
		if (y1 - y0 >= 1) {
			fill(x0, x1, place[i], place[i] + bytes[i], packed(colours[o], colours[o + 1], colours[o + 2]));
			if (freed[i] < end[i])
				hatchPixels(p, x(freed[i]), x1, Math.round(y0), Math.round(y1));
			return;
		}
		for (let row = Math.floor(y0); row < Math.min(h, y1); row++) {
			const part = Math.min(y1, row + 1) - Math.max(y0, row), at = 4 * (h - 1 - row) * (w + 1);
			for (let c = 0; c < 4; c++) {
				const v = c ? part * colours[o + c - 1] : part;
				cover[at + 4 * x0 + c] += v;
				cover[at + 4 * x1 + c] -= v;
			}
		}
	};
	history.liveAt(top[first], paint);
	const births = history.births[k - history.least];
	for (let b = countUpTo(birth, top[first], births); b < births.length && birth[births[b]] <= top[columns]; b++)
		paint(births[b]);
	for (let row = 0; row < h; row++)
		for (let i = 0, n = 0, r = 0, g = 0, b = 0, o = row * w, u = 4 * row * (w + 1); i < w; i++, o++, u += 4) {
			n += cover[u];
			r += cover[u + 1];
			g += cover[u + 2];
			b += cover[u + 3];
			if (n <= 0.02 || (pixels[o] !== blank && pixels[o] !== unmapped && pixels[o] !== empty))
				continue;
			const s_ = Math.min(1, n), f = s_ / n;
			pixels[o] = packed(free[0] * (1 - s_) + r * f, free[1] * (1 - s_) + g * f, free[2] * (1 - s_) + b * f);
		}
}

/* Pending: freed, and still in use. */
function hatchPixels(p, x0, x1, low, high) {
	const ink = packed(...rgbOf(style("ink")));
	for (let row = Math.max(0, low); row < Math.min(p.h, high); row++)
		for (let x = x0; x < x1; x++)
			if ((x + row) % 6 < 2)
				p.pixels[(p.h - 1 - row) * p.w + x] = ink;
}
