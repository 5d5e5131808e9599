/*
 * history.js - all blocks of a run over its events: which live at an event, and what a column of pixels shows.
 *
 * Moment m is the state after event m. A block is live at m if birth <= m < end; its number is its age. A column of pixels
 * shows the fullest of its 2^k moments, never a mean: so each column is a state that was there, and no peak is lost. Of two
 * neighbours at level k one is shown at level k + 1, so what level k + 1 shows, level k shows too, and the lists shrink.
 */

const MOMENTS_MAX = 1 << 22;            /* of a longer run the lowest level has 2, 4, ... events a moment */
const TILE = 64;                        /* columns */
const CLASSES = 10;                     /* of colours: eight kinds, others, and what the filter leaves out */
const FILTERED = 9, OTHER = 8;
const PALER = 64;                       /* on a colour of a block */
const SUMMED = -1 - CLASSES;            /* the span of what is in the page as a sum alone */

/* The numbers 0 to count - 1 by key, equal ones in order. */
function sorted(key, count, end) {
	if (end > 8 * count + (1 << 20))
		return Int32Array.from({ length: count }, (_, i) => i).sort((a, b) => key[a] - key[b] || a - b);
	const first = new Int32Array(end + 2), out = new Int32Array(count);
	for (let i = 0; i < count; i++)
		first[key[i] + 1]++;
	for (let e = 0; e <= end; e++)
		first[e + 1] += first[e];
	for (let i = 0; i < count; i++)
		out[first[key[i]]++] = i;
	return out;
}

