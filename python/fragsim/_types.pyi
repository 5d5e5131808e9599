# Members of documents, for type checkers; written by scripts/python_types.py from the tables of the program.
from typing import Any, Literal

from ._documents import Document, Record, Run, Scope

class Tool(Record):
    name: Literal['fragsim']
    version: str

class EndsAtOom(Record):
    step: int
    size: int

class RecordedLog(Record):
    agrees: bool
    decisions: int
    differences: int
    differs_from: int | None
    settings_changed_at: int | None
    settings_changed_to: str | None

class ResultTrace(Record):
    path: str
    content: str
    events: int
    allocs: int
    frees: int
    complete: bool
    ends_at_oom: EndsAtOom
    recorded_log: RecordedLog

class Before(Record):
    active: int
    reserved: int

class ScopeMembers(Record):
    begins: Literal['start', 'late', 'state']
    ends: Literal['end', 'oom', 'cut']
    before: Before | None
    lost: int | None
    grows: bool | None

class Policy(Record):
    name: str
    text: str
    params: Record

class Device(Record):
    ordinal: int
    name: str | None
    total_bytes: int
    context_bytes: int
    other_bytes: int
    granularity_bytes: int
    small_granularity_bytes: int
    small_most_bytes: int

class Beginning(Record):
    segments: int
    live: int
    as_requests: bool

class Peak(Record):
    requested: int
    allocated: int
    active: int
    reserved: int
    free: int
    largest_free: int | None
    releasable: int | None
    non_releasable: int | None
    waste: int
    device_free: int | None
    process_used: int
    segments: int
    blocks: int
    holes: int | None
    wasted: int | None

class Last(Record):
    requested: int
    allocated: int
    active: int
    reserved: int
    free: int
    largest_free: int | None
    releasable: int | None
    non_releasable: int | None
    waste: int
    device_free: int | None
    process_used: int
    segments: int
    blocks: int
    fi: float | None
    fi_device: float | None
    internal: float
    utilization: float
    holes: int | None
    wasted: int | None

class Fi(Record):
    min: float | None
    mean: float | None
    p50: float | None
    p95: float | None
    p99: float | None
    max: float | None
    last: float | None
    time_weighted_mean: float | None
    severe_steps: int

class Counts(Record):
    allocs: int
    frees: int
    hits: int
    segment_allocs: int
    segment_frees: int
    splits: int
    merges: int
    retries: int
    ooms: int
    skipped: int

class All(Record):
    current: int
    peak: int
    allocated: int
    freed: int

class Allocation(Record):
    all: All
    large_pool: All
    small_pool: All

class Pytorch(Record):
    num_alloc_retries: int
    num_ooms: int
    num_device_alloc: int
    num_device_free: int
    num_sync_all_streams: int
    allocation: Allocation
    segment: Allocation
    active: Allocation
    inactive_split: Allocation
    allocated_bytes: Allocation
    reserved_bytes: Allocation
    active_bytes: Allocation
    inactive_split_bytes: Allocation
    requested_bytes: Allocation
    oversize_allocations: All
    oversize_segments: All

class Compaction(Record):
    moves: int
    blocks: int
    bytes: int

class Planned(Record):
    hits: int
    misses: int
    too_large: int
    other_pool: int
    not_free: int
    beyond: int
    before: int

class Modelled(Record):
    driver_ns: int
    calls: int
    unmeasured_calls: int

class Prediction(Record):
    differs: bool
    first_difference: int | None
    steps: int
    reserved_predicted: int
    reserved_measured: int
    used_predicted: int
    used_measured: int
    free_predicted: int
    free_measured: int
    oom_step_predicted: int | None
    oom_step_measured: int | None
    error_bytes: int
    error_percent: float

class Calls(Record):
    call: Literal['cudaMalloc', 'cudaFree', 'map', 'unmap', 'cudaMallocAsync', 'cudaFreeAsync']
    up_to_bytes: int | None
    count: int
    refused: int
    total_ns: int
    min_ns: int
    p50_ns: int
    p95_ns: int
    p99_ns: int
    max_ns: int

class Segments(Record):
    up_to_bytes: int | None
    count: int
    asked: int
    predicted: int
    taken: int

class Driver(Record):
    calls: list[Calls]
    segments: list[Segments]

class Probes(Record):
    step: int
    mark: str | None
    free_bytes: int
    largest_bytes: int
    fi: float

