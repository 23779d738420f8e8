# shellcheck shell=bash disable=SC2034 # what it sets is used by those that read it
# Read by ci/real/build, ci/real/run and ci/real/study: where the roots are, and the cases.

real=${SFRAME_REAL:-target/real}

# amd64 comes first: the others are compared with it.
roots=({musl,glibc,musl-plain}/{amd64,aarch64,s390x})

# Prints the cases, one a line, without comments.
cases() {
    grep -v -e '^#' -e '^$' ci/real/cases.tsv
}

# Reads a case into name, scope, program, expected_status, needs, cwd, stdin and the arrays environment and arguments.
read_case() {
    local variables words
    IFS=$'\t' read -r name scope program expected_status needs cwd stdin variables words || return
    [[ $stdin != - ]] || stdin=
    environment=() arguments=()
    [[ $variables == - ]] || read -ra environment <<<"$variables"
    [[ -z $words ]] || read -ra arguments <<<"$words"
}

# is_for ROOT: whether the case that was read is to run in a root.
is_for() {
    [[ ",$scope," == *",$1,"* || ",$scope," == *",${1%/*},"* ]]
}

# Sets the array surroundings to the options and arguments with which the case that was read runs in a root.
surroundings() {
    local root=$1 variable
    surroundings=("$real/$root/$program" --root "$real/$root" --cwd "$cwd"
        --expect-stdout "$real/expected/${root%/*}/$name" --exit-status "$expected_status")
    for variable in "${environment[@]}"; do
        surroundings+=(--env "$variable")
    done
    [[ -z $stdin ]] || surroundings+=(--stdin "$real/$root$stdin")
    surroundings+=(-- "${arguments[@]}")
}
