/*
 * answers.js - pictures of answers that rest on no single run: the ranks of a job, numbers that were predicted.
 *
 * Their numbers are those of the answer's JSON, which is in the page as `facts.answer`.
 */

/* A line and its size at each tick from 0 to `most` bytes; y: the height of so many. */
function byteAxis(c, most, y, width) {
	c.textAlign = "right";
	for (const t of ticks(0, most, 5, 1024)) {
		c.fillStyle = style("rule");
		c.fillRect(LEFT, Math.round(y(t)), width - LEFT - RIGHT, 1);
		c.fillStyle = style("soft");
		c.fillText(t ? size(t).replace(/\.00 /, " ") : "0", LEFT - 6, y(t) + 4);
	}
}

/* Of each rank a bar: what it reserved, what was requested of that; those that differ are marked. A click says what differs. */
function ranksPicture(parent, answer) {
	const { ranks, median } = answer, most = Math.max(1, ...ranks.map((rank) => rank.reserved)), high = 240, foot = 24;
	const box = add(parent, "section"), colour = (rank) => style(rank.status === "oom" ? "bad" : rank.apart.length ? "non_releasable" : "reserved");
	add(box, "h2", "Ranks");
	legend(box, [[style("reserved"), "peak reserved"], [style("allocated"), "peak requested"], [style("non_releasable"), "differs from the others"],
		[style("bad"), "OOM"]]);
	let at = ranks.find((rank) => rank.apart.length || rank.oom) ?? ranks[0];
	const { canvas, redraw } = picture(box, high, "peaks by rank; the table below has them", (c, width) => {
		const wide = (width - LEFT - RIGHT) / ranks.length, y = (bytes) => high - foot - bytes / most * (high - foot - 8);
		byteAxis(c, most, y, width);
		const label = Math.ceil(30 / wide);
		ranks.forEach((rank, i) => {
			const x = LEFT + i * wide, bar = Math.max(1, Math.min(wide * 0.8, 64)), left = x + (wide - bar) / 2;
			c.fillStyle = colour(rank);
			c.fillRect(left, y(rank.reserved), bar, y(0) - y(rank.reserved));
			c.fillStyle = style("allocated");
			c.fillRect(left + bar * 0.18, y(rank.requested), bar * 0.64, y(0) - y(rank.requested));
			if (rank === at) {
				c.strokeStyle = style("cursor");
				c.lineWidth = 2;
				c.strokeRect(left - 1, y(rank.reserved) - 1, bar + 2, y(0) - y(rank.reserved) + 2);
				c.lineWidth = 1;
			}
			if (i % label)
				return;
			c.fillStyle = style("soft");
			c.textAlign = "center";
			c.fillText(number(rank.rank), x + wide / 2, high - 8);
		});
		c.textAlign = "left";
		c.fillStyle = style("soft");
		c.fillText("rank", 4, high - 8);
		c.setLineDash([6, 4]);
		c.strokeStyle = style("ink");
		c.beginPath();
		c.moveTo(LEFT, Math.round(y(median.reserved)) + 0.5);
		c.lineTo(width - RIGHT, Math.round(y(median.reserved)) + 0.5);
		c.stroke();
		c.setLineDash([]);
	});
	add(box, "p", `The dashed line is the median, ${size(median.reserved)} reserved.`, { class: "note" });
	const below = add(box, "div", null, { "aria-live": "polite" });
	const tell = () => {
		below.replaceChildren();
		add(below, "h3", `Rank ${number(at.rank)}: ${size(at.reserved)} reserved, ${size(at.requested)} requested`
			+ (at.oom ? `, OOM at event ${number(at.oom.step)}: ${size(at.oom.size)} requested` : ""));
		if (at.differences.length)
			table(below, [["bytes", false], ["median of the ranks", false], ["tag", true]], at.differences.map((x) => [size(x.bytes), size(x.median),
				x.tag ?? `blocks of ${size(x.size ?? 0)}`]));
		else
			add(below, "p", "No tag differs from the other ranks.", { class: "note" });
		redraw();
	};
	const move = (by) => {
		at = ranks[Math.max(0, Math.min(ranks.length - 1, ranks.indexOf(at) + by))];
		tell();
	};
	canvas.addEventListener("click", (event) => {
		const r = canvas.getBoundingClientRect();
		at = ranks[Math.floor((event.clientX - r.left - LEFT) / (r.width - LEFT - RIGHT) * ranks.length)] ?? at;
		tell();
	});
	canvas.addEventListener("keydown", (event) => {
		const by = { ArrowLeft: -1, ArrowRight: 1, Home: -ranks.length, End: ranks.length }[event.key];
		if (!by)
			return;
		move(by);
		event.preventDefault();
	});
	tell();
	const all = add(box, "details");
	add(all, "summary", "As a table");
	table(all, [["rank", false], ["status", true], ["reserved", false], ["requested", false], ["wasted", false], ["differs in", true], ["trace", true]],
		ranks.map((rank) => [number(rank.rank), rank.status, size(rank.reserved), size(rank.requested), size(rank.wasted), rank.apart.join(", "),
			rank.trace.path]));
}

