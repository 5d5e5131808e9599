/*
 * state.js - segments: those of a moment as boxes with their blocks, and all of a run as blocks over time; and private pools.
 */

const NO_TAG = 0;
const BOX_HIGH = 18, BOX_GAP = 4;       /* CSS pixels of a row of segments */
const STATE_ROWS = 40;                  /* at most; smaller segments are in the table alone */

/* Who reserved a segment: the block that was allocated at the same event, else the first one that lies in it. -1: nobody. */
function reservers(run) {
	const { birth, y } = run.blocks, s = run.segments, byPlace = sorted(s.y, s.y.length, run.height), out = new Int32Array(s.birth.length).fill(-1);
	for (let i = 0; i < s.birth.length; i++) {
		const b = countUpTo(birth, s.birth[i]) - 1;
		if (b >= 0 && birth[b] === s.birth[i] && y[b] >= s.y[i] && y[b] < s.y[i] + s.bytes[i])
			out[i] = b;
	}
	for (let b = 0; b < birth.length; b++)
		for (let x = countUpTo(s.y, y[b], byPlace) - 1, tries = 0; x >= 0 && tries < 64; x--, tries++) {
			const i = byPlace[x];
			if (out[i] < 0 && birth[b] >= s.birth[i] && birth[b] < s.end[i] && y[b] < s.y[i] + s.bytes[i])
				out[i] = b;
		}
	return out;
}

/* The pools but the default one, which serves all. */
const privatePools = (section) => [...new Set((section.queues ?? []).map((queue) => queue[POOL]))].filter((pool) => pool);
const isIdle = (run, i) => run.blocks.who[i] >= (run.firstIdle ?? Infinity);

/* How much of each private pool was free, and when: { birth, end, bytes, pool }, by birth. */
function idleTimes(run, pools) {
	const { birth, end, bytes, queue } = run.blocks, s = run.segments, by = run.reservers ??= reservers(run), changes = [], out = [];
	const note = (b, from, to, change) => {
		const pool = b < 0 ? -1 : pools.indexOf(run.section.queues[queue[b]][POOL]);
		if (pool >= 0)
			changes.push({ at: from, pool, change }, { at: to, pool, change: -change });
	};
	by.forEach((b, i) => note(b, s.birth[i], s.end[i], s.bytes[i]));
	birth.forEach((_, i) => note(i, birth[i], end[i], -bytes[i]));
	changes.sort((a, b) => a.at - b.at || a.pool - b.pool);
	const now = pools.map(() => ({ bytes: 0, since: 0 }));
	for (let x = 0; x < changes.length;) {
		const { at, pool } = changes[x], of = now[pool];
		let sum = of.bytes;
		for (; x < changes.length && changes[x].at === at && changes[x].pool === pool; x++)
			sum += changes[x].change;
		if (sum === of.bytes)
			continue;
		if (of.bytes > 0)
			out.push({ birth: of.since, end: at, bytes: of.bytes, pool });
		now[pool] = { bytes: sum, since: at };
	}
	now.forEach((of, pool) => { if (of.bytes > 0) out.push({ birth: of.since, end: run.end, bytes: of.bytes, pool }); });
	return out.sort((a, b) => a.birth - b.birth);
}

