"use strict";
/* wasi.js - What the module calls: the part of WASI preview 1 that fragsim needs.
 *
 * A tree of files in memory, without links and permissions. A file that the user dropped is a Blob,
 * which is read in pieces, so that it never is in memory as a whole; a file that the program
 * writes is an array that grows. Standard error is a terminal: the program draws its progress there. */

const ERRNO = { badf: 8, exist: 20, inval: 28, isdir: 31, noent: 44, nosys: 52, notdir: 54, notempty: 55, spipe: 70 };
const TYPE = { terminal: 2, folder: 3, file: 4 };
const PIECE = 1 << 20;          /* bytes that are read of a Blob at a time */
const TERMINAL_RIGHTS = 0xffffffffn & ~0x24n;   /* without seek and tell, as a terminal has it */

/* The end of the program, by its status. */
class Exit {
  constructor(status) {
    this.status = status;
  }
}

class BlobFile {
  constructor(blob, readSlice) {
    this.blob = blob;
    this.readSlice = readSlice;
    this.at = 0;
    this.piece = new Uint8Array(0);
  }
  get size() {
    return this.blob.size;
  }
  read(at, to) {
    if (at >= this.size) return 0;
    if (at < this.at || at >= this.at + this.piece.length) {
      this.at = at;
      this.piece = this.readSlice(this.blob.slice(at, at + Math.max(PIECE, to.length)));
    }
    const part = this.piece.subarray(at - this.at, at - this.at + to.length);
    to.set(part);
    return part.length;
  }
}

class MemoryFile {
  constructor(bytes = new Uint8Array(0)) {
    this.bytes = bytes;
    this.size = bytes.length;
  }
  read(at, to) {
    const part = this.bytes.subarray(at, Math.min(this.size, at + to.length));
    to.set(part);
    return part.length;
  }
  resize(size) {
    if (size > this.bytes.length) {
      const grown = new Uint8Array(Math.max(size, 2 * this.bytes.length, 4096));
      grown.set(this.bytes.subarray(0, this.size));
      this.bytes = grown;
    } else if (size < this.size) {
      this.bytes.fill(0, size, this.size);
    }
    this.size = size;
  }
  write(at, from) {
    if (at + from.length > this.size) this.resize(at + from.length);
    this.bytes.set(from, at);
  }
  whole() {
    return this.bytes.subarray(0, this.size);
  }
}

/* An object that has its files by name: { "a.pickle": BlobFile, ranks: Map }. */
function folderOf(files) {
  const root = new Map();
  for (const [path, file] of files) {
    const parts = path.split("/");
    const last = parts.pop();
    let at = root;
    for (const part of parts) {
      if (!(at.get(part) instanceof Map)) at.set(part, new Map());
      at = at.get(part);
    }
    at.set(last, file);
  }
  return root;
}

