/*
 * events.js - all events of a run as one list that scrolls, of which only the rows on the screen exist.
 */

const EVENT_HIGH = 25;                  /* CSS pixels that an event has of the whole height */
const SCROLL_MOST = 2e7;                /* a browser's elements end at 33 million pixels */

/*
 * What happened at events: [event, what, bytes, of what, block, stack], in their order. A call of the device has the block that was
 * allocated then, if any: its request made it.
 */
function eventsAt(run, from, to) {
	const { birth, freed, end, bytes, who, order } = run.blocks, s = run.segments, out = [];
	run.byFreed ??= sorted(freed, freed.length, run.end);
	run.marksShown ??= [...run.mark_step].map((step, i) => [step, run.mark_names[i]]);
	const caller = (step) => {
		const i = countUpTo(birth, step) - 1;
		return i >= 0 && birth[i] === step && !isIdle(run, i) ? i : -1;
	};
	const range = (key, list, visit) => {
		for (let x = countUpTo(key, from - 1, list); x < (list ?? key).length && key[list ? list[x] : x] < to; x++)
			if (key === s.birth || key === s.end || !isIdle(run, list ? list[x] : x))
				visit(list ? list[x] : x);
	};
	for (const [step, name] of run.marksShown)
		if (step >= from && step < to)
			out.push([step, "mark", null, name, -1]);
	const expandable = run.lanes.length > 1 ? run.lanes[1].base : Infinity;
	if (!run.ofSegments) {
		range(s.end, s.order, (i) => { if (s.end[i] < run.end) out.push([s.end[i], s.y[i] < expandable ? "release" : "unmap", s.bytes[i], "", caller(s.end[i])]); });
		range(s.birth, null, (i) => { out.push([s.birth[i], s.y[i] < expandable ? "segment" : "map", s.bytes[i], "", caller(s.birth[i])]); });
	}
	range(freed, run.byFreed, (i) => { if (freed[i] < run.end) out.push([freed[i], run.ofSegments ? "release" : "free", bytes[i], tagOf(run, who[i]), i]); });
	range(end, order, (i) => { if (freed[i] < end[i] && end[i] < run.end) out.push([end[i], "reusable", bytes[i], tagOf(run, who[i]), i]); });
	range(birth, null, (i) => { out.push([birth[i], run.ofSegments ? "segment" : "alloc", bytes[i], tagOf(run, who[i]), i]); });
	for (const oom of run.ooms)
		if (oom.step >= from && oom.step < to)
			out.push([oom.step, "OOM", oom.size, "", -1, oom.stack]);
	return out.sort((a, b) => a[0] - b[0]);
}

/* How many rows of the list are before each event: of all, or of the blocks that pass the filter. */
function rowsBefore(run, look, filtered, list) {
	const { birth, freed, end } = run.blocks, s = run.segments, before = new Uint32Array(run.end + 1);
	const count = (step) => { if (step < run.end) before[step + 1]++; };
	for (let i = 0; i < birth.length; i++) {
		if (isIdle(run, i) || (filtered && !look.fits(i)))
			continue;
		list.blocks++;
		count(birth[i]);
		count(freed[i]);
		if (freed[i] < end[i])
			count(end[i]);
	}
	if (!filtered) {
		if (!run.ofSegments)
			[s.birth, s.end].forEach((steps) => steps.forEach(count));
		run.mark_step.forEach(count);
		run.ooms.forEach((oom) => count(oom.step));
	}
	for (let step = 0; step < run.end; step++)
		before[step + 1] += before[step];
	return before;
}

