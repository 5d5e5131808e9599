"use strict";
/*
 * facts.js - the facts of a report: unpacked, in words, and in colours.
 *
 * The script of a page is this file, history.js, pictures.js, blocks.js, state.js, events.js, viewer.js, answers.js and page.js, one after the other. Nothing is asked of
 * anybody: all figures are in the page, and the browser itself decompresses them (DecompressionStream). What a trace says goes
 * into the document as text only.
 */

/* ---- The data: see page_pack.h ---- */

async function unpack(base64) {
	const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
	const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
	return new Uint8Array(await new Response(stream).arrayBuffer());
}

/* A column as an array of numbers. */
function column(bytes, place) {
	const [offset, count, planes, shift, differences] = place;
	const values = new Float64Array(count);
	const unit = 2 ** shift;
	let before = 0;
	for (let k = 0; k < planes; k++)
		for (let i = 0; i < count; i++)
			values[i] += bytes[offset + k * count + i] * 256 ** k;
	for (let i = 0; i < count; i++) {
		if (differences) {
			const half = Math.floor((values[i] + 1) / 2);
			before += values[i] % 2 ? -half : half;
			values[i] = before;
		}
		values[i] *= unit;
	}
	return values;
}

function lines(bytes, [offset, length]) {
	const text = new TextDecoder().decode(bytes.subarray(offset, offset + length));
	return text.split("\n").slice(0, -1);
}

/* Each member that is a place becomes the column that is there. */
function columns(bytes, object) {
	const out = {};
	for (const [name, value] of Object.entries(object))
		out[name] = Array.isArray(value) && value.length === 5 && typeof value[0] === "number"
			? column(bytes, value) : value;
	return out;
}

/* What a timeline shows. */
function readRun(bytes, run) {
	Object.assign(run, columns(bytes, run));
	run.line = columns(bytes, run.line);
	run.room = run.total > run.outside ? run.total - run.outside : 0;
}

/* What is reserved, as [event, bytes] where it changes. */
function reservedLine(run) {
	const { birth, end, bytes } = run.segments, changes = new Map([[0, 0]]);
	birth.forEach((event, i) => changes.set(event, (changes.get(event) || 0) + bytes[i]));
	end.forEach((event, i) => { if (event < run.end) changes.set(event, (changes.get(event) || 0) - bytes[i]); });
	let sum = 0;
	return [...changes].sort((a, b) => a[0] - b[0]).map(([event, by]) => [event, sum += by]);
}

/* Frames that are in many stacks are one text. */
function readStacks(bytes, place) {
	const known = new Map(), frameOf = (text) => {
		if (!known.has(text))
			known.set(text, JSON.parse(`"${text}"`));
		return known.get(text);
	};
	return lines(bytes, place).map((line) => line.split("\t").filter(Boolean).map(frameOf));
}

/* Streams whose names are handles have numbers, too, as they come; the default one is 0. */
function nameStreams(section) {
	const known = section.streamNames = new Map([[0, "0"]]);
	for (const [stream] of section.queues ?? [])
		if (!known.has(stream))
			known.set(stream, stream > 0xffff ? `${known.size} (0x${stream.toString(16)})` : String(stream ?? "default"));
}

async function readSection(section) {
	const bytes = await unpack(section.data);
	section.who = section.who.map((who) => ({
		tags: lines(bytes, who.tags).map((line, i) =>
			i === 0 ? "(no tag)" : i === 1 ? "(other tags)" : JSON.parse(line)),
		shareTag: column(bytes, who.share_tag),
		stacks: readStacks(bytes, who.stacks),
	}));
	section.stacks = section.stacks ? readStacks(bytes, section.stacks) : [];
	section.origins = section.origins ? lines(bytes, section.origins).map((line) => JSON.parse(line)) : [];
	nameStreams(section);
	const perPolicy = section.runs.length / section.who.length;
	section.runs.forEach((run, i) => {
		readRun(bytes, run);
		run.blocks = columns(bytes, run.blocks);
		run.segments = columns(bytes, run.segments);
		readAreas(run.blocks, run.end);
		readAreas(run.segments, run.end);
		for (const areas of [run.blocks, run.segments])
			areas.raster = areas.raster.map((r) => ({
				base: r.base, rows: r.rows,
				cells: bytes.subarray(r.cells[0], r.cells[0] + r.cells[1]),
			}));
		run.moments = run.moments.map((m) => columns(bytes, m));
		run.who = section.who[Math.floor(i / perPolicy)];
		run.history = new RunHistory(run.blocks, run.end);
		Object.assign(run, { section, number: i });
		run.reservedLine = reservedLine(run);
		run.reservedSteps = run.reservedLine.map((change) => change[0]);
	});
	for (const run of section.runs) {
		const carrier = section.runs.find((other) => other.device === run.device && other.blocks.queue);
		if (carrier && carrier !== run)
			shareFacts(carrier.blocks, run.blocks);
	}
	for (const run of section.cured) {
		readRun(bytes, run);
		Object.assign(run, { moments: [], ooms: [], mark_step: [], mark_names: [] });
	}
	if (section.growth)
		section.growth.rounds = column(bytes, section.growth.rounds);
	section.drawn = [...section.runs, ...section.cured];
	colour(section);
}

/* ---- Words and colours ---- */

function size(bytes) {
	const units = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"];
	let i = 0;
	for (; Math.abs(bytes) >= 1024 && i < units.length - 1; i++)
		bytes /= 1024;
	return `${i ? bytes.toFixed(2) : Math.round(bytes)} ${units[i]}`;
}

const number = (n) => String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, "\u202f");

/* The colours of the style, which change with dark and light alone. */
let styles = new Map();
function style(name) {
	if (!styles.has(name))
		styles.set(name, getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim());
	return styles.get(name);
}

/* Colours that the colour-blind tell apart (Okabe and Ito), for the kinds that hold most. */
const PALETTE = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#8a7bd0"];
const OTHERS = ["#aab3bc", "#8c97a3", "#c4b9a6"];

/* Tags that differ in their numbers only are one kind; lines of a file do not. */
const kindOf = (tag) => tag.replace(/\d+/g, (digits, at) => tag[at - 1] === ":" ? digits : "#");

/* The kinds that hold most bytes for the longest have a colour each; run.kindOf: by share. */
function colour(section) {
	const weight = new Map();
	for (const run of section.runs) {
		const { who, birth, end, bytes } = run.blocks, of = new Float64Array(run.who.shareTag.length);
		who.forEach((share, i) => { of[share] += (end[i] - birth[i]) * bytes[i] / run.end; });
		of.forEach((by, share) => {
			const kind = kindOf(run.who.tags[run.who.shareTag[share]]);
			weight.set(kind, (weight.get(kind) || 0) + by);
		});
	}
	section.kinds = [...weight].filter((x) => x[1] > 0).sort((a, b) => b[1] - a[1]).slice(0, PALETTE.length).map((k) => k[0]);
	for (const run of section.runs) {
		run.kindOf = Uint8Array.from(run.who.shareTag, (tag) => {
			const at = section.kinds.indexOf(kindOf(run.who.tags[tag]));
			return at < 0 ? OTHER : at;
		});
		run.colours = Array.from(run.kindOf, (kind) => PALETTE[kind] ?? OTHERS[0]);
	}
}

function title(run, section) {
	const devices = section.runs.length / section.who.length;
	return `${run.setting ?? run.policy}${devices > 1 ? `, device ${run.device}` : ""}`;
}
