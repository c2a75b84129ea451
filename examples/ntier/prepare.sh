#!/usr/bin/env bash
# Makes what examples/ntier-tomcat.yaml starts from, on every machine that is to run
# a tier (for a lab: once, on this one):
#
#   FOLDER/tomcat           the application, compiled, with its driver
#   FOLDER/mariadb          a database server's folder, filled by scalebench board load
#   FOLDER/postgres         the same for PostgreSQL
#   FOLDER/partitioned/sql  the same rows by MariaDB's Spider: an SQL node without rows,
#   FOLDER/partitioned/dataN  and data nodes, N from 0, which share them
#
#   sudo examples/ntier/prepare.sh [PART...]
#
# PART is tomcat, mariadb, postgres, or partitioned; all of them without one. What is
# there is made anew. Variables:
#
#   FOLDER      where; /var/lib/scalebench-ntier without it
#   SCALEBENCH  the program; bin/scalebench without it
#   SIZES       flags of scalebench board load: "--users 100000 --stories 20000"
#   DATA_NODES  how many data nodes there are; 2 without it
#   PORT        the first of the ports on loopback that it takes; 13306 without it
#
# The databases have a user "board" with the password "board", who may do everything:
# they are for networks of your own. Needs root, for servers run as users of their own,
# and what scripts/ntier-deps.sh installs.
set -euo pipefail
cd "$(dirname "$0")/../.."

folder=${FOLDER:-/var/lib/scalebench-ntier}
scalebench=${SCALEBENCH:-bin/scalebench}
read -ra sizes <<<"${SIZES:-}"
nodes=${DATA_NODES:-2}
tomcat_home=/usr/share/tomcat10
port=${PORT:-13306}

fail() {
  echo "prepare.sh: $*" >&2
  exit 1
}

# Servers that run are ended when this script is.
end_all() {
  local pid
  for pid in $(jobs -p); do kill "$pid" 2>/dev/null || true; done
  wait
}
trap end_all EXIT

# stop ends a server and waits until it has.
stop() {
  kill "$1"
  wait "$1" || fail "the server of $2 did not end well; its log is $2.log"
}

# until_well waits until a command succeeds, for a minute, while a server lives.
until_well() {
  local pid=$1 log=$2 i
  shift 2
  for ((i = 0; i < 300; i++)); do
    "$@" >/dev/null 2>&1 && return
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.2
  done
  tail -n 20 "$log" >&2
  fail "the server does not begin; its log is $log"
}

# replace puts NAME.new in the place of NAME.
replace() {
  rm -rf "$folder/$1"
  mv "$folder/$1.new" "$folder/$1"
  rm -f "$folder/$1".new*.log
  echo "$folder/$1" >&2
}

