#!/usr/bin/env bash
# Makes what examples/servicelevel-cassandra.yaml starts, on every machine that is to run a
# node of Cassandra (for a lab: once, on this one):
#
#   FOLDER/classes    examples/cassandra/Node.java, compiled
#   FOLDER/options    what Java needs for Cassandra: packages inside it, and where the jars are
#   FOLDER/java       Java 17
#   FOLDER/cache.sh   examples/cassandra/cache.sh
#
#   scripts/cassandra.sh                 fetches Cassandra
#   sudo examples/cassandra/prepare.sh
#
# FOLDER is /var/lib/scalebench-cassandra, or the variable of that name. It takes Java 17
# with its compiler: on Debian openjdk-17-jdk-headless. JAVA_HOME names another one.
set -euo pipefail
cd "$(dirname "$0")/../.."

folder=${FOLDER:-/var/lib/scalebench-cassandra}
java=${JAVA_HOME:-/usr/lib/jvm/java-17-openjdk-$(dpkg --print-architecture 2>/dev/null || echo amd64)}
jars=$PWD/.tools/cassandra/lib

fail() {
  echo "prepare.sh: $*" >&2
  exit 1
}

# options are an argument file of java. Cassandra reaches into these packages.
options() {
  local p
  for p in java.base/jdk.internal.{misc,ref} java.base/sun.nio.ch java.management.rmi/com.sun.jmx.remote.internal.rmi \
    java.rmi/sun.rmi.{registry,server}; do
    echo "--add-exports $p=ALL-UNNAMED"
  done
  for p in java.base/{java.{io,lang,lang.reflect,nio,util,util.concurrent},jdk.internal.{ref,reflect},sun.nio.ch}; do
    echo "--add-opens $p=ALL-UNNAMED"
  done
  echo "-cp \"$folder/classes:$folder/lib/*\""
}

[ -d "$jars" ] || fail "Cassandra is missing: run scripts/cassandra.sh"
[ -x "$java/bin/javac" ] || fail "$java has no compiler: install openjdk-17-jdk-headless, or set JAVA_HOME"
rm -rf "$folder.new"
mkdir -p "$folder.new/classes"
"$java/bin/javac" -Xlint:all,-path,-classfile -d "$folder.new/classes" -cp "$jars/*" examples/cassandra/Node.java
cp -r "$jars" "$folder.new/lib"
ln -s "$java/bin/java" "$folder.new/java"
cp examples/cassandra/cache.sh "$folder.new"
options >"$folder.new/options"
rm -rf "$folder"
mv "$folder.new" "$folder"
echo "$folder" >&2