class Needs(Record):
    requested: int
    allocated: int
    without_fragmentation: int
    smallest: int | None
    reliable: int | None
    more_than: int | None

class Wasted(Record):
    bytes: int
    most: int

class Pinned(Record):
    tag: str | None
    bytes: int
    blocks: int
    free: int
    places: int
    alone: bool

class Stacks(Record):
    frames: list[str]
    bytes: int
    blocks: int
    oldest: int

class Held(Record):
    tag: str | None
    bytes: int
    blocks: int
    oldest: int
    all_stacks: int
    stacks: list[Stacks]

class Try(Record):
    alloc_conf: str
    requested: int
    reserved: int
    wasted: int

class Answer(Record):
    verdict: Literal['fits', 'does not fit', 'no limit', 'interrupted']
    cause: Literal['request_too_large', 'failed_attempt', 'accumulation', 'leak', 'capacity', 'transient', 'limit', 'pending', 'fragmentation', None]
    needs: Needs | None
    hopeless: bool
    nearly_full: bool
    wasted: Wasted | None
    cached: int | None
    pinned: list[Pinned]
    held: list[Held]
    # try: Try | None
    tried: int

class Hole(Record):
    segment: int
    offset: int
    bytes: int
    live: int
    whole: bool
    holders: list[Held]

class Oom(Record):
    step: int
    id: int | str | None
    size: int
    message: str
    cause: Literal['capacity', 'fragmentation']
    tried: int
    limit: int | None
    metrics: Last
    holders: list[Held]
    hole: Hole | None

class Marks(Last):
    name: str
    step: int

class More(Record):
    marks: int

class RunMembersCommon(Record):
    policy: Policy
    device: Device
    beginning: Beginning
    status: Literal['fits', 'oom', 'interrupted', 'error']
    steps: int
    peak: Peak
    last: Last
    fi: Fi
    fi_device: Fi
    internal: Fi
    utilization: Fi
    lower_bound: int
    overhead_bytes: int
    counts: Counts
    pytorch: Pytorch
    compaction: Compaction
    planned: Planned
    modelled: Modelled
    prediction: Prediction
    driver: Driver
    probes: list[Probes]
    evidence: str
    answer: Answer | None
    oom: list[Oom]
    marks: list[Marks]
    more: More

class RunMembers(RunMembersCommon):
    bound: Literal['exact', 'at_least']
    at_least: int | None

class Result(Document):
    format: Literal['fragsim-result']
    version: Literal[2]
    tool: Tool
    trace: ResultTrace
    scope: Scope
    runs: list[Run]

class Old(Record):
    who: str
    bytes: int

class Changes(Record):
    who: str
    old: int | None
    new: int | None
    change: int

class Accounts(Document):
    format: Literal['fragsim-accounts']
    version: Literal[1]
    tool: Tool
    old: list[Old]
    new: list[Old]
    changes: list[Changes]

class Given(Record):
    total_bytes: int
    context_bytes: int
    other_bytes: int
    granularity_bytes: int

class BaselineTracesRunsPeak(Record):
    requested: int
    allocated: int
    active: int
    reserved: int
    free: int
    largest_free: int | None
    releasable: int | None
    non_releasable: int | None
    waste: int
    process_used: int
    segments: int
    blocks: int
    device_free: int | None
    holes: int | None
    wasted: int | None

class BaselineTracesRunsLast(Last):
    ...

class BaselineTracesRunsOom(Record):
    step: int
    size: int
    cause: Literal['capacity', 'fragmentation']

class Course(Record):
    width: int
    in_last: int
    stretches: list[list[int]]

class Runs(Record):
    policy: Policy
    device: Device
    status: Literal['fits', 'oom', 'interrupted', 'error']
    steps: int
    lower_bound: int
    peak: BaselineTracesRunsPeak
    last: BaselineTracesRunsLast
    fi: Fi
    fi_device: Fi
    internal: Fi
    utilization: Fi
    counts: Counts
    modelled: Modelled
    oom: list[BaselineTracesRunsOom]
    course: Course

class Traces(Record):
    path: str
    path_bytes: str
    content: str
    events: int
    allocs: int
    frees: int
    complete: bool
    scope: Scope
    runs: list[Runs]

class Baseline(Document):
    format: Literal['fragsim-baseline']
    version: Literal[2]
    tool: Tool
    given: Given
    traces: list[Traces]

class CardsCards(Record):
    key: str
    name: str
    bytes: int
    reported: str
    by: str
    source: str
    per_card: int
    context_bytes: int
    context_message: str
    context_source: str