make_tomcat() {
  local base=$folder/tomcat.new
  rm -rf "$base"
  mkdir -p "$base"/{conf,lib,logs,temp,work} "$base"/{board,jmx}/WEB-INF
  javac -Xlint:all,-path -Werror -d "$base/board/WEB-INF/classes" -cp "$tomcat_home/lib/*" examples/ntier/app/*.java
  cp examples/ntier/app/web.xml "$base/board/WEB-INF/web.xml"
  cp examples/ntier/app/jmx.xml "$base/jmx/WEB-INF/web.xml"
  cp -L /usr/share/java/mariadb-java-client.jar "$base/lib"
  replace tomcat
}

# start_mariadb starts a server on a folder, which is made if it is not there, with
# further options; its pid is in $server.
start_mariadb() {
  local data=$1 port=$2
  shift 2
  if [ ! -d "$data/mysql" ]; then
    mkdir -p "$data"
    chown mysql: "$data"
    mariadb-install-db --no-defaults --user=mysql --datadir="$data" --skip-test-db >"$data.log" 2>&1 || fail "mariadb-install-db failed; see $data.log"
  fi
  mariadbd --no-defaults --user=mysql --datadir="$data" --socket="$data/socket" --pid-file="$data/pid" --bind-address=127.0.0.1 \
    --port="$port" --skip-name-resolve --innodb-flush-log-at-trx-commit=2 "$@" >>"$data.log" 2>&1 &
  server=$!
  until_well "$server" "$data.log" mariadb-admin --no-defaults --socket="$data/socket" ping
  mariadb --no-defaults --socket="$data/socket" <<'SQL'
CREATE DATABASE IF NOT EXISTS board;
CREATE USER IF NOT EXISTS board@'%' IDENTIFIED BY 'board';
GRANT ALL ON *.* TO board@'%';
SQL
}

load() { "$scalebench" board load "$@" "${sizes[@]}"; }

make_mariadb() {
  local data=$folder/mariadb.new
  rm -rf "$data"
  start_mariadb "$data" "$port"
  load --db "mysql://board:board@127.0.0.1:$port/board"
  "$scalebench" board calibrate --db "mysql://board:board@127.0.0.1:$port/board" --save
  stop "$server" "$data"
  # It was once the only node of a cluster: copies of it are at the same state, and
  # join without a copy of the rows.
  start_mariadb "$data" "$port" --wsrep-on=ON --wsrep-provider=/usr/lib/galera/libgalera_smm.so --wsrep-cluster-name=board --wsrep-new-cluster \
    --wsrep-cluster-address=gcomm:// --wsrep-node-address=127.0.0.1 --binlog-format=ROW --innodb-autoinc-lock-mode=2 \
    --wsrep-provider-options="base_host=127.0.0.1;gmcast.listen_addr=tcp://127.0.0.1:$((port + 1000));gcache.size=1M"
  stop "$server" "$data"
  rm -f "$data/galera.cache"
  replace mariadb
}

make_partitioned() {
  local base=$folder/partitioned.new i servers=() pids=()
  rm -rf "$base"
  mkdir -p "$base"
  for ((i = 0; i < nodes; i++)); do
    start_mariadb "$base/data$i" $((port + 1 + i))
    pids+=("$server")
    servers+=("127.0.0.1:$((port + 1 + i))")
  done
  start_mariadb "$base/sql" "$port" --plugin-load-add=ha_spider --plugin-maturity=gamma
  load --db "mysql://board:board@127.0.0.1:$port/board" --partition-servers "$(IFS=,; echo "${servers[*]}")"
  stop "$server" "$base/sql"
  for ((i = 0; i < nodes; i++)); do stop "${pids[i]}" "$base/data$i"; done
  rm -f "$base"/*.log
  replace partitioned
}

make_postgres() {
  local data=$folder/postgres.new bin i as_postgres=(setpriv --reuid=postgres --regid=postgres --init-groups)
  bin=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
  [ -x "$bin/initdb" ] || fail "PostgreSQL is missing: run scripts/ntier-deps.sh"
  rm -rf "$data"
  install -d -o postgres -g postgres -m 700 "$data"
  "${as_postgres[@]}" "$bin/initdb" --pgdata="$data" --auth=trust --encoding=UTF8 --locale=C.UTF-8 >"$data.log" 2>&1 || fail "initdb failed; see $data.log"
  "${as_postgres[@]}" "$bin/postgres" -D "$data" -h 127.0.0.1 -p "$port" -k "$data" >>"$data.log" 2>&1 &
  server=$!
  until_well "$server" "$data.log" "$bin/pg_isready" -h 127.0.0.1 -p "$port"
  for i in "CREATE ROLE board LOGIN PASSWORD 'board'" "GRANT pg_monitor TO board" "CREATE DATABASE board OWNER board"; do
    "$bin/psql" -q -h 127.0.0.1 -p "$port" -U postgres -d postgres -c "$i"
  done
  load --db "postgres://board:board@127.0.0.1:$port/board"
  stop "$server" "$data"
  replace postgres
}

main() {
  local part
  [ "$(id -u)" -eq 0 ] || fail "it starts servers as users of their own, which takes root: use sudo"
  [ $# -gt 0 ] || set -- tomcat mariadb partitioned postgres
  mkdir -p "$folder"
  for part; do
    case $part in
      tomcat | mariadb | postgres | partitioned) "make_$part" ;;
      *) fail "$part is none of tomcat, mariadb, postgres and partitioned" ;;
    esac
  done
}

main "$@"
