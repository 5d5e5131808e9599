# fragsim - a trace-driven simulator of GPU memory allocators
# Order: knobs, flags, sources, rules, check, install, help.
## Knobs, given as NAME=value
## BUILD=build: where everything that is made goes
BUILD ?= build
## SAN=address,undefined: sanitizers; such a build has its own folder in BUILD
SAN ?=
## WERROR=1: warnings are errors
WERROR ?=
## V=1: show whole commands, and every test's output
V ?=
## JOBS=2: how many tests run at a time
JOBS ?= 2
## HEAVY=1: the long tests of check-all too, and each random test more often
HEAVY ?=
## PROPERTY_SEEDS=50: random traces that the property tests compare
PROPERTY_SEEDS ?= $(if $(SAN),40,$(if $(HEAVY),300,50))
## MINUTES=10 SEED=: how long each fuzzer runs, and the seed of a search that can be had again
MINUTES ?= 10
FUZZ_CC ?= clang
## WITH_CUDA=auto CUDA_HOME=/usr/local/cuda: yes or no; auto: where the toolkit is there
WITH_CUDA ?= auto
CUDA_HOME ?= /usr/local/cuda
## WITH_SQLITE=auto: yes or no; auto: where libsqlite3 has its header
WITH_SQLITE ?= auto
## WITH_ISAL=auto: yes or no; auto: where libisal has its header; without it zlib unpacks gzip
WITH_ISAL ?= auto
## SYSTEM=Linux: or Darwin, macOS; or WASI, WebAssembly
SYSTEM ?= $(shell uname -s)
MACOS = $(filter Darwin,$(SYSTEM))
WASI = $(filter WASI,$(SYSTEM))
## WITH_RECORDER=yes: no, as on macOS and musl: neither the recorder nor a shared library
WITH_RECORDER ?= $(if $(MACOS)$(WASI),no,yes)
SHARES = $(filter-out no,$(WITH_RECORDER))
## CC CPPFLAGS CFLAGS LDFLAGS LDLIBS: the usual, obeyed, after our own
CFLAGS ?= -O2 -g
## prefix=/usr/local DESTDIR=: where to install
prefix ?= /usr/local
bindir = $(prefix)/bin
libdir = $(prefix)/lib
includedir = $(prefix)/include
mandir = $(prefix)/share/man
datadir = $(prefix)/share/fragsim
zshdir = $(prefix)/share/zsh/site-functions
MAKEFLAGS += --no-builtin-rules
.DELETE_ON_ERROR:
comma := ,
override BUILD := $(BUILD)$(if $(SAN),/san-$(subst $(comma),-,$(SAN)))
Q := $(if $(V),,@)
say = @$(if $(V),:,printf '  %-6s %s\n' $(1) $(patsubst $(BUILD)/%,%,$@))

# Flags -----------------------------------------------------------------------
WARNINGS = -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wwrite-strings \
	-Wmissing-prototypes -Wold-style-definition -Wundef -Wvla -Wformat=2 -Wpointer-arith \
	-Wcast-qual -Wswitch-enum $(if $(WERROR),-Werror)
