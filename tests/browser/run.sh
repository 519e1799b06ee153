#!/bin/sh
# Drives the report's page in Debian's Chromium. Called by `make browser`, from the project's root, after a build.
# A machine that has neither browser nor Node.js and cannot install them is told so, and nothing is tested.
set -eu

have() {
    command -v "$1" >/dev/null 2>&1
}

# Only what is missing: Debian's Node.js does not go beside another one.
missing=
have chromium || missing=chromium
have node && have npm || missing="$missing nodejs npm"
if [ -n "$missing" ] && have apt-get && [ "$(id -u)" -eq 0 ]; then
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing || true
fi
for program in chromium node npm; do
    if ! have "$program"; then
        echo "browser tests skipped: no $program here, and it cannot be installed"
        exit 0
    fi
done
if ! (cd tests/browser && npm ci --no-audit --no-fund --ignore-scripts --silent); then
    echo "browser tests skipped: npm cannot install playwright-core"
    exit 0
fi
node --test --test-reporter=spec tests/browser/