class Cards(Document):
    format: Literal['fragsim-cards']
    version: Literal[1]
    cards: list[CardsCards]

class ChangeOld(RunMembersCommon):
    trace: ResultTrace
    scope: Scope

class Parts(Record):
    version: int
    settings: int
    requested: int
    rounding: int
    fragmentation: int

class Tags(Record):
    tag: str | None
    old: int
    new: int
    change: int

class FirstDifference(Record):
    old_step: int
    new_step: int

class Undo(Record):
    alloc_conf: str
    reserved: int

class Alignment(Record):
    same: int
    only_old: int
    only_new: int
    whole: bool
    old_iterations: int
    new_iterations: int

class Pairs(Record):
    rank: int
    old: str
    new: str
    reserved: int

class ChangeMore(Record):
    tags: int

class Change(Document):
    format: Literal['fragsim-change']
    version: Literal[1]
    tool: Tool
    old: ChangeOld
    new: ChangeOld
    reserved: int
    parts: Parts
    tags: list[Tags]
    first_difference: FirstDifference | None
    undo: Undo | None
    alignment: Alignment
    pairs: list[Pairs]
    more: ChangeMore

class Broken(Record):
    trace: str
    policy: str | None
    device: int | None
    condition: str | None
    path: str | None
    message: str

class Checked(Record):
    path: str
    runs: int
    least: float | None
    most: float | None

class Gate(Record):
    verdict: Literal['passed', 'broken', None]
    conditions: list[str]
    broken: list[Broken]
    checked: list[Checked]

class Summary(Record):
    policy: str
    runs: int
    survived: int
    compared: int
    peak_reserved_ratio: float | None
    over_bound: float | None
    fi_device_mean_difference: float | None
    best_trace: str | None
    best_ratio: float | None
    worst_trace: str | None
    worst_ratio: float | None

class Base(Record):
    path: str
    content: str
    events: int
    complete: bool
    scope: Scope

class ComparisonTracesRunsBase(Record):
    policy: str
    params: str
    status: Literal['fits', 'oom', 'interrupted', 'error']

class PeakReserved(Record):
    base: int | None
    value: int | None
    difference: int | None
    percent: float | None
    verdict: Literal['same', 'changed', 'better', 'worse', None]

class OverBound(Record):
    base: float | None
    value: float | None
    difference: float | None
    percent: float | None
    verdict: Literal['same', 'changed', 'better', 'worse', None]

class Figures(Record):
    # peak.reserved: PeakReserved
    # peak.allocated: PeakReserved
    over_bound: OverBound
    efficiency: OverBound
    # fi_device.mean: OverBound
    # fi_device.p95: OverBound
    # fi_device.max: OverBound
    # fi.mean: OverBound
    # fi_device.severe_steps: PeakReserved
    # counts.ooms: PeakReserved
    # counts.retries: PeakReserved
    device_calls: PeakReserved
    # modelled.driver_ns: PeakReserved
    smallest: PeakReserved
    # peak.holes: PeakReserved
    # peak.wasted: PeakReserved

class First(Record):
    at: Literal['step', 'mark', 'steps']
    step: int
    last_step: int
    event: str | None
    mark: str | None
    base_reserved: int
    reserved: int
    base_allocated: int
    allocated: int

class ComparisonTracesRuns(Record):
    device: int
    base: ComparisonTracesRunsBase | None
    run: ComparisonTracesRunsBase | None
    verdict: Literal['same', 'changed', 'better', 'worse', 'mixed', None]
    not_compared: str | None
    conditions: list[str]
    figures: Figures
    first: First | None
    largest: First | None

class ComparisonTraces(Record):
    base: Base | None
    trace: Base | None
    changed: bool
    conditions: list[str]
    runs: list[ComparisonTracesRuns]

class Comparison(Document):
    format: Literal['fragsim-comparison']
    version: Literal[2]
    tool: Tool
    of: Literal['runs', 'policies']
    base: str | None
    new: str | None
    interrupted: bool
    conditions: list[str]
    gate: Gate
    summary: list[Summary]
    traces: list[ComparisonTraces]

class ExplainDevice(Record):
    ordinal: int
    name: str | None
    total_bytes: int
    context_bytes: int
    other_bytes: int
    granularity_bytes: int

class ExplainMomentsSegmentsBlockingBlocksMore(Record):
    waits: int

