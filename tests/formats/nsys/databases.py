"""databases.py - databases of Nsight Systems, with the tables and columns of the published schema.

"SQLite Schema Reference" in the documentation of Nsight Systems, as exports of 2024 to 2026 have
them: the columns that count, and some others.
"""
import sqlite3
from pathlib import Path

# EXPORT_SCHEMA_VERSION 3.16, product version 2024.6: the columns that count, and some others
SCHEMA = '''
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE ENUM_CUDA_MEM_KIND (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
CREATE TABLE ENUM_CUDA_DEV_MEM_EVENT_OPER (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);
CREATE TABLE TARGET_INFO_GPU (vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT,
    busLocation TEXT, isDiscrete INTEGER, totalMemory INTEGER, smCount INTEGER, uuid TEXT);
CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER NOT NULL, pid INTEGER NOT NULL,
    uuid TEXT, numMultiprocessors INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL,
    eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER,
    nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER);
CREATE TABLE CUDA_CALLCHAINS (id INTEGER NOT NULL, symbol INTEGER NOT NULL,
    module INTEGER NOT NULL, unresolved INTEGER, originalIP INTEGER, stackDepth INTEGER NOT NULL,
    PRIMARY KEY (id, stackDepth));
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL,
    rangeId INTEGER, category INTEGER, color INTEGER, text TEXT, globalTid INTEGER,
    endGlobalTid INTEGER, textId INTEGER, domainId INTEGER, jsonText TEXT, binaryData TEXT);
CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INTEGER NOT NULL, globalPid INTEGER NOT NULL,
    deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, address INTEGER NOT NULL,
    pc INTEGER NOT NULL, bytes INTEGER NOT NULL, memKind INTEGER NOT NULL,
    memoryOperationType INTEGER NOT NULL, name TEXT, correlationId INTEGER, streamId INTEGER,
    localMemoryPoolAddress INTEGER, localMemoryPoolReleaseThreshold INTEGER,
    localMemoryPoolSize INTEGER, localMemoryPoolUtilizedSize INTEGER,
    importedMemoryPoolAddress INTEGER, importedMemoryPoolProcessId INTEGER);
'''
KINDS = ('PAGEABLE', 'PINNED', 'DEVICE', 'ARRAY', 'MANAGED', 'DEVICE_STATIC', 'MANAGED_STATIC',
         'UNKNOWN')
OPERATIONS = ('ALLOCATION', 'DEALLOCATION')
EVENTS = 'CUDA_GPU_MEMORY_USAGE_EVENTS'
HARDWARE = 1 << 56              # a serialized id has more than the process in it
PID, TID = 4711, 4712


def gpid(pid: int = PID) -> int:
    return HARDWARE | pid << 24


def event(start: int, address: int, size: int, free: bool = False, **more: object) -> dict:
    return {'start': start, 'globalPid': gpid(), 'deviceId': 0, 'contextId': 1, 'address': address,
            'pc': 0, 'bytes': size, 'memKind': 2, 'memoryOperationType': int(free), **more}


def call(correlation: int, name: int, chain: object = None, tid: int = TID) -> dict:
    return {'start': 0, 'end': 1, 'eventClass': 0, 'globalTid': gpid() | tid,
            'correlationId': correlation, 'nameId': name, 'returnValue': 0, 'callchainId': chain}


def span(start: int, end: object, text: object = None, tid: int = TID, **more: object) -> dict:
    return {'start': start, 'end': end, 'eventType': 59, 'text': text, 'globalTid': gpid() | tid,
            **more}


def database(name: str, events: list, schema: str = SCHEMA, after: str = '',
             strings: tuple = (), **tables: list) -> Path:
    """A database of these rows; `after` is SQL that changes it then."""
    Path(name).unlink(missing_ok=True)
    db = sqlite3.connect(name)
    db.executescript(schema)
    has = {x for x, in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    for table, words, prefix in (('ENUM_CUDA_MEM_KIND', KINDS, 'CUDA_MEMOPR_MEMORY_KIND_'),
                                 ('ENUM_CUDA_DEV_MEM_EVENT_OPER', OPERATIONS,
                                  'CUDA_DEV_MEM_EVENT_OPR_')):
        if table in has:
            db.executemany(f'INSERT INTO {table} VALUES (?, ?, ?)',
                           [(i, prefix + x, x.title()) for i, x in enumerate(words)])
    if 'StringIds' in has:
        db.executemany('INSERT INTO StringIds VALUES (?, ?)', enumerate(strings))
    for table, rows in {EVENTS: events, **tables}.items():
        for row in rows:
            db.execute(f'INSERT INTO {table} ({", ".join(row)}) VALUES'
                       f' ({", ".join("?" * len(row))})', list(row.values()))
    db.executescript(after)
    db.commit()
    db.close()
    return Path(name)