sanitize = -fsanitize=$(1) -fno-sanitize-recover=all -fno-omit-frame-pointer
SANFLAGS = $(if $(SAN),$(call sanitize,$(SAN)))
FUZZFLAGS = $(call sanitize,address$(comma)undefined) -fsanitize=fuzzer-no-link -U_FORTIFY_SOURCE
PICFLAGS = -fPIC -fvisibility=hidden -include scripts/exports.h
# As dpkg-buildflags has it. Sanitizers look for themselves; _FORTIFY_SOURCE wants -O.
FORTIFY = $(if $(findstring FORTIFY,$(CPPFLAGS)$(CFLAGS)),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
HARDENING = $(if $(SAN)$(WASI),,-fPIE -fstack-protector-strong -Werror=format-security \
	$(if $(filter-out -O0,$(filter -O%,$(CFLAGS))),$(FORTIFY)))
ALL_CPPFLAGS = $(HARDENING) -Iinclude -Isrc -I$(BUILD)/page \
	$(if $(filter tests/%,$<),-Itests -Itests/support/cuda,-include base/banned.h) \
	-D_XOPEN_SOURCE=700 -D_DEFAULT_SOURCE -D_DARWIN_C_SOURCE $(if $(SHARES),,-DFRAG_NO_RECORDER) $(if $(SQLITE),,-DFRAG_NO_SQLITE) -D_FILE_OFFSET_BITS=64 \
	$(if $(WASI),-D_WASI_EMULATED_SIGNAL -D_WASI_EMULATED_GETPID) $(CPPFLAGS)
ALL_CFLAGS = -std=c11 $(THREADS) -ffile-prefix-map=$(CURDIR)=. -Wdate-time $(WARNINGS) $(SANFLAGS) $(CFLAGS)
THREADS = $(if $(WASI),,-pthread)
RELRO = $(if $(MACOS),,$(if $(WASI),-Wl$(comma)-z$(comma)stack-size=8388608,-Wl$(comma)-z$(comma)relro$(comma)-z$(comma)now))
ALL_LDFLAGS = $(THREADS) $(RELRO) $(SANFLAGS) $(CFLAGS) $(LDFLAGS)
LIBS = -lcjson -lzstd -lz $(if $(ISAL),-lisal) $(if $(SQLITE),-lsqlite3) $(if $(WASI),-lwasi-emulated-signal -lwasi-emulated-getpid) -lm
ALL_LDLIBS = $(LIBS) $(LDLIBS)
COMPILE = $(ALL_CPPFLAGS) $(ALL_CFLAGS)

# Sources ---------------------------------------------------------------------
PROGRAM = $(BUILD)/fragsim
STANDIN = $(BUILD)/fragsim-standin
LIBRARY = $(BUILD)/libfragsim.a
version := $(shell sed -n 's/^.define FRAG_VERSION "\(.*\)".*/\1/p' include/fragsim/version.h)
SHARED := $(BUILD)/libfragsim.so.$(shell sed -n 's/^.define FRAG_ABI //p' include/fragsim/version.h)
RECORDER = $(BUILD)/libfragsim-record.so
TORCH_RECORDER = recording.py _watching.py recorder/sitecustomize.py models.py _operators.py _shards.py
SUPPORT = $(BUILD)/libsupport.a
# What the program prints of the documents that it writes. NATIVE: one that runs on this machine.
DOCUMENTS = accounts baseline cards change comparison explain fit info leaks message placement plan policies predict profile ranks result settings sweep sweep-run trace
NATIVE ?= $(PROGRAM)
SCHEMAS = $(DOCUMENTS:%=$(BUILD)/documents/fragsim-%.schema.json)
DOCUMENTS_PAGE = $(BUILD)/documents/fragsim-documents.5
sources = $(sort $(wildcard $(1)))
objects = $(patsubst %.c,$(BUILD)/%.o,$(call sources,$(1)))
programs = $(patsubst %.c,$(BUILD)/%,$(call sources,$(1)))

# The reader of SQLite databases and the writer need its library; without it they say so.
SQLITE := $(if $(filter yes,$(WITH_SQLITE)),yes,$(if $(filter-out no,$(WITH_SQLITE)),$(shell \
	$(CC) $(CPPFLAGS) -include sqlite3.h -E -x c /dev/null >/dev/null 2>&1 && echo yes)))
ISAL := $(if $(filter yes,$(WITH_ISAL)),yes,$(if $(filter-out no,$(WITH_ISAL)),$(shell \
	$(CC) $(CPPFLAGS) -include isa-l/igzip_lib.h -E -x c /dev/null >/dev/null 2>&1 && echo yes)))
# The library has no_cuda.c; before it the program links cuda.c, if there is CUDA.
CUDA_OBJECTS := $(if $(filter-out no,$(WITH_CUDA)),$(if $(wildcard \
	$(CUDA_HOME)/include/cuda_runtime_api.h),$(BUILD)/src/device/cuda.o,$(if $(filter \
	yes,$(WITH_CUDA)),$(error WITH_CUDA=yes: no cuda_runtime_api.h in CUDA_HOME=$(CUDA_HOME)))))
CUDA_LIBS = $(addprefix -L,$(wildcard $(CUDA_HOME)/lib*)) -lcudart_static -ldl -lrt
CMD_OBJECTS := $(call objects,src/cmd/*.c)
RECORD_OBJECTS := $(patsubst %.c,$(BUILD)/pic/%.o,$(call sources,src/recorder/*.c))
LIB_OBJECTS := $(filter-out $(CMD_OBJECTS) %/cuda.o $(BUILD)/src/recorder/%,$(call objects,src/*/*.c))
SUPPORT_OBJECTS := $(call objects,tests/support/*.c)
BENCH_OBJECTS := $(call objects,tests/crossing/bench/*.c)
FUZZ_LIB := $(LIB_OBJECTS:$(BUILD)/%=$(BUILD)/fuzz/%)
PIC_LIB := $(LIB_OBJECTS:$(BUILD)/%=$(BUILD)/pic/%)
C_TESTS := $(call programs,tests/unit/test_*.c tests/property/*.c $(if $(ALL),tests/crossing/*/test_*.c))
REPLAYS := $(call programs,tests/fuzz/fuzz_*.c)
FUZZERS := $(REPLAYS:$(BUILD)/tests/fuzz/%=$(BUILD)/fuzz/%)
TEST_PROGRAMS := $(C_TESTS) $(REPLAYS)