class EventList {
	constructor(parent, viewer) {
		this.viewer = viewer;
		this.head = add(parent, "h3", "All events ");
		this.note = add(this.head, "small");
		this.box = add(parent, "div", null, { class: "scroll events", tabindex: 0, role: "region", "aria-label": "all events" });
		this.space = add(this.box, "div");
		this.box.addEventListener("scroll", () => {
			const { scrollTop, scrollHeight, clientHeight } = this.box;
			if (scrollTop !== this.set)
				this.put(scrollTop + clientHeight >= scrollHeight - 1 ? Infinity : Math.round(scrollTop / this.unit));
		});
		this.box.addEventListener("keydown", (event) => {
			const { view } = viewer, { before } = this;
			const row = { ArrowDown: before[view.step + 1], ArrowUp: before[view.step] - 1 }[event.key];
			if (row === undefined)
				return;
			event.preventDefault();
			if (row < 0 || row >= before[viewer.run.end])
				return;
			this.pick(this.rows(row, 1)[0]);
			viewer.panels();
		});
	}
	rows(first, many) {
		const { run, look } = this.viewer, { before } = this, end = Math.min(before[run.end], first + many), out = [];
		for (let row = first; row < end;) {
			const step = countUpTo(before, row) - 1;
			const all = eventsAt(run, step, step + 1).filter((r) => !this.filtered || (r[3] !== "" && r[4] >= 0 && look.fits(r[4])));
			out.push(...all.slice(row - before[step]));
			row = before[step + 1];
		}
		return out.slice(0, many);
	}
	/* The list of the filter; the cursor's event in its middle. */
	show() {
		const { viewer } = this, { run, look, view } = viewer, filter = viewer.filter.value;
		if (this.filter !== filter) {
			this.filtered = filter !== "";
			this.blocks = 0;                /* that pass */
			this.before = rowsBefore(run, look, this.filtered, this);
			this.filter = filter;
		}
		const count = this.before[run.end], first = Math.max(0, this.before[view.step] - (this.visible() >> 1));
		this.unit = Math.min(EVENT_HIGH, SCROLL_MOST / Math.max(1, count));
		this.space.style.height = `${Math.ceil((count + 1) * this.unit)}px`;
		this.note.textContent = this.filtered ? `${number(count)} of the filter` : `${number(count)}; a filter leaves those of its blocks`;
		this.box.scrollTop = first * this.unit;
		this.set = this.box.scrollTop;
		this.put(first);
	}
	visible() {
		return Math.max(8, Math.floor((this.box.clientHeight || 400) / EVENT_HIGH) - 1);
	}
	put(first) {
		const { run, history, view } = this.viewer, { address } = run.blocks, many = this.visible();
		const rows = this.rows(Math.max(0, Math.min(first, this.before[run.end] - many)), many);
		this.space.replaceChildren();
		const where = (i, what) => i >= 0 && address[i] && /alloc|free|reusable/.test(what) ? addressText(address[i], usesBefore(run)[i]) : "";
		const box = table(this.space, [["event", false], ["what", true], ["bytes", false], ["live", false], ["reserved", false],
			...(address ? [["recorded at", true]] : []), ["line", true]],
			rows.map(([step, what, bytes, of, i]) => [number(step), what, bytes === null ? "" : size(bytes), size(history.liveBytes(step)),
				size(this.viewer.reservedAt(step)), ...(address ? [where(i, what)] : []), of]));
		["tabindex", "role", "aria-label"].forEach((name) => box.removeAttribute(name));
		box.firstChild.setAttribute("aria-rowcount", this.before[run.end]);
		[...box.querySelectorAll("tbody tr")].forEach((tr, i) => {
			if (rows[i][0] === view.step)
				Object.assign(tr, { className: "at" }).setAttribute("aria-current", "true");
			tr.addEventListener("click", () => this.pick(rows[i]));
		});
	}
	pick([step, what, bytes, , block, stack]) {
		const { viewer } = this;
		viewer.view.look(step);
		viewer.hold(block);
		viewer.tell(step, block);
		if (what === "free" && viewer.freedBy)
			viewer.freedBy.open = true;
		if (stack)
			viewer.showStack(`${what} at event ${number(step)}: ${size(bytes)} requested`, viewer.section.stacks[stack - 1]);
	}
}
