#!/usr/bin/env bash
# Installs the other implementations that the interop tests talk to: the judge on Java
# Paimon (interop/java) and a venv with pypaimon (interop/py). What is there already, for
# these very sources and pins, is kept.
#
#   scripts/interop-env.sh          install what is missing, say what was done
#   scripts/interop-env.sh --paths  only print where it lies, or fail (for the Go harness)
#
# TARN_CACHE is the cache folder (default ~/.cache/tarn); all goes into its folder interop.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cache=${TARN_CACHE:-$HOME/.cache/tarn}/interop
java=${JAVA_HOME:+$JAVA_HOME/bin/}java

die() {
  printf 'interop-env: %s\n' "$1" >&2
  exit 1
}

# require TOOL PACKAGES fails with what to install when there is no TOOL.
require() {
  command -v "$1" >/dev/null || die "no $1 found. Install it (Debian: apt-get install $2) and run scripts/interop-env.sh again."
}

# key FILE... is a short hash of the names and contents of files.
key() { sha256sum "$@" | sha256sum | cut -c1-12; }

# twice COMMAND... runs a command that downloads, and once more if it fails.
twice() { "$@" || { echo "interop-env: once more: $*" >&2 && "$@"; }; }

# publish FROM TO moves what was built into its place, unless another run was faster.
publish() { mv -T "$1" "$2" 2>/dev/null || [ -e "$2" ] || die "cannot write $2"; }

install_judge() {
  require "$java" openjdk-17-jdk-headless
  require "${java}c" openjdk-17-jdk-headless
  require mvn maven
  local version work
  version=$("$java" -version 2>&1 | sed -n '1s/.*version "\([0-9]*\).*/\1/p')
  [ "${version:-0}" -ge 17 ] || die "$java is version ${version:-unknown}, but Paimon's judge needs 17 (Debian: apt-get install openjdk-17-jdk-headless)."
  work=$(mktemp -d "$cache/judge.XXXXXX")
  if ! (cd interop/java && twice mvn -q -B -ntp -Djudge.build="$work" package \
    dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$work/lib") >"$work/log" 2>&1; then
    cat "$work/log" >&2
    rm -rf "$work"
    die "building interop/java failed (see above)."
  fi
  publish "$work/lib" "$lib"
  publish "$work/judge.jar" "$judge"
  rm -rf "$work"
}

install_python() {
  require python3 "python3 python3-venv"
  python3 -c 'import ensurepip, venv' 2>/dev/null || die "python3 has no venv module (Debian: apt-get install python3-venv)."
  # A venv cannot be moved, so the stamp tells that it is whole.
  rm -rf "$venv"
  python3 -m venv "$venv"
  twice "$venv/bin/pip" install --quiet --disable-pip-version-check -r interop/py/requirements.txt ||
    die "installing interop/py/requirements.txt failed (see above)."
  touch "$venv/stamp"
}

mapfile -t sources < <(find interop/java -name target -prune -o -type f \( -name '*.java' -o -name pom.xml \) -print | LC_ALL=C sort)
lib=$cache/lib-$(key interop/java/pom.xml)
judge=$cache/judge-$(key "${sources[@]}").jar
venv=$cache/venv-$(key interop/py/requirements.txt)

case "${1:-}" in
  --paths)
    [ -e "$lib" ] && [ -e "$judge" ] && [ -e "$venv/stamp" ] ||
      die "not installed, or older than its sources. Run scripts/interop-env.sh."
    printf 'java\t%s\nclasspath\t%s\npython\t%s\npeer\t%s\n' \
      "$java" "$judge:$lib/*" "$venv/bin/python" "$PWD/interop/py/peer.py"
    ;;
  "")
    mkdir -p "$cache"
    begin=$SECONDS
    if [ -e "$lib" ] && [ -e "$judge" ]; then echo "judge: there already ($judge)"; else
      install_judge
      echo "judge: built in $((SECONDS - begin)) s ($judge)"
    fi
    begin=$SECONDS
    if [ -e "$venv/stamp" ]; then echo "pypaimon: there already ($venv)"; else
      install_python
      echo "pypaimon: installed in $((SECONDS - begin)) s ($venv)"
    fi
    ;;
  *) die "unknown argument $1 (none, or --paths)" ;;
esac