# Rules -----------------------------------------------------------------------
## Targets
.PHONY: all quickstart check check-all lists check-san check-gpu check-page check-slurm check-wheel tests-index golden-accept floor floor-accept bench bench-tables \
	fuzz next-release install coverage analyse uninstall dist deb wheel wheels sdist site table wasm check-wasm clean help install-packages FORCE
## all: build the program and the libraries (what plain `make` does)
all: $(PROGRAM) $(LIBRARY) $(if $(SHARES),$(SHARED) $(RECORDER)) $(TORCH_RECORDER:%=$(BUILD)/python/%) $(SCHEMAS) $(DOCUMENTS_PAGE) ; @:
$(PROGRAM): $(CMD_OBJECTS) $(CUDA_OBJECTS) $(LIBRARY)
$(STANDIN): $(CMD_OBJECTS) $(BUILD)/tests/support/standin_cuda.o $(SUPPORT) $(LIBRARY)
$(BUILD)/bench: $(BENCH_OBJECTS) $(SUPPORT) $(LIBRARY)
$(TEST_PROGRAMS): %: %.o $(SUPPORT) $(LIBRARY)
$(REPLAYS): $(BUILD)/tests/fuzz/replay.o
$(PROGRAM) $(STANDIN) $(BUILD)/bench $(TEST_PROGRAMS):
	$(call say,LD)
	$(Q)$(CC) $(if $(SAN)$(WASI),,-pie) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(if $(filter \
		$@,$(TEST_PROGRAMS)),-lcmocka) $(if $(filter $(CUDA_OBJECTS),$^),$(CUDA_LIBS)) $(ALL_LDLIBS)
# It counts requests where they are rounded.
$(BUILD)/tests/property/looks: private override LDFLAGS += -Wl,--wrap=frag_pytorch_round
$(BUILD)/src/device/cuda.o: override CPPFLAGS += -isystem $(CUDA_HOME)/include
$(LIBRARY): $(LIB_OBJECTS)
$(SUPPORT): $(SUPPORT_OBJECTS)
$(LIBRARY) $(SUPPORT): $(BUILD)/objects
	$(call say,AR)
	$(Q)rm -f $@ && $(AR) rcD $@ $(filter %.o,$^)
$(SHARED): scripts/exports.map $(PIC_LIB) $(BUILD)/objects
	$(call say,LD)
	$(Q)$(CC) $(ALL_LDFLAGS) -shared -Wl,-soname,$(@F) -Wl,--version-script=$< \
		$(if $(SAN),,-Wl$(comma)-z$(comma)defs) -o $@ $(PIC_LIB) $(ALL_LDLIBS)
