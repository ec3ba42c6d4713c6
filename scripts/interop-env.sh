#!/usr/bin/env bash
# Installs the other implementations that the interop tests talk to: the judge on Java
# Paimon (interop/java) and a venv with pypaimon (interop/py); by name Flink's SQL gateway
# with Paimon (interop/flink/java), which is 350 MB. What is there already, for these very
# sources and pins, is kept.
#
#   scripts/interop-env.sh                  install what is missing, say what was done
#   scripts/interop-env.sh flink            the same for Flink
#   scripts/interop-env.sh --paths [flink]  only print where it lies, or fail (for the Go harness)
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

# alone NAME makes the cache folder, and waits for the other run that installs this, where
# there are locks. The lock goes with this process and those that it has started.
alone() {
  mkdir -p "$cache"
  command -v flock >/dev/null || return 0
  exec 9>"$cache/$1.lock"
  flock -n 9 || { echo "waiting for another run of scripts/interop-env.sh" && flock 9; }
}

# What a build leaves goes, however this process ends.
work=
trap '[ -z "$work" ] || rm -rf "$work"' EXIT

# build_java FOLDER NAME LIB JAR builds the Maven project NAME and puts what it runs with
# into the folder LIB. A download that stalls for a minute fails, and a second try asks
# again for what the first was refused (-U).
build_java() {
  require "$java" openjdk-17-jdk-headless
  require "${java}c" openjdk-17-jdk-headless
  require mvn maven
  local version
  # Other lines, of its environment, may come before.
  version=$("$java" -version 2>&1 | sed -n 's/^[A-Za-z]* version "\([0-9]*\).*/\1/p')
  version=${version%%$'\n'*}
  [ "${version:-0}" -ge 17 ] || die "$java is version ${version:-unknown}, but $1 needs 17 (Debian: apt-get install openjdk-17-jdk-headless)."
  work=$(mktemp -d "$cache/$2.XXXXXX")
  if ! (cd "$1" && twice mvn -q -B -ntp -U -Dmaven.wagon.rto=60000 -Daether.connector.requestTimeout=60000 \
    "-D$2.build=$work" package dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$work/lib") >"$work/log" 2>&1; then
    cat "$work/log" >&2
    die "building $1 failed (see above)."
  fi
  publish "$work/lib" "$3"
  publish "$work/$2.jar" "$4"
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

# sources FOLDER are the files that a Maven project is built of.
sources() { find "$1" -name target -prune -o -type f \( -name '*.java' -o -name pom.xml \) -print | LC_ALL=C sort; }

mapfile -t files < <(sources interop/java)
lib=$cache/lib-$(key interop/java/pom.xml)
judge=$cache/judge-$(key "${files[@]}").jar
venv=$cache/venv-$(key interop/py/requirements.txt)
mapfile -t files < <(sources interop/flink/java)
flink_lib=$cache/flink-lib-$(key interop/flink/java/pom.xml)
flink=$cache/flink-$(key "${files[@]}").jar

case "$*" in
  --paths)
    [ -e "$lib" ] && [ -e "$judge" ] && [ -e "$venv/stamp" ] ||
      die "not installed, or older than its sources. Run scripts/interop-env.sh."
    printf 'java\t%s\nclasspath\t%s\npython\t%s\npeer\t%s\n' \
      "$java" "$judge:$lib/*" "$venv/bin/python" "$PWD/interop/py/peer.py"
    ;;
  "--paths flink")
    [ -e "$flink_lib" ] && [ -e "$flink" ] ||
      die "Flink is not installed, or older than its sources. Run scripts/interop-env.sh flink."
    printf 'java\t%s\nclasspath\t%s\n' "$java" "$flink:$flink_lib/*"
    ;;
  "")
    alone peers
    begin=$SECONDS
    if [ -e "$lib" ] && [ -e "$judge" ]; then echo "judge: there already ($judge)"; else
      build_java interop/java judge "$lib" "$judge"
      echo "judge: built in $((SECONDS - begin)) s ($judge)"
    fi
    begin=$SECONDS
    if [ -e "$venv/stamp" ]; then echo "pypaimon: there already ($venv)"; else
      install_python
      echo "pypaimon: installed in $((SECONDS - begin)) s ($venv)"
    fi
    ;;
  flink)
    alone flink
    begin=$SECONDS
    if [ -e "$flink_lib" ] && [ -e "$flink" ]; then echo "flink: there already ($flink)"; else
      build_java interop/flink/java flink "$flink_lib" "$flink"
      echo "flink: built in $((SECONDS - begin)) s ($flink)"
    fi
    ;;
  *) die "unknown arguments $* (none, flink, --paths, or --paths flink)" ;;
esac