/* The same run with what its private pools keep free as more blocks, of no place: stacked, they are all that nothing else can use. */
function poolsRun(run) {
	if (run.asPools)
		return run.asPools;
	const pools = privatePools(run.section), idle = idleTimes(run, pools), shares = run.who.shareTag.length, { blocks } = run, made = { ...blocks };
	const n = blocks.birth.length, from = new Int32Array(n + idle.length);           /* a block, or -1 - one of the idle */
	for (let i = 0, x = 0, at = 0; at < from.length; at++)
		from[at] = x === idle.length || (i < n && blocks.birth[i] <= idle[x].birth) ? i++ : -1 - x++;
	const of = { birth: (x) => x.birth, end: (x) => x.end, freed: (x) => x.end, bytes: (x) => x.bytes, y: () => Infinity, who: (x) => shares + x.pool };
	for (const [name, values] of Object.entries(blocks))
		if (values?.length === n && ArrayBuffer.isView(values) && !/^(sum_|order)/.test(name))
			made[name] = values.constructor.from(from, (k) => k >= 0 ? values[k] : of[name] ? of[name](idle[-1 - k]) : 0);
	made.order = sorted(made.end, from.length, run.end);
	made.uses = undefined;
	const kinds = run.who.tags.length;
	return run.asPools = {
		...run, blocks: made, history: new RunHistory(made, run.end), reservers: undefined, empty: undefined, byFreed: undefined, firstIdle: shares,
		who: {
			tags: [...run.who.tags, ...pools.map((pool) => `free in private pool ${pool}`)],
			shareTag: Float64Array.of(...run.who.shareTag, ...pools.map((_, k) => kinds + k)), stacks: [...run.who.stacks, ...pools.map(() => [])],
		},
		kindOf: Uint8Array.of(...run.kindOf, ...pools.map(() => OTHER)), colours: [...run.colours, ...pools.map(() => OTHERS[0])],
	};
}

/* The same run with its segments as the blocks: every picture and question works for them, too. */
function segmentsRun(run) {
	if (run.asSegments)
		return run.asSegments;
	const s = run.segments, by = run.reservers ??= reservers(run), none = run.who.shareTag.length;
	const share = Float64Array.from(run.who.shareTag);
	const blocks = {
		...s, freed: s.end, dropped: s.dropped,
		who: Int32Array.from(by, (b) => b < 0 ? none : run.blocks.who[b]),
		queue: run.blocks.queue && Float64Array.from(by, (b) => b < 0 ? 0 : run.blocks.queue[b]),
		address: run.blocks.address && Float64Array.from(by, (b, i) => segmentAddress(run, b, i)),
		made_by: run.blocks.made_by && Float64Array.from(by, (b) => b < 0 ? 0 : run.blocks.made_by[b]),
	};
	return run.asSegments = {
		...run, blocks, history: new RunHistory(blocks, run.end), empty: undefined, byFreed: undefined, moments: [], ofSegments: true,
		who: { tags: run.who.tags, shareTag: Float64Array.of(...share, NO_TAG), stacks: [...run.who.stacks, []] },
		kindOf: Uint8Array.of(...run.kindOf, OTHER), colours: [...run.colours, OTHERS[0]],
	};
}

/* Where the recording had the segment, by one of its blocks; 0: nothing is known. */
function segmentAddress(run, b, i) {
	const { address, y } = run.blocks;
	return b >= 0 && address?.[b] ? address[b] - (y[b] - run.segments.y[i]) : 0;
}

/*
 * The segments of a moment, the largest first: { y, bytes, live, free, largest, blocks, pieces }. Adjacent pages of one expandable
 * segment are one.
 */
function segmentsAt(run, moment) {
	const s = run.segments, { bytes, y } = run.blocks, found = [];
	for (let i = 0; i < s.birth.length && s.birth[i] <= moment; i++)
		if (s.end[i] > moment)
			found.push({ y: s.y[i], bytes: s.bytes[i], ordinal: s.who[i], piece: i, blocks: [] });
	found.sort((a, b) => a.y - b.y);
	const out = [];
	for (const one of found) {
		const last = out[out.length - 1];
		if (last && last.ordinal === one.ordinal && last.y + last.bytes === one.y)
			last.bytes += one.bytes;
		else
			out.push(one);
	}
	const starts = out.map((one) => one.y);
	run.history.liveAt(moment, (i) => {
		const at = countUpTo(starts, y[i]) - 1;
		if (at >= 0 && y[i] < out[at].y + out[at].bytes)
			out[at].blocks.push(i);
	});
	for (const one of out) {
		let at = one.y;
		one.live = one.largest = 0;
		one.blocks.sort((a, b) => y[a] - y[b]);
		for (const i of one.blocks) {
			one.largest = Math.max(one.largest, y[i] - at);
			one.live += bytes[i];
			at = y[i] + bytes[i];
		}
		one.largest = Math.max(one.largest, one.y + one.bytes - at);
		one.free = one.bytes - one.live;
	}
	return out.sort((a, b) => b.bytes - a.bytes || a.y - b.y);
}