# It goes into programs that know no sanitizer.
$(RECORDER) $(RECORD_OBJECTS): private override SAN =
# fopencookie()
stream_objects := $(addsuffix /src/base/platform.o,$(BUILD) $(BUILD)/pic $(BUILD)/fuzz)
$(RECORD_OBJECTS) $(stream_objects): private override CPPFLAGS += -D_GNU_SOURCE
$(if $(ISAL),$(addsuffix /src/input/inflate.o,$(BUILD) $(BUILD)/pic $(BUILD)/fuzz)): private override CPPFLAGS += -DFRAG_ISAL
$(RECORDER): scripts/record.map $(RECORD_OBJECTS) $(BUILD)/objects
	$(call say,LD)
	$(Q)$(CC) $(ALL_LDFLAGS) -shared -Wl,--version-script=$< -Wl,-z,defs -o $@ $(RECORD_OBJECTS) -ldl $(LDLIBS)
$(FUZZERS): $(BUILD)/fuzz/%: $(BUILD)/fuzz/tests/fuzz/%.o $(FUZZ_LIB)
	$(call say,FUZZLD)
	$(Q)$(FUZZ_CC) $(ALL_LDFLAGS) $(FUZZFLAGS) -fsanitize=fuzzer -o $@ $^ $(ALL_LDLIBS)
# Beside the program, as it has them where they are installed.
$(BUILD)/python/%.py: python/fragsim/%.py
	$(call say,COPY)
	$(Q)mkdir -p $(@D) && cp $< $@
$(SCHEMAS): $(BUILD)/documents/fragsim-%.schema.json: $(PROGRAM)
	$(call say,GEN)
	$(Q)mkdir -p $(@D) && $(NATIVE) help --schema $* >$@
$(DOCUMENTS_PAGE): man/fragsim-documents.5.in $(PROGRAM)
	$(call say,GEN)
	$(Q)mkdir -p $(@D) && { cat $< && $(NATIVE) help --members; } >$@
# The parts of a report's page, as arrays of characters.
PAGE_SCRIPTS = $(addprefix src/answers/page/,facts.js history.js pictures.js blocks.js state.js events.js viewer.js answers.js page.js)
PAGE_FILES = $(addprefix src/answers/page/page.,html css) $(PAGE_SCRIPTS)
$(BUILD)/page/page_files.inc: $(PAGE_FILES)
	$(call say,GEN)
	@mkdir -p $(@D)
	$(Q)for part in html css js; do echo "static const char frag_page_$$part[] = {" && \
		case $$part in js) cat $(PAGE_SCRIPTS) ;; *) cat src/answers/page/page.$$part ;; esac | od -An -v -tx1 | \
		sed 's/\([0-9a-f][0-9a-f]\)/0x\1,/g' && echo '0 };' || exit; done >$@
$(addsuffix /src/answers/page_write.o,$(BUILD) $(BUILD)/pic $(BUILD)/fuzz): $(BUILD)/page/page_files.inc
define compile
	$(call say,$(1))
	@mkdir -p $(@D)
	$(Q)$($(1)) $(COMPILE) $(2) -MMD -MP -c -o $@ $<
endef
$(BUILD)/%.o: %.c $(BUILD)/flags | $(BUILD)/packages
	$(call compile,CC)
$(BUILD)/pic/%.o: %.c $(BUILD)/flags | $(BUILD)/packages
	$(call compile,CC,$(PICFLAGS))
$(BUILD)/fuzz/%.o: %.c $(BUILD)/flags | $(BUILD)/packages
	$(call compile,FUZZ_CC,$(FUZZFLAGS))
# Rewritten only when their text changes: flags rebuild everything, objects the archives.
$(BUILD)/flags: text = $(CC) $(COMPILE) : $(ALL_LDFLAGS) $(ALL_LDLIBS) : $(CUDA_HOME) $(FUZZ_CC) $(PICFLAGS)
$(BUILD)/objects: text = $(CMD_OBJECTS) $(CUDA_OBJECTS) $(LIB_OBJECTS) $(SUPPORT_OBJECTS) $(RECORD_OBJECTS)
$(BUILD)/flags $(BUILD)/objects: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(subst ','\'',$(text))' | cmp -s - $@ || \
		printf '%s\n' '$(subst ','\'',$(text))' > $@
