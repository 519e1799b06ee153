# The manifests by the schemas of several versions, and the program as pid 1 of a namespace: what it makes of signals, and its exit
# codes. A part of run.sh, with its functions. A cluster is not at hand here.
manifests=$run/manifests.yaml stored=$run/stored.yaml
"$host" script kubernetes --parts 4 --at-once 2 --queue spring --out /runs/spring -- "${options[@]}" > "$manifests"
"$host" script kubernetes --parts 4 --out s3://runs/spring -- "${options[@]}" > "$stored"
! grep -q -e PersistentVolumeClaim -e 'name: runs' "$stored" || fail "a run in a store wants a volume"
venv=target/cluster-venv
if { test -x $venv/bin/kubernetes-validate || python3 -m venv $venv; } 2> /dev/null > /dev/null \
    && $venv/bin/pip install --quiet --disable-pip-version-check -r "$here/requirements.txt"; then
    for version in 1.31 1.33 1.35 1.37; do
        for file in "$manifests" "$stored"; do
            $venv/bin/kubernetes-validate --strict -k $version "$file" > "$run/valid" || fail "Kubernetes $version: $(cat "$run/valid")"
        done
        # A check that cannot fail is none.
        sed 's/backoffLimitPerIndex:/backoffLimitPerIndexes:/' "$manifests" > "$run/wrong.yaml"
        ! $venv/bin/kubernetes-validate --strict -k $version "$run/wrong.yaml" > /dev/null 2>&1 || fail "$version takes an unknown key"
    done
    echo "cluster: the manifests fit the schemas of Kubernetes 1.31, 1.33, 1.35 and 1.37"
else
    echo "cluster: manifests not checked: kubernetes-validate cannot be installed here"
fi

# As the container of part 1 of 1, with this grace; its id outside of the namespace is in $pod.
contain() {
    local grace=$1 port=$2
    shift 2
    OPENAI_API_KEY=$key OPENAI_BASE_URL=http://127.0.0.1:$(cat "$run/$port")/v1 JOB_COMPLETION_INDEX=0 PIBENCH_PARTS=1 PIBENCH_NODE=n1 \
        unshare --pid --fork --mount-proc "$host" run --shard auto --exit-zero --grace "$grace" --out "$run/pod" \
        "${episode[@]}" --runs 1 "$@" > /dev/null 2>> "$run/pod.log" &
    pod=$!
}
# unshare's only child.
inside() { cat "/proc/$pod/task/$pod/children"; }
pod_plays() { [ "$(cat "$run"/pod/part-1/journal/* 2> /dev/null | grep -c '"event":"turn"')" -ge "$1" ]; }
pod_lines() { cat "$run"/pod/part-1/journal/* | wc -l; }
# That it has written shows that it hears signals, too: a program that is pid 1 is not reached by others.
pod_goes_on() { [ "$(pod_lines)" -gt "$before" ]; }
if unshare --pid --fork --mount-proc true 2> /dev/null; then
    contain 60 slow
    until_so "the container plays" 60 pod_plays 1
    kill -TERM $(inside)
    code=0; wait $pod || code=$?
    [ $code = 130 ] || fail "as pid 1, SIGTERM ends it with $code: $(cat "$run/pod.log")"
    before=$(pod_lines)
    contain 2 slow
    until_so "the container plays on" 60 pod_goes_on
    kill -USR1 $(inside)
    code=0; wait $pod || code=$?
    [ $code = 130 ] || fail "as pid 1, SIGUSR1 ends it with $code"
    [ "$(pod_lines)" -gt "$before" ] || fail "a line is lost"
    contain 60 quick
    code=0; wait $pod || code=$?
    [ $code = 0 ] || fail "as pid 1, a part that is played ends with $code: $(cat "$run/pod.log")"
    contain 60 quick --seed 9
    code=0; wait $pod || code=$?
    [ $code = 3 ] || fail "as pid 1, another run's folder ends with $code"
    echo "cluster: as pid 1 SIGTERM and SIGUSR1 end a part with 130, and it is gone on with to its end"
else
    echo "cluster: pid 1 not tried: no namespace can be made here"
fi

# Kustomize, where kubectl brings it: the overlay changes what it names, and the base is what is printed.
if command -v kubectl > /dev/null && kubectl kustomize --help > /dev/null 2>&1; then
    "$host" script kubernetes --parts 4 --out /runs/spring --kustomize "$run/kustomize" -- "${options[@]}" > /dev/null
    sed -i 's/value: 20Gi/value: 30Gi/; s/value: 500m/value: 750m/' "$run/kustomize/overlays/mine/kustomization.yaml"
    kubectl kustomize "$run/kustomize/overlays/mine" > "$run/built.yaml" || fail "Kustomize refuses the overlay"
    kubectl kustomize "$run/kustomize/base" > "$run/base.yaml" || fail "Kustomize refuses the base"
    changed=$(diff "$run/base.yaml" "$run/built.yaml" | grep -c '^>') || true
    test "$changed" = 2 && grep -q 'storage: 30Gi' "$run/built.yaml" && grep -q 'cpu: 750m' "$run/built.yaml" \
        || fail "the overlay changed $changed lines"
    echo "cluster: base and overlay built by Kustomize"
else
    echo "cluster: Kustomize not tried: there is no kubectl"
fi