class BlockingBlocks(Record):
    id: int | str | None
    tag: str | None
    bytes: int
    offset: int
    allocated_at: int
    freed_at: int | None
    pending: bool
    waits: list[int | str | None]
    more: ExplainMomentsSegmentsBlockingBlocksMore

class ExplainMomentsSegmentsMore(Record):
    blocking_blocks: int

class ExplainMomentsSegments(Record):
    segment: int
    bytes: int
    non_releasable: int
    blocking_blocks: list[BlockingBlocks]
    more: ExplainMomentsSegmentsMore

class Holders(Record):
    tag: str | None
    bytes: int
    blocks: int
    oldest: int
    # class: Literal['weights', 'gradients', 'optimizer', 'long-lived', 'activations', 'temporaries', 'workspaces', 'inputs', 'kv', 'other', None]
    evidence: Literal['categories', 'pool', 'stack', 'marks', 'sizes', 'lifetime', None]

class Pools(Record):
    pool: int
    segments: int
    reserved: int
    live: int
    free: int
    non_releasable: int
    name: int | str

class ExplainMomentsMovesMore(Record):
    ids: int
    # from: int

class Moves(Record):
    bytes: int
    blocks: int
    ids: list[int | str]
    # from: list[int]
    verified: bool
    reaches: int | None
    more: ExplainMomentsMovesMore

class Survivors(Record):
    policy: Policy
    alloc_conf: str | None

class MainCause(Record):
    kind: Literal['born_late', 'left_behind']
    tag: str | None
    bytes: int
    non_releasable: int

class Waits(Record):
    stream: int | str | None
    bytes: int
    blocks: int
    since: int

class Pending(Record):
    bytes: int
    blocks: int
    waits: list[Waits]
    more: ExplainMomentsSegmentsBlockingBlocksMore

class Accumulation(Record):
    bytes: int
    since: int
    passes: int | None
    larger: bool
    tag: str | None

class Leak(Record):
    bytes: int
    since: int
    per_iteration: int
    iterations: int
    tag: str | None

class FailedAttempt(Record):
    failed_at: int
    left_behind: int
    blocks: int
    tag: str | None

class Larger(Record):
    bytes: int
    ratio: float

class ExplainMomentsOutsidePytorchTags(Record):
    tag: str | None
    bytes: int
    allocations: int
    stack: bool

class OutsidePytorch(Record):
    segments: int
    matched: int
    timed: bool
    bytes: int
    allocations: int
    unknown: int | None
    tags: list[ExplainMomentsOutsidePytorchTags]
    more: ChangeMore

class ExplainMomentsMore(Record):
    segments: int
    holders: int
    pools: int
    moves: int
    survivors: int

class Moments(Record):
    step: int
    device: int
    kind: Literal['oom', 'peak', 'worst', 'step', 'mark']
    verdict: Literal['request_too_large', 'failed_attempt', 'accumulation', 'leak', 'capacity', 'transient', 'limit', 'pending', 'fragmentation', None]
    nearly_full: bool
    size: int
    need: int
    missing: int
    live: int
    free: int
    releasable: int
    non_releasable: int
    device_free: int | None
    outside: int | None
    largest_now: int
    largest_after_flush: int
    largest_after_compaction: int
    trace_fits: bool | None
    segments: list[ExplainMomentsSegments]
    holders: list[Holders]
    pools: list[Pools]
    moves: list[Moves]
    tried: int
    survivors: list[Survivors]
    main_cause: MainCause | None
    pending: Pending
    requested_by: str | None
    frames_at: int | None
    frames: list[str]
    accumulation: Accumulation | None
    leak: Leak | None
    failed_attempt: FailedAttempt | None
    larger: Larger | None
    recorded_ooms: list[int]
    setting_leaves: int | None
    outside_pytorch: OutsidePytorch
    more: ExplainMomentsMore

class Explain(Document):
    format: Literal['fragsim-explain']
    version: Literal[2]
    tool: Tool
    complete: bool
    trace: ResultTrace
    scope: Scope
    policy: Policy
    evidence: str
    device: ExplainDevice
    moments: list[Moments]

class AtSmallest(Record):
    calls: int
    refused: int
    retries: int
    peak_reserved: int
    driver_ns: int | None

class Map(Record):
    least: int
    beyond: int | None
    status: Literal['fits', 'oom', 'error']
    oom_step: int | None
    calls: int
    retries: int