FORCE:
-include $(patsubst %.o,%.d,$(CMD_OBJECTS) $(CUDA_OBJECTS) $(LIB_OBJECTS) $(SUPPORT_OBJECTS) \
	$(BENCH_OBJECTS) $(TEST_PROGRAMS:=.o) $(BUILD)/tests/fuzz/replay.o \
	$(FUZZ_LIB) $(PIC_LIB) $(RECORD_OBJECTS) $(FUZZERS:$(BUILD)/fuzz/%=$(BUILD)/fuzz/tests/fuzz/%.o))

# Packages: `make` says what is missing; quickstart, check and fuzz install it.
compiler = $(firstword $(filter gcc% clang%,$(notdir $(1))) gcc)
no_compiler = $(if $(shell command -v $(firstword $(1)) 2>/dev/null),,$(call compiler,$(1)))
clang_rt = libclang-rt-$(or $(shell $(1) -dumpversion 2>/dev/null | cut -d. -f1),14)-dev
no_header = $(shell $(CC) $(CPPFLAGS) -include $(2) -E -x c /dev/null >/dev/null 2>&1 || echo $(1))
BUILD_PACKAGES = $(call no_compiler,$(CC)) libc6-dev zlib1g-dev libzstd-dev libcjson-dev \
	$(if $(filter no,$(WITH_SQLITE)),,libsqlite3-dev) $(if $(filter no,$(WITH_ISAL)),,$(if $(filter x86_64 aarch64,$(shell uname -m)),libisal-dev))
TEST_PACKAGES = perl libcmocka-dev pkg-config python3 python3-jsonschema python3-pytest python3-yaml \
	mandoc gzip zstd $(if $(ALL),valgrind) \
	$(if $(SAN),$(if $(filter clang%,$(call compiler,$(CC))),$(call clang_rt,$(CC))))
FUZZ_PACKAGES = $(call no_compiler,$(FUZZ_CC)) $(call clang_rt,$(FUZZ_CC))
WANTED = $(BUILD_PACKAGES) $(if $(filter check%,$(MAKECMDGOALS)),$(TEST_PACKAGES)) \
	$(if $(filter fuzz,$(MAKECMDGOALS)),$(FUZZ_PACKAGES)) \
	$(if $(filter %wheel %wasm,$(MAKECMDGOALS)),binutils dpkg-dev python3-pip python3-venv python3-yaml tcl)
MISSING = $(strip $(if $(call no_compiler,$(CC)), \
	$(shell scripts/install-packages.sh -n $(BUILD_PACKAGES)), \
	$(call no_header,libc6-dev,stdio.h) $(call no_header,zlib1g-dev,zlib.h) \
	$(call no_header,libzstd-dev,zstd.h) $(call no_header,libcjson-dev,cjson/cJSON.h) \
	$(if $(filter yes,$(WITH_SQLITE)),$(call no_header,libsqlite3-dev,sqlite3.h)) \
	$(if $(filter yes,$(WITH_ISAL)),$(call no_header,libisal-dev,isa-l/igzip_lib.h))))
## install-packages: install the Debian packages that the build lacks
install-packages:
	@scripts/install-packages.sh $(WANTED)
$(BUILD)/packages: $(BUILD)/flags \
	| $(if $(filter quickstart check check-gpu fuzz,$(MAKECMDGOALS)),install-packages)
	@$(if $(MISSING),$(error missing Debian packages: $(MISSING) (`make \
	quickstart` installs them)))touch $@

# Check -----------------------------------------------------------------------
## quickstart: install what the build lacks, build, simulate a real model's trace
quickstart: $(PROGRAM) $(if $(SHARES),$(RECORDER)) $(TORCH_RECORDER:%=$(BUILD)/python/%)
	$(PROGRAM) run --policy bestfit traces/gpt2_small_train_bs8_seq1024.ndjson.gz

# Each test is one command that prints TAP; TESTS='"a b" c' runs just those two.
# Found by themselves: run.py of each folder, with the program's name, and its *.sh. Those of
# crossing/ and oracles/ go through many commands, forms and faults: check-all has them.
python = /usr/bin/python3 -B
compare = $(python) tests/property/compare.py $(PROGRAM) $(1) \
	$(shell seq $(1) $(PROPERTY_SEEDS) | head -n 50 | wc -l)
