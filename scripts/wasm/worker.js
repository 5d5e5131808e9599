"use strict";
/* worker.js - Runs the program away from the page; wasi.js precedes it.
 *
 * The first message has the module, compressed; each further one has a command line and its files,
 * and is answered by what the program prints meanwhile and at last by its status and its page. */

let module_;

function readSlice(blob) {
  return new Uint8Array(new FileReaderSync().readAsArrayBuffer(blob));
}

async function compile(packed) {
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  module_ = WebAssembly.compile(await new Response(stream).arrayBuffer());
  await module_;
}

/* The answer of one run: status, both texts, the page (null: none was written), bytes of memory. */
async function run(words, files, page) {
  const root = folderOf(files.map(([path, blob]) => [path, new BlobFile(blob, readSlice)]));
  const texts = [null, "", ""], decoders = [null, new TextDecoder(), new TextDecoder()];
  const host = wasi(["fragsim", ...words], ["TMPDIR=/", "NO_COLOR=1"], root, (stream, bytes) => {
    const said = decoders[stream].decode(bytes, { stream: true });
    texts[stream] += said;
    if (stream === 2) postMessage({ progress: said });
  });
  const instance = await WebAssembly.instantiate(await module_, host.imports);
  const begun = performance.now();
  const answer = { status: -1, crash: null };
  try {
    answer.status = host.start(instance);
  } catch (e) {
    answer.crash = String(e);
  }
  const written = page ? root.get(page) : null;
  return {
    ...answer, out: texts[1], err: texts[2], ms: performance.now() - begun,
    memory: instance.exports.memory.buffer.byteLength,
    page: written instanceof MemoryFile ? written.whole().slice() : null,
  };
}

onmessage = async ({ data }) => {
  try {
    if (data.module) {
      await compile(data.module);
      postMessage({ ready: true });
    } else {
      postMessage({ answer: await run(data.words, data.files, data.page) });
    }
  } catch (e) {
    postMessage({ failed: String(e) });
  }
};
