"use strict";
/* host.js - runs fragsim.wasm in Node.js, with the page's own files scripts/wasm/wasi.js.
 *
 *     node host.js WASI MODULE     a command a line: {"words": [...], "files": {NAME: PATH}, "written": NAME}
 *
 * Answers each with {status, out, err, ms, memory, written}, the last in base64. */
const fs = require("fs"), vm = require("vm"), readline = require("readline");

const [wasiPath, modulePath] = process.argv.slice(2);
vm.runInThisContext(`${fs.readFileSync(wasiPath, "utf8")}
globalThis.host = { wasi, folderOf, BlobFile };`, { filename: wasiPath });
const { wasi, folderOf, BlobFile } = globalThis.host;

/* As a Blob: a file of the disk, read in pieces. */
class Disk {
  constructor(path) {
    this.descriptor = fs.openSync(path, "r");
    this.size = fs.fstatSync(this.descriptor).size;
  }
  slice(begin, end) {
    const bytes = Buffer.alloc(Math.max(0, Math.min(end, this.size) - begin));
    fs.readSync(this.descriptor, bytes, 0, bytes.length, begin);
    return bytes;
  }
}

function run(module, { words, files, written }) {
  const root = folderOf(Object.entries(files).map(([name, path]) => [name, new BlobFile(new Disk(path), (x) => x)]));
  const streams = [null, [], []];
  const host = wasi(["fragsim", ...words], ["TMPDIR=/", "NO_COLOR=1"], root, (stream, bytes) => streams[stream].push(bytes));
  const instance = new WebAssembly.Instance(module, host.imports);
  const begun = process.cpuUsage().user;
  let status = -1, crash = "";
  try {
    status = host.start(instance);
  } catch (e) {
    crash = String(e.stack || e);
  }
  const file = written && root.get(written);
  return {
    status, crash, ms: (process.cpuUsage().user - begun) / 1000, memory: instance.exports.memory.buffer.byteLength,
    out: Buffer.concat(streams[1]).toString(), err: Buffer.concat(streams[2]).toString(),
    written: file ? Buffer.from(file.whole()).toString("base64") : null,
  };
}

const module_ = new WebAssembly.Module(fs.readFileSync(modulePath));
readline.createInterface({ input: process.stdin }).on("line", (line) => {
  process.stdout.write(`${JSON.stringify(run(module_, JSON.parse(line)))}\n`);
});
