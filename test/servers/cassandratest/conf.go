package cassandratest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// settings are cassandra.yaml for one node on one address. What is not named has
// the default of the release; paths follow from cassandra.storagedir.
const settings = `cluster_name: scalebench
partitioner: org.apache.cassandra.dht.Murmur3Partitioner
endpoint_snitch: SimpleSnitch
commitlog_sync: periodic
commitlog_sync_period: 10s
num_tokens: 1
seed_provider:
  - class_name: org.apache.cassandra.locator.SimpleSeedProvider
    parameters:
      - seeds: "%[1]s:%[2]d"
listen_address: %[1]s
rpc_address: %[1]s
storage_port: %[2]d
native_transport_port: %[3]d
auto_snapshot: false
`

// passwords are settings of a server that wants one.
const passwords = `authenticator: PasswordAuthenticator
`

// logging sends what is worth reading to standard output.
const logging = `<configuration>
  <appender name="STDOUT" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%-5level %logger{0} - %msg%n</pattern></encoder>
  </appender>
  <root level="INFO"><appender-ref ref="STDOUT"/></root>
</configuration>
`

// configure writes the configuration into dir/conf.
func configure(dir, address string, storage, native int, password bool) error {
	yaml := fmt.Sprintf(settings, address, storage, native)
	if password {
		yaml += passwords
	}
	conf := filepath.Join(dir, "conf")
	if err := os.Mkdir(conf, 0o700); err != nil && !os.IsExist(err) {
		return err
	}
	if err := os.WriteFile(filepath.Join(conf, "cassandra.yaml"), []byte(yaml), 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(conf, "logback.xml"), []byte(logging), 0o600)
}

// Packages inside the runtime that Cassandra uses.
var (
	exports = []string{
		"java.base/jdk.internal.misc", "java.base/jdk.internal.ref", "java.base/sun.nio.ch",
		"java.management.rmi/com.sun.jmx.remote.internal.rmi", "java.rmi/sun.rmi.registry", "java.rmi/sun.rmi.server",
	}
	opens = []string{
		"java.base/sun.nio.ch", "java.base/java.io", "java.base/java.lang", "java.base/java.lang.reflect",
		"java.base/java.util", "java.base/java.nio", "java.base/jdk.internal.ref", "java.base/jdk.internal.reflect",
		"java.base/java.util.concurrent",
	}
)

// arguments are those of java, with so much memory, such as "256m". One node waits
// for no other, which makes the start seconds faster.
func arguments(jars, dir, heap string) []string {
	args := []string{
		// Compiles quickly instead of well: otherwise a test of a minute would
		// compile all the time, and get faster while it measures.
		"-XX:TieredStopAtLevel=1",
		"-Xms" + heap, "-Xmx" + heap, "-XX:+UseSerialGC", "-XX:MaxDirectMemorySize=128m",
		"-Djava.io.tmpdir=" + dir,
		"-Dcassandra.config=file://" + filepath.Join(dir, "conf", "cassandra.yaml"),
		"-Dcassandra.storagedir=" + filepath.Join(dir, "data"),
		"-Dcassandra-foreground=yes",
		"-Dcassandra.superuser_setup_delay_ms=0",
		"-Dcassandra.skip_wait_for_gossip_to_settle=0",
		"-Dcassandra.ring_delay_ms=0",
		// Checking a password is made slow on purpose; with each connection.
		"-Dcassandra.auth_bcrypt_gensalt_log2_rounds=4",
	}
	for _, p := range exports {
		args = append(args, "--add-exports", p+"=ALL-UNNAMED")
	}
	for _, p := range opens {
		args = append(args, "--add-opens", p+"=ALL-UNNAMED")
	}
	path := strings.Join([]string{filepath.Join(dir, "conf"), filepath.Join(jars, "*")}, string(os.PathListSeparator))
	return append(args, "-cp", path, "org.apache.cassandra.service.CassandraDaemon")
}