class FitsCommon(Record):
    policy: Policy
    alloc_conf: str | None
    device: ExplainDevice
    smallest: int | None
    at_most: int | None
    reliable: int | None
    examined_to: int | None
    no_refusal: int | None
    failing_ranges: list[list[int | int | None]]
    bound: Literal['exact', 'at_least']
    at_least: int | None
    at_smallest: AtSmallest | None
    at_reliable: AtSmallest | None
    runs: int
    static_room: int | None
    evidence: str
    why: str | None

class Fits(FitsCommon):
    trace: int
    map: list[Map]

class Together(Record):
    every_offset: bool
    clock: Literal['steps', 'microseconds']
    offset: float | None

class Joint(Record):
    policy: Policy
    alloc_conf: str | None
    device: ExplainDevice
    smallest: int | None
    at_most: int | None
    reliable: int | None
    examined_to: int | None
    no_refusal: int | None
    failing_ranges: list[list[int | int | None]]
    bound: Literal['exact', 'at_least']
    at_least: int | None
    runs: int
    together: Together

class FitCards(Record):
    card: str
    context_bytes: int
    copies: int | None

class Recommended(Record):
    alloc_conf: str | None
    reliable: int | None
    smallest: int | None
    left: int | None
    driver_calls: int | None

class FitSettings(Record):
    alloc_conf: str
    policy: str
    status: Literal['open', 'fits', 'oom', 'skipped', 'error']
    reliable: int | None
    smallest: int | None
    left: int | None
    driver_calls: int | None
    why: str | None

class Tests(Record):
    path: str
    fits: bool
    reliable: int | None
    own_best: str
    own_reliable: int | None

class Outside(Record):
    name: str
    bytes: int | None
    counted: bool
    source: str

class FitMore(Record):
    cards: int
    settings: int

class Fit(Document):
    format: Literal['fragsim-fit']
    version: Literal[3]
    tool: Tool
    complete: bool
    traces: list[ResultTrace]
    scope: Scope | list[Scope]
    granularity: int
    lower_bound: int
    bound: Literal['exact', 'at_least']
    at_least: int | None
    fits: list[Fits]
    joint: list[Joint]
    cards: list[FitCards]
    recommended: Recommended | None
    settings: list[FitSettings]
    tests: list[Tests]
    outside: list[Outside]
    more: FitMore

class InfoRecordingPytorch(Record):
    version: str
    why: str

class FirstOom(Record):
    size: int
    device_free: int

class Devices(Record):
    peak_reserved_bytes: int
    last_reserved_bytes: int
    peak_allocated_bytes: int
    last_allocated_bytes: int
    history_events: int
    contradictions: int
    first_segments: int
    first_segment_bytes: int
    first_live_blocks: int
    ooms: int
    first_oom: FirstOom | None
    ends_at_oom: bool

class Recording(Record):
    settings: str | None
    versions: Record
    pytorch: InfoRecordingPytorch | None
    history: bool
    overflowed: bool | None
    max_entries: int | None
    devices: list[Devices]

class InfoDevices(Record):
    name: str | None
    total_bytes: int
    context_bytes: int
    other_bytes: int
    granularity_bytes: int
    allocs: int
    peak_live_bytes: int
    peak_live_blocks: int
    peak_step: int
    last_live_bytes: int
    last_live_blocks: int

class Host(Record):
    events: int
    peak_live_bytes: int
    last_live_bytes: int
    last_live_blocks: int

class Sizes(Record):
    # from: int
    blocks: int
    bytes: int

class InfoMarks(Record):
    step: int
    name: str

class Info(Document):
    format: Literal['fragsim-info']
    version: Literal[1]
    path: str
    form: str
    content: str
    meta: Record | None
    scope: Scope
    events: int
    left_out: int
    ops: Record
    streams: int
    pools: int
    different_sizes: int
    times: int
    duration: float | None
    recording: Recording
    recorded_log: RecordedLog
    devices: list[InfoDevices]
    host: Host
    sizes: list[Sizes]
    lives: list[Sizes]
    marks: list[InfoMarks]
    never_freed: int
    freed_at_once: int
    of_no_bytes: int
    waiting_frees: int
    times_backwards: int

class Iterations(Record):
    count: int
    whole: int
    mark: str | None
    loop: str | None
    steps: int

class LeaksDevices(Record):
    ordinal: int
    name: str | None
    total_bytes: int | None
    verdict: Literal['none', 'unknown', 'grows', 'leak']
    live_first: int
    live_last: int
    live_peak: int
    growth: float
    leak: int
    full_in_iterations: int | None
    fails_in_iteration: int | None
    at_least: bool
    full_in_steps: int | None
    estimated: bool