golden_areas = $(sort $(patsubst tests/golden/%/,%,$(dir $(wildcard tests/golden/*/*.sh))))
areas = commands/* formats/* english examples lists unit $(if $(ALL),crossing/* oracles/*)
threaded = "$(python) tests/crossing/threads/run.py $(PROGRAM)" $(filter %_array_grow_stable %_ahead %_workers,$(C_TESTS))
TESTS = $(if $(filter thread,$(SAN)),$(threaded),scripts/check-modules.sh scripts/check-help.sh $(TEST_PROGRAMS) \
	$(foreach f,$(call sources,$(patsubst %,tests/%/run.py,$(areas))),"$(python) $f $(PROGRAM)") \
	$(foreach first,$(shell seq 1 50 $(PROPERTY_SEEDS)),"$(call compare,$(first))") \
	$(patsubst %,"tests/golden/run.sh %",$(golden_areas)) \
	$(call sources,$(patsubst %,tests/%/*.sh,$(filter-out golden,$(areas)))))
full_path = $(if $(filter /%,$(1)),,$(CURDIR)/)$(1)
TEST_ENV = env --default-signal=INT,HUP,TERM FRAGSIM="$(call full_path,$(PROGRAM))" \
	BUILD="$(call full_path,$(BUILD))" TRACES="$(CURDIR)/traces" SAN="$(SAN)" HEAVY="$(HEAVY)" CC="$(CC)" \
	CMOCKA_MESSAGE_OUTPUT=tap MALLOC_PERTURB_=65 UBSAN_OPTIONS=halt_on_error=1:abort_on_error=1:print_stacktrace=1 \
	ASAN_OPTIONS=abort_on_error=1:exitcode=99:allocator_may_return_null=1:max_allocation_size_mb=2048

## check: install what the tests lack, build, run the tests of every day
## check-all: those and the crossings: each command with each form, fault and policy, and other programs' answers
check-all: ; @$(MAKE) --no-print-directory check ALL=1
check: all $(TEST_PROGRAMS) $(STANDIN) $(if $(ALL),$(BUILD)/bench)
	$(call place,install,$(BUILD)/stage)
	@$(TEST_ENV) prove -j$(JOBS) --failures --comments $(if $(V),-v) --exec '' $(TESTS)

## lists: what is forgotten where something is added; the names and limits of the house
lists: all ; @$(TEST_ENV) prove --failures --comments --exec '' "$(python) tests/lists/run.py $(PROGRAM)"

## check-san: check-all under sanitizers of addresses and undefined behaviour; what has threads, of these
# By clang, unless CC says otherwise: gcc does not report an offset to a null pointer.
check-san: ; @for san in address,undefined thread; do \
	$(MAKE) --no-print-directory check-all SAN=$$san CC="$(if $(filter default,$(origin CC)),clang,$(CC))" || exit; done

## tests-index: the tests of every source file and command
tests-index: ; @scripts/tests-index.py

## check-gpu: the tests that need a GPU (they skip, and say so, without one)
check-gpu: all ; @$(TEST_ENV) prove -v --exec '' $(call sources,tests/oracles/gpu/*.sh)

## next-release: the newest wheel of torch as the oracle: 300 random cases, and new names (NEXT="--index URL --pre": nightly builds)
next-release: $(PROGRAM) ; @$(python) scripts/oracles/pytorch/next_release.py $(NEXT)

## check-slurm: a sweep on a Slurm that is started for it (skipped without slurm-wlm and munge)
check-slurm: all ; @$(TEST_ENV) $(python) tests/commands/sweep/slurm.py $(PROGRAM)

## check-page: pages of `report` in a headless chromium, where one is installed
check-page: all ; @$(TEST_ENV) $(python) tests/commands/page/browser.py $(PROGRAM) $(PAGES)

## check-wheel: the wheel, in an environment of its own and in a root with nothing else
check-wheel: wheel ; @$(TEST_ENV) $(python) tests/crossing/python/wheel.py $(BUILD)/wheel

## golden-accept: make what the program prints now the expected output
golden-accept: all ; @$(TEST_ENV) ACCEPT=1 tests/golden/run.sh $(golden_areas)

## floor: instructions and memory an event of ten works, beside their limits (check-all has it)
## floor-accept: make what they take now the limits; the commit says why
floor floor-accept: all ; @$(TEST_ENV) ACCEPT=$(if $(filter %-accept,$@),1) $(python) tests/crossing/floor/run.py $(PROGRAM)

## bench: measure speed, on recorded TRACES="files folders" too; prints tables and JSON
## bench-tables: the same, and write the tables of doc/performance.md anew
bench bench-tables: all $(BUILD)/bench ; @$(TEST_ENV) env -u MALLOC_PERTURB_ $(python) tests/crossing/bench/all.py $(if $(filter %-tables,$@),--tables) $(BENCHFLAGS) $(TRACES)

## fuzz: run each fuzzer, JOBS at a time, and random command lines, for MINUTES; finds go to build/fuzz
fuzz: $(FUZZERS) ; @$(TEST_ENV) FUZZ_CC="$(FUZZ_CC)" FUZZARGS="$(FUZZARGS)" SEED="$(SEED)" JOBS="$(JOBS)" scripts/fuzz.sh $(MINUTES) $(FUZZERS)

## coverage: which lines and branches of src/ the tests reach; takes minutes
## analyse: cppcheck, clang-tidy, gcc -fanalyzer and valgrind over all of it; takes minutes
coverage analyse: ; @CC="$(CC)" BUILD="$(BUILD)" scripts/$@.sh

# Install ---------------------------------------------------------------------
# SOURCE:DESTINATION of every file, the one list that both targets read.
into = $(foreach f,$(call sources,$(1)),$f:$(2)/$(notdir $f))
section = $(call into,man/*.$(1),$(mandir)/man$(1))
INSTALLED = $(PROGRAM):$(bindir)/fragsim $(LIBRARY):$(libdir)/libfragsim.a \
	$(if $(SHARES),$(RECORDER):$(prefix)/lib/fragsim/$(notdir $(RECORDER)) \
		$(SHARED):$(libdir)/$(notdir $(SHARED)) =$(notdir $(SHARED)):$(libdir)/libfragsim.so) \
	scripts/fragsim.pc.in:$(libdir)/pkgconfig/fragsim.pc \
	$(call into,include/fragsim/*.h,$(includedir)/fragsim) $(foreach n,1 3 5 7,$(call section,$n)) \
	$(DOCUMENTS_PAGE):$(mandir)/man5/fragsim-documents.5 $(foreach f,$(SCHEMAS),$f:$(datadir)/$(notdir $f)) \
	scripts/completion/fragsim.bash:$(prefix)/share/bash-completion/completions/fragsim \
	$(call into,scripts/completion/*.fish,$(prefix)/share/fish/vendor_completions.d) \
	scripts/completion/_fragsim:$(zshdir)/_fragsim \
	$(call into,scripts/record_torch.py,$(datadir)) \
	skills/fragsim/SKILL.md:$(datadir)/skills/fragsim/SKILL.md \
	$(foreach f,$(TORCH_RECORDER),python/fragsim/$f:$(datadir)/python/$f) \
	$(call into,tests/examples/*.c,$(datadir)/examples) $(call into,traces/*.*,$(datadir)/traces)
place = @DESTDIR="$(2)" prefix="$(prefix)" libdir="$(libdir)" includedir="$(includedir)" \
	version="$(version)" sqlite="$(if $(SQLITE), sqlite3)" isal="$(if $(ISAL), libisal)" scripts/install.sh $(1) $(INSTALLED)

## install: program, libraries, headers, man pages, completions, schemas, traces, examples
install: all ; $(call place,install,$(DESTDIR))

## uninstall: remove exactly what install put there
uninstall: ; $(call place,uninstall,$(DESTDIR))

## dist: the sources of the last commit, as build/fragsim-VERSION.tar.gz
dist: ; @scripts/make-dist.sh fragsim-$(version) $(BUILD)

## deb: Debian packages of the last commit, in build/deb, judged by lintian
deb: ; @scripts/build-deb.sh $(BUILD)/deb

# What builds packages is fetched by checksum.
wheel-tools: scripts/wheel-tools.txt | install-packages
	$(Q)cmp -s $< $(BUILD)/wheel/tools/$(<F) || { echo "  PIP    the tools of $<, by checksum"; rm -rf $(BUILD)/wheel/tools && $(python) -m pip --disable-pip-version-check \
		install -q --root-user-action ignore --require-hashes --only-binary :all: --target $(BUILD)/wheel/tools -r $< \
		&& cp $< $(BUILD)/wheel/tools; }

wheel_env = TAG="$(TAG)" SOURCES="$(call full_path,$(BUILD))/wheel/sources" \
	$(if $(filter command,$(origin WITH_CUDA)),WITH_CUDA="$(WITH_CUDA)") CUDA_HOME="$(CUDA_HOME)" \
	WHEEL_BUILD="$(call full_path,$(BUILD))/wheel" PYTHONPATH="$(call full_path,$(BUILD))/wheel/tools"
# The backend that pip fetches calls this Makefile with a compiler of its own (scripts/wheel_hook.py).
## wheel: a Python wheel with the program, in build/wheel; TAG=musllinux_1_2_aarch64: for other systems
wheel: wheel-tools | install-packages
	$(call say,WHEEL)
	$(Q)scripts/wheel-sources.sh $(BUILD)/wheel/sources
	$(Q)$(wheel_env) $(python) -m pip --disable-pip-version-check wheel -q --no-deps --no-build-isolation \
		-w $(BUILD)/wheel . && ls $(BUILD)/wheel/fragsim-*.whl

WHEELS = $(foreach x,manylinux_2_28 musllinux_1_2,$x_x86_64 $x_aarch64) macosx_11_0_arm64 macosx_11_0_x86_64
## wheels: those of all systems
wheels: ; $(Q)for tag in $(WHEELS); do $(MAKE) --no-print-directory wheel TAG=$$tag || exit; done

## sdist: the sources as pip wants them, in build/wheel
sdist: wheel-tools | install-packages
	$(call say,SDIST)
	$(Q)SDIST=yes PYTHONPATH="$(BUILD)/wheel/tools" $(python) -m hatchling build -t sdist -d $(BUILD)/wheel

## site: the documentation as a site, build/site/html; pip fetches mkdocs-material for it
site: all
	$(call say,SITE)
	@scripts/install-packages.sh mandoc python3-pip python3-yaml
	$(Q)test -d $(BUILD)/site/tools || $(python) -m pip --disable-pip-version-check install -q --root-user-action ignore --target $(BUILD)/site/tools mkdocs-material
	$(Q)$(python) doc/site/assemble.py $(PROGRAM) $(BUILD)/site
	$(Q)NO_MKDOCS_2_WARNING=1 PYTHONPATH="$(BUILD)/site/tools" $(python) -m mkdocs build --strict -q -f $(BUILD)/site/mkdocs.yml

## table: simulate every trace of traces/ under every setting, and write doc/site/table.md and table.csv
table: $(PROGRAM) ; $(Q)$(python) scripts/table.py $(PROGRAM)

## wasm: fragsim for browsers, build/wasm/fragsim.html, one file; by zig, as the wheels
wasm: wheel-tools | install-packages
	$(call say,WASM)
	$(Q)scripts/wheel-sources.sh $(BUILD)/wheel/sources
	$(Q)PYTHONPATH="$(call full_path,$(BUILD))/wheel/tools:$(CURDIR)/scripts" $(python) scripts/wasm/build.py $(BUILD)/wheel/sources $(BUILD)/wasm

## check-wasm: its command lines beside the program's, and its page in a headless chromium
check-wasm: all wasm ; @$(TEST_ENV) $(python) tests/crossing/wasm/run.py $(PROGRAM)

## clean: remove the build folder
clean: ; $(Q)rm -rf $(BUILD)

# Help ------------------------------------------------------------------------
## help: this list
help: ; @sed -n -e 's/^## \([^:]*\): \(.*\)/  \1\t\2/p' -e 's/^## \([^:]*\)$$/\1:/p' \
		Makefile | expand -t 40
