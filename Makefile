# Everything CI runs is `make test`; it needs Rust and a C linker, and Python 3.11 with venv for the target `python`.

CARGO ?= cargo

.PHONY: test format lint unit doc python test-frameworks examples soak bench peers fixtures

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