class Rising(Record):
    device: int
    tag: str | None
    bytes: int
    per_iteration: int
    period: int | None
    kind: Literal['more', 'larger']

class LeaksLeaks(Record):
    device: int
    tag: str | None
    size: int | None
    bytes_an_iteration: int
    bytes: int
    blocks: int
    first_step: int
    frames: list[str]

class LeaksMore(Record):
    rising: int
    leaks: int

class Leaks(Document):
    format: Literal['fragsim-leaks']
    version: Literal[2]
    tool: Tool
    trace: ResultTrace
    scope: Scope
    verdict: Literal['none', 'unknown', 'grows', 'leak']
    iterations: Iterations
    devices: list[LeaksDevices]
    rising: list[Rising]
    leaks: list[LeaksLeaks]
    more: LeaksMore

class MessageMessagesParts(Record):
    parameters: int
    activations: int
    graphs: int
    kv_cache: int
    temporaries: int
    constants: int
    outputs: int
    program: int

class Framework(Record):
    name: str
    version: str | None

class Advice(Record):
    text: str
    set: str | None

class Messages(Record):
    wording: Literal['pytorch-cached', 'pytorch-reserved', 'pytorch-sentences', 'pytorch-async', 'pytorch-mps', 'bfc', 'xla', 'rmm', 'rmm-pool', 'cupy', 'vllm-start', 'vllm-cache', 'vllm-length', 'sglang', 'llama.cpp', 'ollama', 'onnxruntime', 'paddle', 'tensorflow', 'tensorflow-async', 'cuda.jl', 'tensorrt', 'pytorch-summary', 'pytorch-stats', 'pytorch-overflow', 'comfyui', 'nvml', 'nccl', 'vmm', 'cublas', 'cudnn', 'shared-memory', 'pinned', 'cpu', 'oom-killer', 'sglang-slots', 'tensorflow-pool', 'tpu', 'mlx', 'shm', 'host', 'sigkill', 'paging-file', 'buffer-limit', 'hbm', 'device-map', 'vllm-warmup', 'exllama', 'metal', 'graphics', 'device', 'level-zero', 'vllm-tokens', 'neuron', 'hip', 'driver', 'other']
    asked: int | None
    total: int | None
    free: int | None
    allocated: int | None
    reserved: int | None
    outside: int | None
    limit: int | None
    nonreleasable: int | None
    kv_free: int | None
    max_model_len: int | None
    precision: int
    parts: MessageMessagesParts
    pool: str | None
    verdict: Literal['request_too_large', 'capacity', 'limit', 'fragmentation', 'outside', 'refused', 'contradiction', 'not_device_memory', 'unknown']
    nearly_full: bool
    also_possible: list[Literal['request_too_large', 'capacity', 'limit', 'fragmentation', 'outside', 'refused', 'contradiction', 'not_device_memory']]
    missing: list[Literal['asked', 'total', 'free', 'allocated', 'reserved']]
    short: int | None
    speaker: Literal['pytorch', 'pytorch-pool', 'cudaMallocAsync', 'driver', 'vmm', 'nccl', 'library', 'nvml', 'host', 'kernel', 'shared-memory', 'vllm', 'sglang', 'jax', 'tensorflow', 'tensorrt-llm', 'onnxruntime', 'llama.cpp', 'deepspeed', 'megatron', 'paddle', 'rmm', 'cupy', 'julia', 'mlx', 'smi', 'other']
    accelerator: Literal['cuda', 'hip', 'xpu', 'npu', 'mps', 'tpu', 'neuron', 'cpu', None]
    system: Literal['linux', 'mac', 'jetson', 'wsl', 'windows', None]
    framework: Framework | None
    phase: Literal['forward', 'serve', 'load', 'backward', 'optimizer', 'capture', 'wake', None]
    settings: Record
    count: int
    first_line: int
    ranks: list[int]
    survived: bool
    unread: list[str]
    advice: list[Advice]

class MessageMore(Record):
    messages: int

class Message(Document):
    format: Literal['fragsim-message']
    version: Literal[4]
    messages: list[Messages]
    accounts: list[Old]
    more: MessageMore

class Capacity(Record):
    bytes: int
    fits: bool
    proven: bool | None

class Orders(Record):
    order: str
    fit: Literal['first']
    height: int | None

