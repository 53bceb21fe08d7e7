# Everything CI runs is `make test`; it needs Rust and a C linker, and Python 3.11 with venv for the target `python`.

CARGO ?= cargo

.PHONY: test format lint unit doc python test-frameworks examples soak fuzz sanitize model bench peers fixtures

test: format lint unit doc python

format:
	$(CARGO) fmt --all --check

lint:
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings

# tests/examples.rs runs the examples, so they are built first. One of them, embedding, takes 2.25 GB of memory and as much disk,
# under target/, while it runs.
unit: examples
	$(CARGO) test --workspace --locked --lib --tests

# Kills, cuts and drops by the thousand, and files of sizes that matter: up to half an hour, some of it as root. GRISTMILL_SOAK=10 makes
# a tenth of the rounds.
soak:
	$(CARGO) test --locked --release --test soak --no-run
	timeout 1800 $(CARGO) test --locked --release --test soak -- --ignored --test-threads=1 --nocapture

doc:
	$(CARGO) test --workspace --locked --doc
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --locked --no-deps

# The Python package, built and tested as installed, with NumPy, JAX and Keras; in virtual environments under target/.
python:
	python3 python/tests/run.py

# The same with PyTorch and TensorFlow, which are several GB to install.
test-frameworks:
	python3 python/tests/run.py torch tensorflow

examples:
	$(CARGO) build --locked --examples

bench:
	$(CARGO) bench --bench throughput

# Other input pipelines on the same work, see benches/peers/README.md. Needs Python 3.11.
peers:
	python3 benches/peers/run.py

# Makes tests/fixtures/npy.json anew: what NumPy writes and reads. Needs Python with NumPy.
fixtures:
	python3 tests/fixtures/make_npy.py

# One fuzz target (npy, raw, state or pipeline) for some time; an hour each is a good check before a release. Needs cargo-fuzz and a nightly
# compiler. What is found is kept in target/fuzz, an input that fails in fuzz/artifacts: once mended, it goes into fuzz/corpus, of which
# tests/it/corpus.rs checks everything.
TARGET ?= npy
SECONDS ?= 600

fuzz:
	mkdir -p target/fuzz/$(TARGET)
	$(CARGO) +nightly fuzz run $(TARGET) target/fuzz/$(TARGET) fuzz/corpus/$(TARGET) -- -max_total_time=$(SECONDS) -max_len=4096

# The tests under AddressSanitizer and ThreadSanitizer, 20 minutes. Needs a nightly compiler with rust-src: the second instruments the standard
# library, too.
# Left out are tests that give a process less memory or stack than a sanitizer needs itself (the first by GRISTMILL_UNLIMITED), two that end in a
# signal it answers its own way, and one that leaks on purpose.
HOST = $(shell rustc -vV | sed -n 's/^host: //p')
SIGNALS = a_fault_outside_our_maps a_stack_overflow
OPTIONS = allocator_may_return_null=1:handle_segv=0:handle_sigbus=0
NIGHTLY = $(CARGO) +nightly test --locked --target $(HOST) --lib --test it
SKIPPED = --skip stack_of_64_kib --skip a_forgotten_iterator $(SIGNALS:%=--skip %)

sanitize:
	GRISTMILL_UNLIMITED=1 RUSTFLAGS=-Zsanitizer=address ASAN_OPTIONS=$(OPTIONS) \
		$(NIGHTLY) --target-dir target/address -- $(SKIPPED)
	GRISTMILL_UNLIMITED=1 RUSTFLAGS=-Zsanitizer=thread TSAN_OPTIONS=$(OPTIONS):suppressions=$(CURDIR)/tests/fixtures/tsan.txt \
		$(NIGHTLY) --target-dir target/thread -Zbuild-std -- $(SKIPPED)

# Links and lanes under a model checker, thousands of orders of their steps.
model:
	RUSTFLAGS="--cfg shuttle" $(CARGO) test --locked --target-dir target/model --lib model::
