# shard_fdw: build, install and check.  "make help" lists the targets.

EXTENSION = shard_fdw
# the one source of the version; "make checkver" compares the other places
EXTVERSION = 1.0

MODULE_big = shard_fdw
OBJS = $(patsubst %.c,%.o,$(sort $(wildcard src/*.c src/*/*.c)))
DATA = $(wildcard extension/*--*.sql)
DEPS = $(OBJS:.o=.d)

# gcc's own warnings on top of PostgreSQL's; what follows the first line is
# forced by PostgreSQL's headers and calling conventions
WARNINGS = -Wall -Wextra -Wshadow=local \
	-Wno-unused-parameter -Wno-sign-compare -Wno-missing-field-initializers \
	-Wno-clobbered
PG_CPPFLAGS = -Isrc -I$(libpq_srcdir) -MMD -MP -DSHARD_FDW_VERSION='"$(EXTVERSION)"'
PG_CFLAGS = -fvisibility=hidden $(WARNINGS)
SHLIB_LINK_INTERNAL = $(libpq)
SHLIB_LINK = $(filter -lm, $(LIBS))

# no bitcode for the JIT compiler: it would need clang and gain nothing here
override with_llvm := no

# setup makes the loopback servers that the others use
REGRESS_ORDER = setup options scan modify transactions subtransactions \
	errors recovery privileges
REGRESS_FOUND = $(patsubst sql/%.sql,%,$(wildcard sql/*.sql))
REGRESS = $(filter $(REGRESS_FOUND),$(REGRESS_ORDER)) \
	$(filter-out $(REGRESS_ORDER),$(sort $(REGRESS_FOUND)))
ISOLATION = $(patsubst specs/%.spec,%,$(sort $(wildcard specs/*.spec)))
ifneq ($(wildcard t/*.pl),)
TAP_TESTS = 1
PROVE_FLAGS += -I t/lib
endif
# lists that name nothing must be empty: PGXS asks whether they are defined
REGRESS := $(strip $(REGRESS))
ISOLATION := $(strip $(ISOLATION))

EXTRA_CLEAN = $(DEPS) results output_iso regression.diffs regression.out \
	tmp_check $(EXTENSION)-$(EXTVERSION).zip

# Debian's 15 where it is, or where tools/install-deps will put it
DEBIAN_PG_CONFIG = /usr/lib/postgresql/15/bin/pg_config
PG_CONFIG ?= $(or $(wildcard $(DEBIAN_PG_CONFIG)),$(shell command -v pg_config),$(DEBIAN_PG_CONFIG))
PGXS := $(shell $(PG_CONFIG) --pgxs 2>/dev/null)
PG_HEADERS := $(shell $(PG_CONFIG) --includedir-server 2>/dev/null)
ifneq ($(and $(wildcard $(PGXS)),$(wildcard $(PG_HEADERS)/postgres.h)),)
include $(PGXS)
-include $(DEPS)
else
all install uninstall installcheck clean:
	@echo "$(PG_CONFIG) has no development files; tools/install-deps installs PostgreSQL 15's" >&2
	@false
.PHONY: all install uninstall installcheck clean
endif

.DEFAULT_GOAL := all
export PG_CONFIG

## all: build the extension (PG_CONFIG=... chooses the PostgreSQL)
## install: install it; takes DESTDIR=...
## installcheck: run the tests against a running server with it preloaded

## help: this list
help:
	@sed -n 's/^## \([a-z-]*\): /\1\t/p' Makefile | \
		awk -F'\t' '{ printf "  %-18s %s\n", $$1, $$2 }'

## quickstart: five servers, cross-shard transactions and two crashes, step by step
quickstart:
	@tools/quickstart

## quickstart-stop: stop the quickstart's servers and remove them
quickstart-stop:
	@tools/quickstart --stop

## test: install what is missing, then every test; PARTS="regress tap" for some
test:
	@tools/install-deps build test
	@tools/run-tests --pg-config $(PG_CONFIG) $(PARTS)

## peer-suite: postgres_fdw's own tests on shard_fdw, fetched, on 15 and 18
peer-suite:
	@tools/install-deps build test
	@tools/peer-suite

## faults: every message of the protocol with every fault; hours
faults:
	@tools/install-deps build test
	@FAULTS=all tools/run-tests --pg-config $(PG_CONFIG) --list-logs t/200_fault_matrix.pl

## soak: transfers with random faults for SOAK_SECONDS (300)
soak:
	@tools/install-deps build test
	@SOAK_SECONDS=$(or $(SOAK_SECONDS),300) \
		tools/run-tests --pg-config $(PG_CONFIG) --list-logs t/600_soak.pl

## mutants: break the product in known ways; a test must notice each
mutants:
	@tools/install-deps build test
	@tools/mutants --pg-config $(PG_CONFIG)

## unit: the pure modules alone, with the address and undefined sanitizers
unit:
	@tools/run-unit

## valgrind: the same under valgrind
valgrind:
	@tools/install-deps build analyze
	@tools/run-unit --valgrind

## test-all-versions: every test on PostgreSQL 15, 17, 18 and 19 (as root)
test-all-versions:
	@tools/install-deps build test
	@for v in 15 17 18 19; do tools/run-tests --version $$v $(PARTS) || exit 1; done

## lint: every check of the sources; each is also a target (make check-layers)
lint:
	@tools/install-deps build lint
	@$(MAKE) -s all
	@tools/lint

check-%:
	@tools/$@

## checkver: does every place name the version of the Makefile?
checkver:
	@tools/check-release

## indent: format the sources as PostgreSQL does
indent:
	@tools/install-deps lint
	@tools/indent --fix

## analyze: gcc -fanalyzer on the pure modules, cppcheck and clang-tidy on all
analyze:
	@tools/install-deps build analyze
	@tools/analyze

## sanitize: unit tests with ASan and UBSan, the others with UBSan in the module
sanitize:
	@tools/install-deps build test
	@COPT="-fsanitize=undefined" tools/run-tests --pg-config $(PG_CONFIG) $(PARTS)

## coverage: every test, then the lines of each file that they reached
coverage:
	@tools/install-deps build test
	@tools/run-tests --pg-config $(PG_CONFIG) --coverage $(PARTS)

## dist: a zip of the last commit, as PGXN takes it
dist: checkver
	git archive --format zip --prefix=$(EXTENSION)-$(EXTVERSION)/ \
		-o $(EXTENSION)-$(EXTVERSION).zip HEAD

## bench: measure beside postgres_fdw, an hour; BENCH="trips scan" for some tables
bench:
	@tools/install-deps build test bench
	@bench/run --pg-config $(PG_CONFIG) $(if $(BENCH),--only "$(BENCH)")

## bench-quick: the same, small, to see that it works; minutes
bench-quick:
	@tools/install-deps build test bench
	@bench/run --pg-config $(PG_CONFIG) --quick $(if $(BENCH),--only "$(BENCH)")

## hooks: have git run the lint before each commit and look at its message
hooks:
	@install -m 755 tools/pre-commit "$$(git rev-parse --git-path hooks)/pre-commit"
	@install -m 755 tools/commit-msg "$$(git rev-parse --git-path hooks)/commit-msg"

.PHONY: help quickstart quickstart-stop test peer-suite faults soak mutants unit valgrind \
	test-all-versions lint checkver indent analyze sanitize coverage dist \
	bench bench-quick hooks
