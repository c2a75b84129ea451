#!/usr/bin/env bash
# Installs Cassandra, which tests start as a data store and in a lab, into
# .tools/cassandra: the jars of a pinned release from Maven Central, held
# against a checksum over all of them. When they are there already, nothing is
# done and nothing printed. Maven fetches them, and Java 17 runs them (11 would,
# too; later ones it does not know): Debian's packages are installed if missing.
#
#   scripts/cassandra.sh
#
# Exit status: 0 it is there; 1 it could not be fetched, or is not what it was;
# 3 a tool is missing (the message says which, and how to get it).
set -euo pipefail
cd "$(dirname "$0")/.."

version=5.0.4
# sha256 of "sha256  name" of every jar, in the order of names in C.
sum=73af8001c6a6c087628b0ba843affca4fd66ebda58342f180959a5712c7ab011
tool=$PWD/.tools/cassandra

# installed says whether the jars that are there are those that were checked.
installed() { [ "$(cat "$tool/checksum" 2>/dev/null)" = "$sum" ]; }

# pom is a project that depends on nothing but Cassandra.
pom() {
  cat <<XML
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>scalebench</groupId>
  <artifactId>cassandra-for-tests</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.cassandra</groupId>
      <artifactId>cassandra-all</artifactId>
      <version>$version</version>
    </dependency>
  </dependencies>
</project>
XML
}

# have_java: a compiler of Java 17 is where examples/cassandra/prepare.sh looks.
have_java() { compgen -G '/usr/lib/jvm/java-17-openjdk-*/bin/javac' >/dev/null || [ -x "${JAVA_HOME:-}/bin/javac" ]; }

checksum() { (cd "$1" && LC_ALL=C sha256sum -- *.jar | sha256sum | cut -d ' ' -f 1); }

# fetch copies the jars into a directory. The plugin has a version, too, or
# Maven would take the newest.
fetch() {
  pom >"$1/pom.xml"
  mvn --quiet --batch-mode --strict-checksums --file "$1/pom.xml" \
    org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies \
    -DincludeScope=runtime -DoutputDirectory="$1/lib"
}

main() {
  local new log got packages=()
  have_java || packages+=(openjdk-17-jdk-headless)
  installed || command -v mvn >/dev/null || packages+=(maven)
  [ ${#packages[@]} -eq 0 ] || scripts/apt-install.sh "${packages[@]}"
  if installed; then exit 0; fi
  echo "installing Cassandra $version" >&2
  mkdir -p .tools
  new=$(mktemp -d .tools/cassandra.XXXXXX)
  new=$PWD/$new
  # shellcheck disable=SC2064 # the directory is known now
  trap "rm -rf '$new'" EXIT
  log=$(mktemp)
  if ! fetch "$new" >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    echo "fetching Cassandra failed; the whole log is in $log" >&2
    exit 1
  fi
  got=$(checksum "$new/lib")
  if [ "$got" != "$sum" ]; then
    echo "the jars of Cassandra $version are not those that were reviewed: checksum $got, want $sum" >&2
    exit 1
  fi
  echo "$got" >"$new/checksum"
  rm -rf "$tool" "$log"
  mv "$new" "$tool"
  trap - EXIT
}

main "$@"
