#!/bin/sh
# Builds the image by its Containerfile and plays in it as its first lines say: a user without a name, nothing to be written but
# /data and a /tmp in memory, no capability, no network. Called by `make image`, from the project's root, after `make dist`. The
# two images that it stands on are stood in for, as no registry is asked: what is tried is the file, the program and their rights.
set -eu

leave_out() {
    echo "image: left out: $1"
    exit 0
}
command -v buildah >/dev/null && command -v bwrap >/dev/null || {
    test "$(id -u)" = 0 || leave_out "no buildah or bubblewrap, and no right to install them"
    { apt-get update -qq && apt-get install -y -qq buildah bubblewrap busybox-static; } >/dev/null 2>&1 || leave_out "buildah cannot be installed"
}
test "$(id -u)" = 0 && test -x /bin/busybox || leave_out "it needs root and busybox-static"

scene=$(mktemp -d)
build() {
    buildah --root "$scene/images" --runroot "$scene/state" "$@"
}
trap 'build rm --all >/dev/null 2>&1; rm -rf "$scene"' EXIT

# $1: its name; the rest: commands in its root.
stand_in() {
    container=$(build from scratch)
    root=$(build mount "$container")
    (cd "$root" && eval "$2")
    build commit -q "$container" "$1" >/dev/null
    build rm "$container" >/dev/null
}
stand_in docker.io/library/debian:12.12-slim 'mkdir bin tmp && cp /bin/busybox bin/ && for name in sh tar gzip mkdir; do ln -s busybox bin/$name; done'
stand_in gcr.io/distroless/static-debian12:nonroot 'mkdir -p etc/ssl/certs tmp usr/bin && cp /etc/ssl/certs/ca-certificates.crt etc/ssl/certs/'

archive=$(cd target/packages && ls -t pibench-host-*-linux.tar.gz | head -n 1)
build build-using-dockerfile -q --pull-never --isolation chroot -f host/packages/Containerfile --build-arg "ARCHIVE=$archive" -t pibench-host target/packages
container=$(build from --pull-never localhost/pibench-host)
build inspect "$container" >"$scene/image.json"
python3 - "$scene/image.json" <<'PYTHON'
import json, sys
config = json.load(open(sys.argv[1]))["OCIv1"]["config"]
assert (config["User"], config["WorkingDir"], config["Entrypoint"]) == ("65532:65532", "/data", ["/usr/bin/pibench-host"]), config
PYTHON

# Out of the builder's folders, which are root's alone.
root=$scene/root
cp -a "$(build mount "$container")" "$root"
chmod 755 "$scene"
# Where whatever runs an image puts them.
mkdir -p "$root/proc" "$root/dev"
data=$scene/data
cp -a "$root/data" "$data"
inside() {
    setpriv --reuid 65532 --regid 65532 --clear-groups bwrap --unshare-all --die-with-parent --ro-bind "$root" / --bind "$data" /data \
        --tmpfs /tmp --proc /proc --dev /dev --clearenv --setenv PIBENCH_CACHE /data/cache --chdir /data /usr/bin/pibench-host "$@"
}
inside --version
inside run -q --json --session archive-tidy --persona law_trainee --out played >"$scene/results.json"
python3 - "$scene/results.json" <<'PYTHON'
import json, sys
results = json.load(open(sys.argv[1]))
assert (results["proc"], results["comp"]) == (100.0, 100.0), results
PYTHON
inside verify played >/dev/null
# The twin: what is not /data is not written.
if inside run -q --session archive-tidy --persona law_trainee --out /played >/dev/null 2>&1; then
    echo "error: the image's root can be written to" >&2
    exit 1
fi
test ! -e "$root/played"
echo "image: built by buildah, plays as 65532 on a read-only root"
