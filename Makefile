# Three commands do everything on a fresh Debian 12 with Rust: `make demo`, `make demo-ms` and `make test`.
# What they need from Debian is installed by scripts/install-packages (apt-get, no prompt).

SGSN ?= gannet
GGSN ?= osmo-ggsn
RADIO ?= emulated
CARGO ?= cargo
MINUTES ?= 10

.PHONY: demo demo-ms interop quick test build bench fuzz clean help

help: ## what each target does
	@sed -n 's/^\([a-z-]*\):.*## /  make \1: /p' Makefile

demo: ## the main job: mobiles attach, ping and download through the SGSN [SGSN=gannet|osmo-sgsn] [GGSN=osmo-ggsn|gannet] [RADIO=emulated|rlcmac]
	@scripts/demo demo "$(SGSN)" "$(GGSN)" --radio "$(RADIO)"

demo-ms: ## a mobile station downloads through an access point and changes its bearer meanwhile [SGSN=gannet|osmo-sgsn] [GGSN=osmo-ggsn|gannet]
	@scripts/demo demo-ms "$(SGSN)" "$(GGSN)"

interop: ## every scenario with Osmocom's programs, a line each [MINUTES=10]
	@scripts/interop "$(MINUTES)"

quick: ## formatting, lints, unit and property tests: a minute
	@scripts/quick

test: ## formatting, lints, licences, and every test
	@scripts/test

build: ## the release binary, target/release/gannet
	@scripts/install-packages clang libbpf-dev linux-libc-dev || echo "without clang the build has no kernel programs: no XDP"
	$(CARGO) build --release --locked --bin gannet

bench: ## cost per layer of the downlink path, in ns per packet; how fast captures are written and read
	$(CARGO) bench --locked -p gannet-proto -p gannet-trace -p gannet-analysis
	$(CARGO) bench --locked -p gannet-rt --bench fcs --bench ciphering --bench uplink_ciphering

fuzz: ## every fuzz target for FUZZ_SECONDS (default 60) each
	@scripts/fuzz

clean: ## everything that was built
	$(CARGO) clean