/* What the program requests at each number: the recorded ones as points, the prediction as a line, and how much more it may be. */
function predictPicture(parent, answer, curve) {
	if (!curve?.length)
		return;
	const first = curve[0].at, last = curve[curve.length - 1].at, most = 1.04 * Math.max(1, ...curve.map((p) => p.requested + p.margin), answer.device_bytes ?? 0);
	const high = 280, foot = 24, box = add(parent, "section");
	add(box, "h2", "Peak requested by number");
	const known = curve.filter((p) => p.recorded !== null).map((p) => p.at), low = Math.min(...known), top = Math.max(...known);
	legend(box, [[style("focus"), "recorded"], [style("allocated"), "predicted; dashed beyond the recordings"],
		...(curve.some((p) => p.margin) ? [[style("non_releasable"), "doubt: the device is larger by this, if workspaces start there"]] : []),
		...(answer.device_bytes ? [[style("bad"), "the device"]] : [])]);
	const { redraw } = picture(box, high, "predicted peaks by number; the table below has them", (c, width) => {
		const x = (at) => LEFT + 8 + (at - first) / Math.max(1, last - first) * (width - LEFT - RIGHT - 16);
		const y = (bytes) => high - foot - bytes / most * (high - foot - 8);
		byteAxis(c, most, y, width);
		c.textAlign = "center";
		for (const t of ticks(first, last, Math.max(3, width / 110), 10))
			if (t % 1 === 0)
				c.fillText(number(t), x(t), high - 8);
		c.strokeStyle = style("allocated");
		c.lineWidth = 2;
		for (const [from, to, dashes] of [[first, low, [5, 4]], [low, top, []], [top, last, [5, 4]]]) {
			c.setLineDash(dashes);
			c.beginPath();
			curve.filter((p) => p.at >= from && p.at <= to).forEach((p) => c.lineTo(x(p.at), y(p.requested)));
			c.stroke();
		}
		c.setLineDash([]);
		c.strokeStyle = style("non_releasable");
		for (const p of curve) {
			if (!p.margin)
				continue;
			c.beginPath();
			for (const [side, bytes] of [[0, p.requested], [0, p.requested + p.margin], [-6, p.requested + p.margin], [6, p.requested + p.margin]])
				c.lineTo(x(p.at) + side, y(bytes));
			c.stroke();
		}
		c.lineWidth = 1;
		for (const p of curve) {
			if (p.recorded === null && !p.asked)
				continue;
			c.fillStyle = style(p.recorded === null ? "allocated" : "focus");
			c.beginPath();
			c.arc(x(p.at), y(p.recorded ?? p.requested), 5, 0, 7);
			c.fill();
		}
		if (answer.device_bytes) {
			c.strokeStyle = style("bad");
			c.setLineDash([6, 4]);
			c.beginPath();
			c.moveTo(LEFT, y(answer.device_bytes));
			c.lineTo(width - RIGHT, y(answer.device_bytes));
			c.stroke();
			c.setLineDash([]);
		}
	});
	redraw();
	const all = add(box, "details");
	add(all, "summary", "As a table");
	table(all, [["number", false], ["predicted", false], ["doubt", false], ["recorded", false]], curve.map((p) => [number(p.at), size(p.requested),
		p.margin ? size(p.margin) : "", p.recorded === null ? "" : size(p.recorded)]));
}

function answerPictures(parent, answer, curve) {
	if (answer?.format === "fragsim-ranks")
		ranksPicture(parent, answer);
	else if (answer?.format === "fragsim-predict")
		predictPicture(parent, answer, curve);
}