/* How many of a list have a key of at most this: a place in the list. */
function countUpTo(key, value, list) {
	let low = 0, high = (list ?? key).length;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (key[list ? list[middle] : middle] <= value)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Where each rectangle is: see page_pack.h. */
function readPlaces(areas, count, order) {
	const { birth, end, bytes, size, place } = areas, unit = 2 ** areas.place_shift;
	const y = new Float64Array(count), next = new Int32Array(count), head = new Int32Array(areas.sizes.length).fill(-1);
	let last = 0;
	for (let i = 0, e = 0; i < count; i++) {
		for (; e < count && order[e] < i && end[order[e]] <= birth[i]; e++) {
			next[order[e]] = head[size[order[e]]];
			head[size[order[e]]] = order[e];
		}
		const s = size[i], code = place[i];
		y[i] = !code ? y[head[s]] : last + unit * (code % 2 ? (code - 1) / 2 : -code / 2);
		for (let k = 0, before = -1, at = head[s]; k < 16 && at >= 0; k++, before = at, at = next[at]) {
			if (y[at] !== y[i])
				continue;
			if (before < 0)
				head[s] = next[at];
			else
				next[before] = next[at];
			break;
		}
		last = y[i] + bytes[i];
	}
	return y;
}

/* Where the recording had each: see page_blocks.h. */
function readAddresses({ y, address, address_shift }) {
	const unit = 2 ** address_shift, last = new Map(), above = new Float64Array(y.length);
	for (let i = 0; i < y.length; i++) {
		const at = Math.floor(y[i] / 2 ** 21), code = address[i], like = last.get(at) ?? i - 1;
		above[i] = (i ? above[like] : 0) + (code % 2 ? -(code + 1) / 2 : code / 2);
		last.set(at, i);
	}
	return above.map((by, i) => (by + y[i] / unit) * unit);
}

/* What one run of a device says of its blocks holds for the same blocks of the others, by the event that allocates them. */
function shareFacts(from, to) {
	const at = Int32Array.from(to.birth, (birth) => {
		const i = countUpTo(from.birth, birth) - 1;
		return i >= 0 && from.birth[i] === birth ? i : -1;
	});
	for (const name of ["life_class", "queue", "address", "time", "made_by", "freed_by", "origin"])
		if (from[name])
			to[name] = Float64Array.from(at, (i) => i < 0 ? 0 : from[name][i]);
	if (from.rounding)
		to.rounding = Float64Array.from(at, (i, k) => i < 0 ? 0 : to.bytes[k] - (from.bytes[i] - from.rounding[i]));
	to.first_time = from.first_time;
}

/* Rectangles as the page has them become: birth, end, freed, bytes, y, who, and order: their numbers by end. */
function readAreas(areas, end) {
	const count = areas.birth.length, whole = (x) => end < 2 ** 31 ? Int32Array.from(x) : x;
	areas.end = whole(areas.birth.map((birth, i) => birth + areas.life[i]));
	areas.freed = whole(areas.end.map((last, i) => last - areas.pending[i]));
	areas.birth = whole(areas.birth);
	areas.who = Int32Array.from(areas.who);
	areas.bytes = Float64Array.from(areas.size, (k) => areas.sizes[k]);
	areas.order = sorted(areas.end, count, end);
	areas.y = readPlaces(areas, count, areas.order);
	if (areas.address)
		areas.address = readAddresses(areas);
	areas.place = areas.size = areas.life = null;
}

/* Those of a list of blocks that a column of a level shows. */
function shownOf(list, top, shift, birth, death) {
	const out = new Int32Array(list.length), columns = top.length;
	let used = 0;
	for (let x = 0; x < list.length; x++) {
		const i = list[x], from = birth[i];
		let c = from >> shift;
		if (top[c] < from)
			c++;
		if (c < columns && top[c] < death[i])
			out[used++] = i;
	}
	return used === list.length ? list : out.slice(0, used);
}

/* The state after each event as columns of each level show it; `end` events. */
class RunHistory {
	constructor(areas, end) {
		const { birth, end: death } = areas, n = birth.length;
		Object.assign(this, { areas, end, n });
		this.least = 0;                                 /* level */
		while (end >> this.least > MOMENTS_MAX)
			this.least++;
		this.fullest();
		this.levels();
		this.late = [death];                            /* [j]: the last end of 2^j neighbours */
		for (let below = death; below.length > 1; this.late.push(below)) {
			const up = new below.constructor((below.length + 1) >> 1);
			for (let c = 0; c < up.length; c++)
				up[c] = Math.max(below[2 * c], below[2 * c + 1] || 0);
			below = up;
		}
	}

	/* Of each moment of the lowest level the fullest event, and the bytes that are live then. */
	fullest() {
		const { birth, end: death, bytes, order, sum_step, sum_most } = this.areas, shift = this.least;
		const count = Math.max(1, Math.ceil(this.end / 2 ** shift)), top = new Int32Array(count), total = new Float64Array(count);
		const last = this.end - 1;
		let live = 0, rest = 0, b = 0, d = 0, s = 0;
		for (let c = 0, m = 0; c < count; c++) {
			top[c] = -1;
			for (const to = Math.min(last, ((c + 1) << shift) - 1); m <= to; m++) {
				for (; d < this.n && death[order[d]] <= m; d++)
					live -= bytes[order[d]];
				for (; b < this.n && birth[b] <= m; b++)
					live += bytes[b];
				for (; s < sum_step.length && sum_step[s] <= m; s++)
					rest = sum_most[s];
				if (top[c] < 0 || live + rest > total[c]) {
					top[c] = m;
					total[c] = live + rest;
				}
			}
		}
		this.total = total;                             /* of the lowest level */
		this.top = [top];
		for (let below = top; below.length > 1; this.top.push(below)) {
			const up = new Int32Array((below.length + 1) >> 1);
			for (let c = 0; c < up.length; c++) {
				const one = below[2 * c], other = below[Math.min(below.length - 1, 2 * c + 1)];
				up[c] = this.totalOf(other) > this.totalOf(one) ? other : one;
			}
			below = up;
		}
	}

	/* Of a moment that some level shows. */
	totalOf(m) {
		return this.total[m >> this.least];
	}

	/* The blocks that a column of each level shows: in order of birth, and of end. */
	levels() {
		const { birth, end: death, order } = this.areas;
		let births = new Int32Array(this.n).map((_, i) => i), deaths = order;
		this.births = [];
		this.deaths = [];
		this.top.forEach((top, j) => {
			this.births.push(births = shownOf(births, top, j + this.least, birth, death));
			this.deaths.push(deaths = shownOf(deaths, top, j + this.least, birth, death));
		});
	}

	/* The level on which a column has at most so many events, at least the lowest. */
	levelOf(events) {
		return Math.max(this.least, Math.min(this.least + this.top.length - 1, Math.floor(Math.log2(events))));
	}
	topOf(k) {
		return this.top[k - this.least];
	}

	/* Calls visit(i) for each block that is live at m, the oldest first, until it returns true. Exact, whatever is drawn. */
	liveAt(m, visit) {
		const { late } = this, born = countUpTo(this.areas.birth, m);
		for (let i = 0; i < born;) {
			let j = 0;
			while (j + 1 < late.length && !(i & ((2 << j) - 1)))
				j++;                                    /* the widest run of neighbours that begins here */
			while (j > 0 && late[j][i >> j] > m)
				j--;
			if (late[j][i >> j] <= m)
				i += 1 << j;
			else if (visit(i++) === true)
				return;
		}
	}

	/* Of what is in the page as a sum: at most, at this moment. */
	summedAt(m) {
		const at = countUpTo(this.areas.sum_step, m);
		return at ? this.areas.sum_most[at - 1] : 0;
	}

	/* All that is live at m: exact where nothing is summed. */
	liveBytes(m) {
		if (!this.least)
			return this.total[Math.max(0, Math.min(this.end - 1, m))];
		let sum = this.summedAt(m);
		this.liveAt(m, (i) => { sum += this.areas.bytes[i]; });
		return sum;
	}

	/* The block at a height of the stack of moment m; -1: none. */
	blockAt(m, height) {
		let sum = 0, found = -1;
		this.liveAt(m, (i) => {
			sum += this.areas.bytes[i];
			found = sum > height ? i : -1;
			return found >= 0;
		});
		return found;
	}

	/*
	 * Columns TILE j to TILE (j + 1) of level k as spans from the ground up. Blocks of at least `least` bytes are spans by
	 * themselves: their numbers. What is smaller, between two of them, is summed by the class that look.colourOf has of it: -1 -
	 * class. So all heights and the shares of colours are exact, and only the order within such a run is lost.
	 */
	tile(k, j, least, look) {
		const top = this.topOf(k), from = TILE * j, to = Math.min(top.length, from + TILE);
		const stack = new Stack(this.areas, least, look), out = new Spans(to - from);
		const births = this.births[k - this.least], deaths = this.deaths[k - this.least], { birth, end: death } = this.areas;
		let b = countUpTo(birth, top[from], births), d = countUpTo(death, top[from], deaths);
		this.liveAt(top[from], (i) => { stack.add(i); });
		for (let c = from; c < to; c++) {
			for (; d < deaths.length && death[deaths[d]] <= top[c]; d++)
				stack.remove(deaths[d]);
			for (; b < births.length && birth[births[b]] <= top[c]; b++)
				stack.add(births[b]);
			stack.write(out);
			if (this.areas.sum_step.length)
				out.put(SUMMED, this.summedAt(top[c]));
			out.at[c - from + 1] = out.used;
		}
		return { from, to, at: out.at, id: out.id.slice(0, out.used), bytes: out.bytes.slice(0, out.used) };
	}
}

function wider(array, length) {
	const out = new array.constructor(length);
	out.set(array);
	return out;
}

class Spans {
	constructor(columns) {
		this.at = new Int32Array(columns + 1);
		this.id = new Int32Array(1 << 12);
		this.bytes = new Float64Array(1 << 12);
		this.used = 0;
	}
	put(id, bytes) {
		if (this.used === this.id.length) {
			this.id = wider(this.id, 2 * this.used);
			this.bytes = wider(this.bytes, 2 * this.used);
		}
		this.id[this.used] = id;
		this.bytes[this.used++] = bytes;
	}
}

/* The live blocks of a moment: the large ones by age, and between them, by class, the sums of the small ones. */
class Stack {
	constructor(areas, least, look) {
		Object.assign(this, { bytes: areas.bytes, least, look, count: 0 });
		this.large = new Int32Array(1 << 10);
		this.sums = new Float64Array(CLASSES * ((1 << 10) + 1));       /* below large block g: those of CLASSES g on */
		this.smalls = new Int32Array((1 << 10) + 1);                    /* how many */
	}
	/* How many large ones are older than i. */
	older(i) {
		if (!this.count || this.large[this.count - 1] < i)
			return this.count;
		let low = 0, high = this.count;
		while (low < high) {
			const middle = (low + high) >> 1;
			if (this.large[middle] < i)
				low = middle + 1;
			else
				high = middle;
		}
		return low;
	}
	change(i, sign) {
		const g = this.older(i);
		this.sums[CLASSES * g + Math.floor((this.look.colourOf[i] & PALER - 1) / 3)] += sign * this.bytes[i];
		this.smalls[g] += sign;
	}
	/* It is the youngest. */
	add(i) {
		if (this.bytes[i] < this.least) {
			this.change(i, 1);
			return;
		}
		if (this.count === this.large.length) {
			this.large = wider(this.large, 2 * this.count);
			this.sums = wider(this.sums, CLASSES * (2 * this.count + 1));
			this.smalls = wider(this.smalls, 2 * this.count + 1);
		}
		this.large[this.count++] = i;
	}
	remove(i) {
		if (this.bytes[i] < this.least) {
			this.change(i, -1);
			return;
		}
		const g = this.older(i), { sums, smalls, large, count } = this;
		if (smalls[g + 1])
			for (let x = CLASSES * g; x < CLASSES * (g + 1); x++)
				sums[x] += sums[x + CLASSES];
		smalls[g] += smalls[g + 1];
		large.copyWithin(g, g + 1, count);
		sums.copyWithin(CLASSES * (g + 1), CLASSES * (g + 2), CLASSES * (count + 1));
		smalls.copyWithin(g + 1, g + 2, count + 1);
		sums.fill(0, CLASSES * count, CLASSES * (count + 1));
		smalls[count] = 0;
		this.count--;
	}
	write(out) {
		for (let g = 0; g <= this.count; g++) {
			if (g)
				out.put(this.large[g - 1], this.bytes[this.large[g - 1]]);
			for (let x = 0; this.smalls[g] && x < CLASSES; x++)
				if (this.sums[CLASSES * g + x] > 0)
					out.put(-1 - x, this.sums[CLASSES * g + x]);
		}
	}
}