/* One run of the program. `said` is called with 1 or 2, the stream, and the bytes. */
function wasi(words, environment, root, said) {
  const text = new TextDecoder(), bytes = new TextEncoder();
  const open = new Map([
    [0, { file: new MemoryFile(), at: 0 }], [1, { stream: 1 }], [2, { stream: 2 }], [3, { folder: root }],
  ]);
  let memory, next = 4;
  const numbers = new WeakMap();
  let inode = 0n;

  const view = () => new DataView(memory.buffer);
  const part = (at, length) => new Uint8Array(memory.buffer, at, length);
  const number = (entry) => {
    if (!numbers.has(entry)) numbers.set(entry, ++inode);
    return numbers.get(entry);
  };
  const putStrings = (strings, pointers, at) => {
    for (const s of strings) {
      const coded = bytes.encode(s + "\0");
      view().setUint32(pointers, at, true);
      part(at, coded.length).set(coded);
      pointers += 4;
      at += coded.length;
    }
    return 0;
  };
  const putSizes = (strings, count, size) => {
    view().setUint32(count, strings.length, true);
    view().setUint32(size, strings.reduce((n, s) => n + bytes.encode(s).length + 1, 0), true);
    return 0;
  };
  /* The pieces of memory that a call reads into or writes from, until one is not filled. */
  const vectors = (list, count, result, work) => {
    let total = 0;
    for (let i = 0; i < count; i++) {
      const length = view().getUint32(list + 8 * i + 4, true);
      const done = work(part(view().getUint32(list + 8 * i, true), length));
      total += done;
      if (done < length) break;
    }
    view().setUint32(result, total, true);
    return 0;
  };
  /* The folder that a path leads to and the last name; null: a part of it is missing. */
  const find = (fd, at, length) => {
    let folder = open.get(fd)?.folder;
    const parts = [];
    for (const word of text.decode(part(at, length)).split("/")) {
      if (word === "..") parts.pop();
      else if (word && word !== ".") parts.push(word);
    }
    const last = parts.pop();
    for (const name of parts) {
      folder = folder?.get(name);
      if (!(folder instanceof Map)) return null;
    }
    if (!folder) return null;
    return { folder, name: last, entry: last === undefined ? folder : folder.get(last) };
  };
  const putStat = (at, entry, type, size) => {
    part(at, 64).fill(0);
    view().setBigUint64(at + 8, entry ? number(entry) : 0n, true);
    view().setUint8(at + 16, type);
    view().setBigUint64(at + 24, 1n, true);
    view().setBigUint64(at + 32, BigInt(size), true);
    return 0;
  };
  const stat = (at, entry) => (entry instanceof Map ? putStat(at, entry, TYPE.folder, 0)
    : putStat(at, entry, TYPE.file, entry.size));
  const typeOf = (o) => (o.folder ? TYPE.folder : o.stream ? TYPE.terminal : TYPE.file);

  const calls = {
    args_get: (a, b) => putStrings(words, a, b),
    args_sizes_get: (a, b) => putSizes(words, a, b),
    environ_get: (a, b) => putStrings(environment, a, b),
    environ_sizes_get: (a, b) => putSizes(environment, a, b),
    clock_res_get: (clock, at) => (view().setBigUint64(at, 1000n, true), 0),
    clock_time_get(clock, precision, at) {
      const ms = performance.now() + (clock === 0 ? performance.timeOrigin : 0);
      view().setBigUint64(at, BigInt(Math.round(ms * 1000)) * 1000n, true);
      return 0;
    },
    random_get(at, length) {
      for (let i = 0; i < length; i += 65536) crypto.getRandomValues(part(at + i, Math.min(65536, length - i)));
      return 0;
    },
    proc_exit(status) {
      throw new Exit(status);
    },
    sched_yield: () => 0,
    poll_oneoff: () => ERRNO.nosys,
    fd_advise: () => 0,
    fd_allocate: () => ERRNO.nosys,
    fd_close: (fd) => (fd < 3 || open.delete(fd) ? 0 : ERRNO.badf),
    fd_datasync: () => 0,
    fd_sync: () => 0,
    fd_fdstat_get(fd, at) {
      const o = open.get(fd);
      if (!o) return ERRNO.badf;
      part(at, 24).fill(0);
      /* standard output is read by the page: a file */
      view().setUint8(at, o.stream === 1 ? TYPE.file : typeOf(o));
      view().setBigUint64(at + 8, o.stream === 2 ? TERMINAL_RIGHTS : 0xffffffffn, true);
      view().setBigUint64(at + 16, 0xffffffffn, true);
      return 0;
    },
    fd_fdstat_set_flags: () => 0,
    fd_filestat_get(fd, at) {
      const o = open.get(fd);
      if (!o) return ERRNO.badf;
      return o.stream ? putStat(at, null, o.stream === 1 ? TYPE.file : TYPE.terminal, 0) : stat(at, o.folder || o.file);
    },
    fd_filestat_set_size(fd, size) {
      const file = open.get(fd)?.file;
      if (!(file instanceof MemoryFile)) return ERRNO.inval;
      file.resize(Number(size));
      return 0;
    },
    fd_filestat_set_times: () => 0,
    fd_prestat_get(fd, at) {
      if (fd !== 3) return ERRNO.badf;
      view().setUint32(at, 0, true);
      view().setUint32(at + 4, 1, true);
      return 0;
    },
    fd_prestat_dir_name: (fd, at) => (part(at, 1).fill(47), 0),
    fd_read(fd, list, count, result) {
      const o = open.get(fd);
      if (!o?.file) return o?.folder ? ERRNO.isdir : ERRNO.badf;
      return vectors(list, count, result, (to) => {
        const n = o.file.read(o.at, to);
        o.at += n;
        return n;
      });
    },
    fd_pread(fd, list, count, offset, result) {
      const o = open.get(fd);
      let at = Number(offset);
      if (!o?.file) return ERRNO.badf;
      return vectors(list, count, result, (to) => {
        const n = o.file.read(at, to);
        at += n;
        return n;
      });
    },
    fd_write(fd, list, count, result) {
      const o = open.get(fd);
      if (!o || o.folder || (o.file && !(o.file instanceof MemoryFile))) return ERRNO.badf;
      return vectors(list, count, result, (from) => {
        if (o.stream) {
          said(o.stream, from.slice());
        } else {
          o.at = o.append ? o.file.size : o.at;
          o.file.write(o.at, from);
          o.at += from.length;
        }
        return from.length;
      });
    },
    fd_pwrite(fd, list, count, offset, result) {
      const file = open.get(fd)?.file;
      let at = Number(offset);
      if (!(file instanceof MemoryFile)) return ERRNO.badf;
      return vectors(list, count, result, (from) => {
        file.write(at, from);
        at += from.length;
        return from.length;
      });
    },
    fd_seek(fd, offset, whence, result) {
      const o = open.get(fd);
      if (!o?.file) return o ? ERRNO.spipe : ERRNO.badf;
      const at = Number(offset) + [0, o.at, o.file.size][whence];
      if (at < 0) return ERRNO.inval;
      o.at = at;
      view().setBigUint64(result, BigInt(at), true);
      return 0;
    },
    fd_tell: (fd, result) => calls.fd_seek(fd, 0n, 1, result),
    fd_readdir(fd, at, room, cookie, result) {
      const o = open.get(fd);
      if (!o?.folder) return ERRNO.notdir;
      const names = [...o.folder.keys()].sort();
      let used = 0;
      for (let i = Number(cookie); i < names.length && used < room; i++) {
        const entry = o.folder.get(names[i]), coded = bytes.encode(names[i]);
        const one = new Uint8Array(24 + coded.length), v = new DataView(one.buffer);
        v.setBigUint64(0, BigInt(i + 1), true);
        v.setBigUint64(8, number(entry), true);
        v.setUint32(16, coded.length, true);
        v.setUint8(20, entry instanceof Map ? TYPE.folder : TYPE.file);
        one.set(coded, 24);
        const length = Math.min(one.length, room - used);
        part(at + used, length).set(one.subarray(0, length));
        used += length;
      }
      view().setUint32(result, used, true);
      return 0;
    },
    fd_renumber: () => ERRNO.nosys,
    path_create_directory(fd, at, length) {
      const to = find(fd, at, length);
      if (!to) return ERRNO.noent;
      if (to.entry) return ERRNO.exist;
      to.folder.set(to.name, new Map());
      return 0;
    },
    path_filestat_get(fd, flags, at, length, result) {
      const to = find(fd, at, length);
      return to?.entry ? stat(result, to.entry) : ERRNO.noent;
    },
    path_filestat_set_times: () => 0,
    path_link(fd, flags, at, length, toFd, toAt, toLength) {
      const from = find(fd, at, length), to = find(toFd, toAt, toLength);
      if (!from?.entry || !to) return ERRNO.noent;
      if (to.entry) return ERRNO.exist;
      to.folder.set(to.name, from.entry);
      return 0;
    },
    path_open(fd, lookup, at, length, flags, rights, inheriting, fdflags, result) {
      const to = find(fd, at, length);
      const create = flags & 1, folder = flags & 2, exclusive = flags & 4, truncate = flags & 8;
      if (!to || (!to.entry && !create)) return ERRNO.noent;
      if (to.entry && create && exclusive) return ERRNO.exist;
      if (folder && to.entry && !(to.entry instanceof Map)) return ERRNO.notdir;
      if (!to.entry) to.folder.set(to.name, (to.entry = new MemoryFile()));
      if (truncate && to.entry instanceof MemoryFile) to.entry.resize(0);
      open.set(next, to.entry instanceof Map ? { folder: to.entry } : { file: to.entry, at: 0, append: fdflags & 1 });
      view().setUint32(result, next++, true);
      return 0;
    },
    path_readlink: () => ERRNO.inval,
    path_symlink: () => ERRNO.nosys,
    path_remove_directory(fd, at, length) {
      const to = find(fd, at, length);
      if (!(to?.entry instanceof Map)) return to?.entry ? ERRNO.notdir : ERRNO.noent;
      if (to.entry.size) return ERRNO.notempty;
      to.folder.delete(to.name);
      return 0;
    },
    path_rename(fd, at, length, toFd, toAt, toLength) {
      const from = find(fd, at, length), to = find(toFd, toAt, toLength);
      if (!from?.entry || !to) return ERRNO.noent;
      from.folder.delete(from.name);
      to.folder.set(to.name, from.entry);
      return 0;
    },
    path_unlink_file(fd, at, length) {
      const to = find(fd, at, length);
      if (!to?.entry) return ERRNO.noent;
      if (to.entry instanceof Map) return ERRNO.isdir;
      to.folder.delete(to.name);
      return 0;
    },
  };

  return {
    imports: { wasi_snapshot_preview1: calls },
    /* Runs it to its end. Returns its exit status; throws where it crashed. */
    start(instance) {
      memory = instance.exports.memory;
      try {
        instance.exports._start();
      } catch (e) {
        if (e instanceof Exit) return e.status;
        throw e;
      }
      return 0;
    },
  };
}