class Search(Record):
    heights: int
    proofs: int
    placements: int

class PlacementSpacesMore(Record):
    orders: int

class Spaces(Record):
    device: int
    pool: int | str
    buffers: int
    bound: int
    lower_bound: int
    height: int
    verdict: Literal['optimal', 'within']
    gap_pct: float
    given_height: int
    peak_step: int
    found_by: str
    orders: list[Orders]
    search: Search
    more: PlacementSpacesMore

class PlacementDevices(Record):
    ordinal: int
    smallest: int
    bound: Literal['exact', 'at_least']
    at_least: int | None

class PlacementPolicies(Record):
    policy: Policy
    alloc_conf: str | None
    device: int
    peak_reserved: int | None
    smallest: int | None
    bound: Literal['exact', 'at_least']
    at_least: int | None

class Placement(Document):
    format: Literal['fragsim-placement']
    version: Literal[1]
    tool: Tool
    trace: ResultTrace
    scope: Scope
    align: int
    # from: int
    to: int
    periods: int
    buffers: int
    bound: int
    lower_bound: int
    height: int
    verdict: Literal['optimal', 'within']
    gap_pct: float
    complete: bool
    ended_by: Literal['budget', 'time', 'interrupt', None]
    checked: str | None
    capacity: Capacity | None
    spaces: list[Spaces]
    devices: list[PlacementDevices]
    policies: list[PlacementPolicies]

class Buffers(Record):
    id: int | str
    step: int
    end: int
    size: int
    offset: int
    pool: int | str
    device: int
    carried: bool

class Plan(Document):
    format: Literal['fragsim-plan']
    version: Literal[1]
    content: str
    align: int
    bound: int
    height: int
    complete: bool
    periods: int
    buffers: list[Buffers]

class Params(Record):
    name: str
    type: Literal['size', 'count', 'bool', 'own', 'file', 'name']
    default: float | bool | str
    expects: str
    least: int
    power_of_two: bool
    help: str

class PoliciesPolicies(Record):
    name: str
    summary: str
    params: list[Params]

class Policies(Document):
    format: Literal['fragsim-policies']
    version: Literal[1]
    policies: list[PoliciesPolicies]

class PredictTraces(Record):
    path: str
    content: str
    events: int
    allocs: int
    frees: int
    complete: bool
    ends_at_oom: EndsAtOom
    recorded_log: RecordedLog
    at: int | None

class Estimated(Record):
    tag: str | None
    bytes: int
    # from: int

class PredictAsItIsFits(FitsCommon):
    requested: int
    reserved: int | None
    fits: bool | None

class AsItIs(Record):
    events: int
    requested: int
    bound: Literal['exact', 'at_least']
    at_least: int | None
    fits: list[PredictAsItIsFits]

class PredictSizes(Record):
    constant: int
    linear: int
    quadratic: int
    other: int

class PredictUnexplainedTags(Record):
    tag: str | None
    count: int
    step: int
    sizes: list[int | None]

class Unexplained(Record):
    count: int
    tag_count: int
    tags: list[PredictUnexplainedTags]

class Points(Record):
    at: int
    distance: float
    margin: int
    unexplained: int
    events: int
    requested: int
    bound: Literal['exact', 'at_least']
    at_least: int | None
    fits: list[PredictAsItIsFits]

class PredictLargestMap(Record):
    # from: int
    to: int
    status: str

class Largest(Record):
    policy: Policy
    alloc_conf: str | None
    largest: int | None
    reliable: int | None
    # from: int
    examined_to: int | None
    bound: int | None
    stride: int
    map: list[PredictLargestMap]

class Primed(Record):
    policy: Policy
    alloc_conf: str | None
    bytes: int | None
    reserved: int | None
    without: int | None
    examined_to: int

class Predict(Document):
    format: Literal['fragsim-predict']
    version: Literal[1]
    tool: Tool
    complete: bool
    trace: ResultTrace | None
    traces: list[PredictTraces]
    scope: Scope | list[Scope]
    hypothetical: bool
    bound: Literal['exact', 'at_least']
    distance: float | None
    margin: int
    doubt: list[str]
    estimated: list[Estimated]
    device_bytes: int | None
    changes: list[str]
    as_it_is: AsItIs | None
    changed: AsItIs | None
    sizes: PredictSizes | None
    unexplained: Unexplained | None
    points: list[Points]
    largest: list[Largest]
    primed: list[Primed]