/* "s7f..., stream 0, pool default": what is known of a segment, by its first block. */
function segmentWords(run, one) {
	const first = one.blocks[0], words = [];
	if (first !== undefined && run.blocks.address?.[first])
		words.push(`s${(run.blocks.address[first] - (run.blocks.y[first] - one.y)).toString(16)}`);
	if (first !== undefined && run.blocks.queue)
		words.push(`stream ${queueName(run, first, 0)}`, `pool ${queueName(run, first, POOL)}`);
	return words.join(", ");
}

/* The boxes of a moment: a row each, several small ones side by side; a click holds a block. */
class StatePicture {
	constructor(parent, viewer) {
		this.viewer = viewer;
		this.head = add(parent, "h3", "Segments at the cursor ");
		this.note = add(this.head, "small");
		this.shown = [];
		this.picture = picture(parent, BOX_HIGH, "the segments of this event with their blocks; the table below has them", (c, width) => this.paint(c, width));
		this.told = add(parent, "div", null, { class: "figures", "aria-live": "polite" });
		const box = add(parent, "details");
		add(box, "summary", "As a table");
		this.table = add(box, "div");
		const { canvas } = this.picture;
		let drag = null;                                /* of the bytes that are shown: the factor, and where they begin */
		Object.assign(this, { zoom: 1, from: 0 });
		const within = (from) => Math.max(0, Math.min(this.most * (1 - 1 / this.zoom), from));
		canvas.addEventListener("wheel", (event) => {
			event.preventDefault();
			const at = this.bytesAt(event), zoom = Math.max(1, Math.min(this.most / 4096, this.zoom * Math.exp(-Math.max(-1, Math.min(1, event.deltaY / 300)))));
			this.from = at - (at - this.from) * this.zoom / zoom;
			this.zoom = zoom;
			this.from = within(this.from);
			this.picture.redraw();
		}, { passive: false });
		canvas.addEventListener("dblclick", () => { Object.assign(this, { zoom: 1, from: 0 }); this.picture.redraw(); });
		canvas.addEventListener("pointerdown", (event) => {
			drag = { x: event.clientX, from: this.from, moved: false };
			canvas.setPointerCapture(event.pointerId);
		});
		canvas.addEventListener("pointermove", (event) => {
			const hit = this.hit(event);
			if (!drag) {
				this.tell(hit);
				viewer.peek(hit.block ?? -1);
				return;
			}
			drag.moved ||= Math.abs(event.clientX - drag.x) > 4;
			this.from = within(drag.from - (event.clientX - drag.x) / canvas.clientWidth * this.most / this.zoom);
			this.picture.redraw();
		});
		canvas.addEventListener("pointerup", (event) => {
			if (drag && !drag.moved)
				viewer.hold(this.hit(event).block ?? -1);
			drag = null;
		});
		canvas.addEventListener("pointercancel", () => { drag = null; });
		addKeys(canvas, viewer.view, (event) => viewer.key(event));
	}
	show(moment) {
		const { run } = this.viewer, all = segmentsAt(run, moment);
		this.all = all;
		this.lay();
		const { canvas } = this.picture;
		canvas.style.height = `${Math.max(1, this.rows) * (BOX_HIGH + BOX_GAP)}px`;
		this.picture.resize(Math.max(1, this.rows) * (BOX_HIGH + BOX_GAP));
		const sum = (what) => all.reduce((total, one) => total + one[what], 0);
		this.note.textContent = `event ${number(moment)}: ${number(all.length)} segments, ${size(sum("bytes"))}; ${size(sum("free"))} free,`
			+ ` ${size(all.reduce((total, one) => total + (one.blocks.length ? 0 : one.bytes), 0))} of it releasable`
			+ "; red: what rounding takes" + (this.shown.length < all.length ? `; the ${number(this.shown.length)} largest are drawn` : "");
		this.table.replaceChildren();
		table(this.table, [["bytes", false], ["allocated", false], ["free", false], ["largest free", false], ["blocks", false], ["where", true]],
			all.slice(0, 200).map((one) => [size(one.bytes), size(one.live), size(one.free), size(one.largest), number(one.blocks.length),
				segmentWords(run, one)]));
		this.picture.redraw();
	}
	/* As wide as the largest; smaller ones share rows, with a gap. */
	lay() {
		const most = this.all[0]?.bytes ?? 1, gap = most / 200;
		let row = 0, used = 0;
		if (this.most !== most)
			Object.assign(this, { most, zoom: 1, from: 0 });
		this.shown = [];
		for (const one of this.all) {
			if (used && used + one.bytes > most) {
				row++;
				used = 0;
			}
			if (row >= STATE_ROWS)
				break;
			Object.assign(one, { row, left: used });
			used += one.bytes + gap;
			this.shown.push(one);
		}
		this.rows = this.shown.length ? row + 1 : 0;
		if (this.rows > STATE_ROWS)
			this.rows = STATE_ROWS;
	}
	paint(c, width) {
		const { run, look } = this.viewer, { bytes, y, rounding, freed } = run.blocks, colours = look.table(), scale = (width - 2) / this.most * this.zoom;
		const moment = this.viewer.view.step, css = (i) => {
			const o = 3 * look.colourOf[i];
			return `rgb(${Math.round(colours[o])}, ${Math.round(colours[o + 1])}, ${Math.round(colours[o + 2])})`;
		};
		for (const one of this.shown) {
			const top = one.row * (BOX_HIGH + BOX_GAP), x = (at) => 1 + (one.left + at - one.y - this.from) * scale, wide = Math.max(1, one.bytes * scale);
			c.fillStyle = style(one.blocks.length ? "free" : "releasable");
			c.fillRect(x(one.y), top, wide, BOX_HIGH);
			for (const i of one.blocks) {
				c.fillStyle = css(i);
				c.fillRect(x(y[i]), top, Math.max(0.5, bytes[i] * scale - 0.5), BOX_HIGH);
				if (freed[i] <= moment) {
					c.fillStyle = style("ink");
					for (let at = x(y[i]); at < x(y[i] + bytes[i]); at += 5)
						c.fillRect(at, top, 1, BOX_HIGH);
				}
				if (rounding?.[i] * scale >= 0.5) {
					c.fillStyle = style("bad");
					c.fillRect(x(y[i] + bytes[i] - rounding[i]), top, rounding[i] * scale, BOX_HIGH);
				}
				if (i === look.held) {
					c.strokeStyle = style("cursor");
					c.lineWidth = 2;
					c.strokeRect(x(y[i]), top + 1, Math.max(2, bytes[i] * scale), BOX_HIGH - 2);
				}
			}
			c.strokeStyle = style("soft");
			c.lineWidth = 1;
			c.strokeRect(Math.round(x(one.y)) - 0.5, top + 0.5, Math.round(wide) + 1, BOX_HIGH - 1);
		}
	}
	bytesAt(event) {
		const box = this.picture.canvas.getBoundingClientRect();
		return this.from + (event.clientX - box.left - 1) / (box.width - 2) * this.most / this.zoom;
	}
	hit(event) {
		const box = this.picture.canvas.getBoundingClientRect(), row = Math.floor((event.clientY - box.top) / (BOX_HIGH + BOX_GAP));
		const at = this.bytesAt(event), { bytes, y } = this.viewer.run.blocks;
		const segment = this.shown.find((one) => one.row === row && at >= one.left && at < one.left + one.bytes);
		const place = segment ? segment.y + at - segment.left : 0;
		return { segment, block: segment?.blocks.find((i) => y[i] <= place && place < y[i] + bytes[i]) };
	}
	tell({ segment, block }) {
		const { run } = this.viewer;
		this.told.textContent = !segment ? "" : `segment of ${size(segment.bytes)}: ${size(segment.free)} free, ${size(segment.largest)} of it`
			+ ` contiguous, ${run.blocks.rounding ? `${size(segment.blocks.reduce((sum, i) => sum + run.blocks.rounding[i], 0))} of rounding, ` : ""}${number(segment.blocks.length)} blocks; ${segmentWords(run, segment)}`
			+ (block === undefined ? "" : ` \u2014 ${size(run.blocks.bytes[block])} of \u201c${tagOf(run, run.blocks.who[block])}\u201d`);
	}
}