class ProfileDevice(Record):
    name: str | None
    total_bytes: int
    context_bytes: int | None
    granularity_bytes: int
    small_granularity_bytes: int | None
    small_most_bytes: int | None
    page_bytes: int | None
    driver_version: int
    runtime_version: int

class Profile(Document):
    format: Literal['fragsim-profile']
    version: Literal[1]
    tool: Tool
    device: ProfileDevice
    calls: list[Calls]

class RanksRanksDevice(Record):
    ordinal: int
    total_bytes: int | None

class RanksRanksOom(Record):
    step: int
    size: int
    tag: str | None

class Differences(Record):
    tag: str | None
    size: int | None
    bytes: int
    median: int

class RanksRanksMore(Record):
    differences: int

class RanksRanks(Record):
    rank: int
    trace: ResultTrace
    scope: Scope
    device: RanksRanksDevice
    policy: Policy
    evidence: str
    status: Literal['fits', 'oom']
    reserved: int
    requested: int
    wasted: int
    peak_step: int
    oom: RanksRanksOom | None
    compared: bool
    apart: list[Literal['reserved', 'requested', 'wasted', 'oom']]
    all_differences: int
    differences: list[Differences]
    more: RanksRanksMore

class Median(Record):
    reserved: int
    requested: int
    wasted: int

class RanksBetweenDifferences(Record):
    tag: str | None
    size: int | None
    bytes: int
    lowest: int

class Between(Record):
    highest: int
    highest_device: int
    lowest: int
    lowest_device: int
    all_differences: int
    differences: list[RanksBetweenDifferences]
    more: RanksRanksMore

class RanksJoint(Record):
    rank: int
    device: int
    status: Literal['fits', 'oom']
    ooms: int
    reserved: int
    requested: int
    wasted: int

class Ranks(Document):
    format: Literal['fragsim-ranks']
    version: Literal[2]
    tool: Tool
    numbers_of_names: bool
    ranks: list[RanksRanks]
    compared: int
    alike: bool
    apart: int
    median: Median
    limit: Median
    least: Median
    most: Median
    between: Between | None
    joint: RanksJoint

class SettingsSettings(Record):
    key: str
    # values: str
    unit: str | None
    default: str | None
    since: str
    simulated: bool
    help: str

class Settings(Document):
    format: Literal['fragsim-settings']
    version: Literal[1]
    settings: list[SettingsSettings]

class SweepTraces(Record):
    path: str
    content: str
    events: int
    allocs: int
    frees: int

class Sweep(Document):
    format: Literal['fragsim-sweep']
    version: Literal[1]
    tool: Tool
    runs: int
    traces: list[SweepTraces]
    policies: list[str]
    device_bytes: list[int | None]

class SweepRun(Document):
    tool: Tool
    run: int
    manifest: str
    policy: str
    device_bytes: int | None
    path: str
    path_bytes: str
    content: str
    events: int
    allocs: int
    frees: int
    complete: bool
    scope: Scope
    runs: list[Runs]
    check: str

class TraceHeaderDevice(Record):
    name: str
    total_bytes: int | str
    context_bytes: int | str
    other_bytes: int | str
    granularity_bytes: int | str

class TraceHeaderBeginningSegments(Record):
    device: int
    bytes: int
    address: int
    large: bool
    stream: int | str
    pool: int | str
    mapped: list[list[int]]

class Blocks(Record):
    event: int
    segment: int
    offset: int
    requested: int
    bytes: int
    space: int
    least: int

class TraceHeaderBeginning(Record):
    segments: list[TraceHeaderBeginningSegments]
    blocks: list[Blocks]
    order: list[list[int]]

class Header(Record):
    format: Literal['fragsim-trace']
    version: Literal[1]
    device: TraceHeaderDevice
    devices: list[TraceHeaderDevice]
    beginning: TraceHeaderBeginning
    meta: Record

class Event(Record):
    op: Literal['alloc', 'free', 'complete', 'record_stream', 'sync', 'empty_cache', 'set_fraction', 'configure', 'mark', 'release_pool', 'begin_pool', 'end_pool']
    stream: int | str
    t: float
    tag: str
    device: int
    id: int | str
    size: int | str
    pool: int | str
    pending: bool
    value: str
    name: str

class Trace(Document):
    format: Literal['fragsim-trace']
    version: Literal[1]
    device: TraceHeaderDevice
    devices: list[TraceHeaderDevice]
    beginning: TraceHeaderBeginning
    meta: Record
    events: list[Any]
